/** `@weirjs/weir/testing`: tools to run operators and jobs in tests. Public; Weir's tests use them, too. */

import '../core/lifetime/require-node.ts'

export { MemorySink } from '../connectors/memory/sink.ts'
export { MemorySource, type MemorySourceOptions } from '../connectors/memory/source.ts'
// The operators around functions, for `OperatorHarness`.
export { BroadcastProcessOperator } from '../operators/process/broadcast.ts'
export { CoProcessOperator } from '../operators/process/co-process.ts'
export { KeyedBroadcastProcessOperator } from '../operators/process/keyed-broadcast.ts'
export { KeyedCoProcessOperator } from '../operators/process/keyed-co-process.ts'
export { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
export { ProcessOperator } from '../operators/process/process.ts'
export type { JobExecution, JobFailure, StopOptions } from '../runtime/job/execution.ts'
export type { StreamHarnessSnapshot } from './harness-graph.ts'
export type { HarnessKeys, HarnessOptions } from './harness-options.ts'
export type { HarnessEntry, HarnessSnapshot } from './harness-snapshot.ts'
export type { HarnessStates } from './harness-states.ts'
export {
  type InterleavedRecord,
  type InterleavingsOptions,
  interleavings,
} from './interleavings.ts'
export { JobHarness, type JobHarnessOptions } from './job-harness.ts'
export type { Kill } from './kill-plan.ts'
export { ManualClock } from './manual-clock.ts'
export { MemoryCheckpointStorage } from './memory-checkpoint-storage.ts'
export { MiniCluster, type MiniClusterJobOptions, type MiniClusterOptions } from './mini-cluster.ts'
export { type HarnessRecord, OperatorHarness } from './operator-harness.ts'
export { ProcessFunctionTestHarnesses } from './process-function-test-harnesses.ts'
export {
  type HarnessInputs,
  StreamHarness,
  type StreamHarnessOptions,
} from './stream-harness.ts'
export {
  type JobBuilder,
  type RestoreFailure,
  type RestoreTestOptions,
  type RestoreTestReport,
  testRestores,
} from './test-restores.ts'
export {
  parseTimedEvents,
  type TimedClock,
  type TimedEvent,
  type TimedRecord,
  type TimedWatermark,
} from './timed-events.ts'
