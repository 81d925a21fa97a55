import type { Clock } from '../../core/clock.ts'
import type { Random } from '../../core/random.ts'
import type { StreamGraph } from '../../dataflow/stream-graph.ts'
import type { Claimant } from '../checkpoint/coordinator/claimant.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import type { JobConfiguration } from '../configuration/configuration.ts'
import type { OperatorCoordinator, OperatorCoordinators } from '../protocol/operator-coordinator.ts'
import type { ServingPort } from '../protocol/serving-port.ts'
import type { StartSlot } from '../protocol/slot-host.ts'

/** Options of a job's execution. */
export interface JobExecutionOptions {
  /** 32 hexadecimal digits. */
  readonly jobId: string
  readonly graph: StreamGraph
  readonly configuration: JobConfiguration
  readonly startSlot: StartSlot
  readonly clock: Clock
  readonly random: Random
  /**
   * The main thread's checkpoint storage, closed with the job; undefined for a job without checkpoints.
   */
  readonly storage?: CheckpointStorage | undefined
  /** URL with which slots open the same storage; required with `storage`. */
  readonly storageUrl?: string | undefined
  /** The process that claims the job's checkpoints. @default no owner is asked or named */
  readonly claimant?: Claimant | undefined
  readonly coordinators?: OperatorCoordinators | undefined
  /** Makes the coordinator of each operator that asks a model; a job with such an operator needs it. */
  readonly models?: (() => OperatorCoordinator) | undefined
  readonly serving?: ServingPort | undefined
}
