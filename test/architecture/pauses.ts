/** A pause as it stands in a test: how many ms, and why. */
export type Pause = readonly [ms: string, reason: string]

/**
 * Files that let time pass by a timer of their own, with the reason: fixtures that are slow on purpose, most of them
 * in other processes and threads. A test itself waits for a condition, or calls `pause`.
 */
export const TIMERS: Readonly<Record<string, string>> = {
  'test/fixtures/count-job.ts': 'a service of a job answers late',
  'test/fixtures/held-up-job.ts': 'a sink of a job is slow',
  'test/hostile/spinning-thread.ts': 'a thread takes a share of a core',
  'test/cluster/jobmanager/lock.test.ts': 'a process lives until the test kills it',
  'test/recovery/fold/job.ts': 'an operator of a job is slow',
  'test/services/java/process.ts': 'a JVM that does not end is killed',
  'test/state/catalog/stopped-writer.test.ts': 'a thread stands still in the middle of a write',
  'test/system/cli/pipes.test.ts': 'a reader of a pipe comes late',
  'test/system/docs/page-session.ts': 'a shell script of a page asks until a server answers',
  'test/system/docs/symptoms.test.ts': 'an operator of a job is slow',
  'test/system/inference/function-models.ts': 'models stall, or wait as for a service',
  'test/system/inference/states/grpc.test.ts': 'a model runs as long as its input says',
  'test/system/inference/states/model-states.test.ts': 'a model hangs while it is loaded',
  'test/system/inference/infer-stream.test.ts': 'a model runs for some time',
  'test/system/monitoring/job-alerts.test.ts': 'an operator of a job is slow',
  'test/system/log/relay.process.ts': 'a writer in another process lets messages in',
}

/** The pauses of all tests. A new one needs a reason why no condition shows what it waits for. */
export const PAUSES: Readonly<Record<string, readonly Pause[]>> = {
  'test/hostile/attackers.ts': [
    ['50', 'an attacker leaves soon after it has sent'],
    ['20', 'an attacker looks now and then whether it was cut'],
    ['100', 'a byte comes now and then'],
  ],
  'test/hostile/campaign.ts': [
    ['1_000', 'an attack warms the server up'],
    ['REST_MS', 'the server comes to rest after an attack'],
    ['LEAD_MS', 'a load is in full swing before it is measured'],
    ['REST_MS', 'the server comes to rest after an attack'],
    ['LEAD_MS', 'a load is in full swing before it is measured'],
    ['LEAD_MS', 'a load is in full swing before it is measured'],
    ['250', 'memory comes back over time'],
  ],
  'test/hostile/doors/lane.ts': [
    ['LEAD_MS', 'an attack warms the server up'],
    ['LEAD_MS', 'a load is in full swing before it is measured'],
    ['250', 'memory comes back over time'],
  ],
  'test/hostile/doors/kinds/attack.ts': [
    ['missing === 50 ? 5 : 100', 'held connections send a byte now and then'],
    ['20', 'an attacker leaves soon after it has sent'],
  ],
  'test/hostile/doors/kinds/grpc-attacks.ts': [
    ['missing === 50 ? 5 : 100', 'held calls are opened again when they were ended'],
    ['2_000', 'the answers lie there for a while'],
    ['50', 'a canceled call leaves'],
    ['20', 'an attacker leaves soon after it has sent'],
  ],
  'test/hostile/doors/waits.ts': [['2', 'the good client asks now and then']],
  'test/hostile/good-client.ts': [['1', 'the good client asks now and then']],
  'test/jobs/version-switch.test.ts': [['DELAY_MS', 'a message that is late']],
  'test/recovery/exactly-once-under-kills.test.ts': [
    ['10', 'load comes over time'],
    ['50 + random.below(400)', 'a random moment of a kill'],
  ],
  'test/system/erasure/killed.test.ts': [['afterMs', 'a random moment of a kill']],
  'test/recovery/log-kill.test.ts': [['forMs', 'a random moment of a kill']],
  'test/recovery/online-switch.test.ts': [
    ['10', 'load comes over time'],
    ['random.below(100)', 'a random moment of a kill'],
  ],
  'test/recovery/unaligned-checkpoints.test.ts': [
    ['random.below(400)', 'a random moment of a kill'],
    ['random.below(400)', 'a random moment of a kill'],
  ],
  'test/run/stalls/stall-reporter.ts': [['MEASURE_MS', 'processor time is measured over time']],
  'test/runtime/subtask/snapshot.test.ts': [['ms', 'a sink that is slow to prepare']],
  'test/services/tcp-proxy.test.ts': [
    ['50', 'shows that nothing is heard'],
    ['50', 'shows that nothing is heard'],
  ],
  'test/services/tcp-proxy.ts': [['wait', 'the delay of the proxy']],
  'test/system/cli/command-process.ts': [
    ['seconds * 1000', 'without /proc nothing shows what a process has used'],
  ],
  'test/system/cli/retrain-loop.test.ts': [['20', 'ratings come over time']],
  'test/system/client/silent-server.test.ts': [
    ['2100', 'longer than the silence after a ping that counts as a loss'],
  ],
  'test/system/docs/symptoms.test.ts': [['everyMs', 'clicks come all the time']],
  'test/system/hdfs/faults.test.ts': [['37', 'cuts at different moments of a checkpoint']],
  'test/recovery/fold/stored-fold.ts': [['20', 'load comes over time']],
  'test/system/inference/memory-limit.test.ts': [['leftMs', 'each model is asked in regular gaps']],
  'test/system/jobmanager/rescaling.test.ts': [['50', 'ratings come over the time of a rescaling']],
  'test/system/kafka/fold/fixture.ts': [
    ['10', 'load comes over time'],
    ['ms', 'the process is frozen for longer than a transaction may be open'],
  ],
  'test/system/kafka/job.test.ts': [
    ['random.below(300)', 'a random moment of a kill'],
    ['50', 'shows that no more is fetched'],
  ],
  'test/system/kafka/sink.test.ts': [['(i % 100) * 4', 'sends come over time']],
  'test/system/kafka/source.test.ts': [['100', 'shows that no more is fetched']],
  'test/system/kafka/thesis-loop-svm.test.ts': [
    ['1000', 'the error is looked at each second, as a user of the thesis does'],
  ],
  'test/system/kafka/thesis-loop.test.ts': [
    ['1000', 'the error is looked at each second, as a user of the thesis does'],
  ],
  'test/system/monitoring/alerts.test.ts': [['400', 'the job answers nothing']],
  'test/system/runtime/nexmark-rows.test.ts': [['random.below(200)', 'a random moment of a kill']],
  'test/system/runtime/workers.test.ts': [['50 + random.below(250)', 'a random moment of a kill']],
  'test/system/serving/read-bounds.test.ts': [
    ['MAX_AGE_MS + 5', 'the acknowledgement gets older than the bound'],
  ],
  'test/files/webhdfs/client.test.ts': [['1_100', 'longer than the timeout of the client']],
}
