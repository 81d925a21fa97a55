import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { Clock } from '../core/clock.ts'
import type { Random } from '../core/random.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { JobConfiguration } from './configuration.ts'
import type { OperatorCoordinators } from './operator-coordinator.ts'
import type { ServingGateway } from './serving-gateway.ts'
import type { StartSlot } from './slot-host.ts'

/** What a job is run with. */
export interface JobExecutionOptions {
  /** 32 hexadecimal digits. */
  readonly jobId: string
  readonly graph: StreamGraph
  readonly configuration: JobConfiguration
  readonly startSlot: StartSlot
  readonly clock: Clock
  readonly random: Random
  /**
   * The main thread's own handle on checkpoint storage, closed with the job; undefined for a job
   * without checkpoints.
   */
  readonly storage?: CheckpointStorage | undefined
  /** What slots open the same storage with; required with `storage`. */
  readonly storageUrl?: string | undefined
  /** Folder of a savepoint or checkpoint to begin from, a path of checkpoint storage. */
  readonly restoreFrom?: string | undefined
  readonly allowNonRestoredState?: boolean | undefined
  readonly coordinators?: OperatorCoordinators | undefined
  readonly serving?: ServingGateway | undefined
}
