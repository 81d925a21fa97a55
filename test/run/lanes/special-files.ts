/** System tests that run alone, each with the reason. */
export const ALONE_FILES: Readonly<Record<string, string>> = {
  'test/system/hostile/doors.test.ts': 'measures latencies and memory beside attacks',
  'test/system/serving/hostile-clients.test.ts': 'measures latencies beside attacks',
}

/**
 * System files that wait for most of their time: they use less than a third of a core. They start at once, beside those
 * that have a place.
 */
export const WAITING_FILES: readonly string[] = [
  'test/system/docs/symptoms.test.ts',
  'test/system/monitoring/alerts.test.ts',
  'test/system/client/hostile-peers.test.ts',
  'test/system/monitoring/model-alerts.test.ts',
  'test/system/monitoring/job-alerts.test.ts',
  'test/system/gateway/held-connections.test.ts',
]

/**
 * Files that take 40 s or more, whole or in their short part, longest first; first those of the unit tests. Of the system
 * tests, two that wait are the first. They start in this order, before all others, so that none of them ends a run, or
 * its part, while the cores are idle.
 */
export const LONG_FILES: readonly string[] = [
  'test/streams/campaign.test.ts',
  'test/streams/jobs-campaign.test.ts',
  'test/disk/crash-campaign.test.ts',
  'test/operators/windows/restored-windows.test.ts',
  'test/dataflow/any-function.test.ts',
  'test/system/docs/symptoms.test.ts',
  'test/system/monitoring/alerts.test.ts',
  'test/system/combinations/campaign.test.ts',
  'test/system/dashboard/pages.test.ts',
  'test/system/cli/verify.test.ts',
  'test/system/combinations/week.test.ts',
  'test/system/training/learner-follows.test.ts',
  'test/system/docs/guide-sessions.test.ts',
  'test/system/verify/soak.test.ts',
  'test/system/hdfs/faults.test.ts',
  'test/system/kafka/thesis-loop.test.ts',
  'test/system/kafka/cli.test.ts',
  'test/system/cli/package.test.ts',
  'test/system/runtime/nexmark-rows.test.ts',
  'test/system/client/hostile-peers.test.ts',
  'test/system/inference/python/models-from-python.test.ts',
  'test/system/cli/quickstart.test.ts',
  'test/system/training/learning-error.test.ts',
  'test/system/gateway/openapi.test.ts',
  'test/system/monitoring/model-alerts.test.ts',
  'test/system/kafka/outages/aborted-transactions.test.ts',
  'test/system/monitoring/job-alerts.test.ts',
  'test/system/verify/switches.test.ts',
  'test/system/runtime/workers.test.ts',
  'test/system/kafka/cli-security.test.ts',
  'test/system/kafka/trained-on-file.test.ts',
  'test/system/jobmanager/flink-dashboard.test.ts',
  'test/recovery/unaligned-checkpoints.test.ts',
]
