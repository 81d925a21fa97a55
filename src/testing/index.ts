/** `weir/testing`: what drives operators and jobs in tests. Public, and used by Weir's own tests. */
export { MemorySink } from '../connectors/memory/memory-sink.ts'
export { MemorySource, type MemorySourceOptions } from '../connectors/memory/memory-source.ts'
// The operators around functions, for `OperatorHarness`.
export { BroadcastProcessOperator } from '../operators/broadcast-process-operator.ts'
export { CoProcessOperator } from '../operators/co-process-operator.ts'
export { KeyedBroadcastProcessOperator } from '../operators/keyed-broadcast-process-operator.ts'
export { KeyedCoProcessOperator } from '../operators/keyed-co-process-operator.ts'
export { KeyedProcessOperator } from '../operators/keyed-process-operator.ts'
export { ProcessOperator } from '../operators/process-operator.ts'
export type { JobExecution, JobFailure, StopOptions } from '../runtime/job-execution.ts'
export type { HarnessEntry, HarnessSnapshot } from './harness-snapshot.ts'
export { ManualClock } from './manual-clock.ts'
export { MemoryCheckpointStorage } from './memory-checkpoint-storage.ts'
export { MiniCluster, type MiniClusterJobOptions, type MiniClusterOptions } from './mini-cluster.ts'
export {
  type HarnessKeys,
  type HarnessOptions,
  type HarnessRecord,
  OperatorHarness,
} from './operator-harness.ts'
