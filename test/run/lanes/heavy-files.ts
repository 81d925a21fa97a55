/**
 * Files of unit tests that do real work, half a second of a processor or more each, by what they do. `npm run test:unit`
 * leaves them out, and `npm test` runs them among the others.
 */
const BY_WORK = {
  'hundreds or thousands of cases': [
    'test/checkpoint/simulation/coordinator-simulation.test.ts',
    'test/cli/flag-walk.test.ts',
    'test/connectors/log/check/log-repair.test.ts',
    'test/dataflow/any-function.test.ts',
    'test/dataflow/folded-windows.test.ts',
    'test/dataflow/windows-under-kills.test.ts',
    'test/disk/crash-campaign.test.ts',
    'test/disk/damage-campaign.test.ts',
    'test/gateway/hot/routes.test.ts',
    'test/gateway/http/hostile-bodies.test.ts',
    'test/operators/windows/restored-windows.test.ts',
    'test/rest/server/hostile-bodies.test.ts',
    'test/state/keyed-state-model.test.ts',
    'test/streams/campaign.test.ts',
    'test/streams/jobs-campaign.test.ts',
  ],
  'jobs that start dozens of times': [
    'test/cli/verbs/checkpoint-commands.test.ts',
    'test/runtime/job/damaged-checkpoints.test.ts',
    'test/runtime/job/recovery.test.ts',
    'test/runtime/job/unaligned-checkpoints.test.ts',
    'test/runtime/pacing/long-record.test.ts',
    'test/runtime/pacing/long-timer-pass.test.ts',
    'test/runtime/slot/unclaimed-state.test.ts',
    'test/runtime/subtask/alignment.test.ts',
    'test/savepoints/state-evolution.test.ts',
  ],
  'training on whole data sets': [
    'test/cli/verbs/model-commands.test.ts',
    'test/cli/verbs/row-length.test.ts',
    'test/cli/verbs/train-commands.test.ts',
    'test/jobs/publish/transfer.test.ts',
    'test/jobs/registry/implicit-gate.test.ts',
    'test/jobs/registry/promotion-checks.test.ts',
    'test/jobs/retrain/linear.test.ts',
    'test/jobs/retrain/loop.test.ts',
    'test/jobs/retrain/moved-version.test.ts',
    'test/jobs/retrain/retrain.test.ts',
    'test/models/als/online/first-ratings.test.ts',
    'test/models/als/online/trained-lives.test.ts',
    'test/models/als/online/trained-models.test.ts',
    'test/training/als/gpu/solver.test.ts',
    'test/training/bmf/gpu/drawer.test.ts',
    'test/training/linear/newton.test.ts',
    'test/training/linear/prior.test.ts',
    'test/training/spill/ratings-spill.test.ts',
  ],
  'much state and many files': [
    'test/connectors/log/storage/cleaner.test.ts',
    'test/connectors/log/storage/partition-reader.test.ts',
    'test/jobs/retention/drop-version.test.ts',
    'test/jobs/retention/unfinished.test.ts',
    'test/state/handles/unread-lists.test.ts',
    'test/state/subtask-keyed-state.test.ts',
    'test/state/typed/list-chunks.test.ts',
    'test/state/vector/versioned-rows.test.ts',
  ],
  'servers that many requests wait for': [
    'test/access/people/people.test.ts',
    'test/client/model-reader.test.ts',
    'test/gateway/gateway.test.ts',
    'test/gateway/http/client-certificate.test.ts',
    'test/gateway/http/connections.test.ts',
    'test/gateway/http/forwarded.test.ts',
    'test/gateway/inference/routes.test.ts',
    'test/gateway/openapi/rights.test.ts',
    'test/gateway/recommender/routes.test.ts',
    'test/models/highest-version.test.ts',
    'test/rest/server/app.test.ts',
    'test/rest/server/audit.test.ts',
    'test/rest/server/document.test.ts',
    'test/rest/server/rights.test.ts',
    'test/serving/reader/model-reader.test.ts',
    'test/serving/server/held-frame.test.ts',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Name of the variable that leaves the heavy files out of a run. */
export const QUICK_VARIABLE = 'TEST_QUICK'

/** The files of {@link BY_WORK}. */
export const HEAVY_FILES: readonly string[] = Object.values(BY_WORK).flat()
