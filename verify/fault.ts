import type { Random } from '../src/core/random.ts'
import type { Violation } from './checks/observation.ts'
import type { CopiesJobOptions } from './jobs/copies.ts'
import type { SupervisedJob } from './jobs/supervised-job.ts'
import type { Load } from './load.ts'
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
  /** Adds a partition to the output topic of the counts. */
  readonly growOutput: () => Promise<void>
  /** Load of the counts. */
  readonly countLoad: Load
  readonly outputTopic: string
  /** A name that no topic and no job has. */
  readonly newName: (kind: string) => string
  /** Creates topics of one partition that every broker holds. */
  readonly createTopics: (topics: readonly string[]) => Promise<void>
  /** A job of its own that copies records. */
  readonly copiesJob: (
    options: Pick<
      CopiesJobOptions,
      'input' | 'once' | 'atLeastOnce' | 'outOfRange' | 'transactionTimeoutMs'
    >,
  ) => Promise<SupervisedJob>
  /** Reports what a fault itself has found to be wrong. */
  readonly violate: (kind: Violation['kind'], detail: string) => void
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
