import type { SupervisedJob } from './jobs/supervised-job.ts'
import type { Load } from './kafka/load.ts'
import type { CopySite } from './truncation/copy-site.ts'
import type { QueryLine } from './world/query-line.ts'

/** Targets of faults. */
export interface FaultSite extends CopySite {
  /** The jobs to kill: that with the exactly-once sink first, both, or one. */
  readonly jobs: readonly SupervisedJob[]
  readonly queryLine: QueryLine
  /** Folder of all checkpoints in HDFS. */
  readonly checkpointFolder: string
  readonly inputTopic: string
  readonly inputPartitions: number
  /** Adds a partition to the input topic of the counts. */
  readonly growInput: () => Promise<void>
  /** Adds a partition to the output topic of the counts. */
  readonly growOutput: () => Promise<void>
  /** Load of the counts. */
  readonly countLoad: Load
  readonly outputTopic: string
}

/** What a fault hits: a process or slot, a step of a checkpoint or restore, a service, connections, or a log. */
export type FaultGroup = 'process' | 'restore' | 'service' | 'connection' | 'truncation'

/** One kind of fault. */
export interface Fault {
  readonly name: string
  readonly group: FaultGroup
  /** How often it comes in each round after the first. @default 1 */
  readonly times?: number
  /** Whether it takes half a minute or more, for which a run of all tests has no time. @default false */
  readonly isLong?: boolean
  /**
   * Injects the fault. Resolves at its end, which is before the jobs have recovered, with the number of
   * slots, processes and services that it killed.
   */
  readonly inject: (site: FaultSite) => Promise<number>
}
