import type { JobOptions } from '../../src/dataflow/job/definition.ts'
import type { JobStatus } from '../../src/runtime/job/status.ts'

/** Settings of a job process; its first argument, as JSON. */
export interface JobProcessSettings {
  /** Path of the job's module from this folder, without its ending. */
  readonly module: string
  readonly jobId: string
  readonly jobOptions: JobOptions
  readonly configuration: Readonly<Record<string, string>>
  /** Bootstrap port of queries. */
  readonly port: number
}

/** Message from the verifier to a job process. */
export interface JobCommand {
  readonly killSlot: number
}

/** Message from a job process to the verifier. Times are wall-clock ms. */
export type JobReport =
  | {
      readonly kind: 'status'
      readonly to: JobStatus
      readonly attempt: number
      readonly atMs: number
      readonly cause: string | undefined
    }
  /** A new completed checkpoint, or new ports of query threads. */
  | {
      readonly kind: 'state'
      readonly checkpointId: number
      readonly checkpointTriggeredMs: number
      readonly ports: readonly number[]
    }
