import type { Random } from '../src/core/random.ts'
import type { SupervisedJob } from './jobs/supervised-job.ts'
import type { CheckpointFiles } from './world/checkpoint-files.ts'
import type { QueryLine } from './world/query-line.ts'
import type { World } from './world/world.ts'

/** Targets of faults. */
export interface FaultSite {
  readonly world: World
  /** The jobs to kill: that with the exactly-once sink first, both, or one. */
  readonly jobs: readonly SupervisedJob[]
  readonly queryLine: QueryLine
  /** Folder of all checkpoints in HDFS. */
  readonly checkpointFolder: string
  readonly inputTopic: string
  readonly inputPartitions: number
  /** A fault that does not end within this time has failed, ms. */
  readonly limitMs: number
  readonly random: Random
  /** Checkpoint files of a job. */
  readonly filesOf: (job: SupervisedJob) => CheckpointFiles
  /** Adds a partition to the input topic of the counts. */
  readonly growInput: () => Promise<void>
  /** Reports a process that should have ended by itself. */
  readonly violate: (detail: string) => void
}

/** What a fault hits: a process or slot, a step of a checkpoint or restore, a service, or connections. */
export type FaultGroup = 'process' | 'restore' | 'service' | 'connection'

/** One kind of fault. */
export interface Fault {
  readonly name: string
  readonly group: FaultGroup
  /** How often it comes in each round after the first. @default 1 */
  readonly times?: number
  /**
   * Injects the fault. Resolves at its end, which is before the jobs have recovered, with the number of
   * slots, processes and services that it killed.
   */
  readonly inject: (site: FaultSite) => Promise<number>
}
