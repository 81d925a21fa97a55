import type { Random } from '../../src/core/random.ts'
import type { Violation } from '../checks/observation.ts'
import type { CheckpointPace } from '../jobs/configuration.ts'
import type { CopiesJobOptions } from '../jobs/copies.ts'
import type { SupervisedJob } from '../jobs/supervised-job.ts'
import type { CheckpointFiles } from '../world/checkpoint-files.ts'
import type { World } from '../world/world.ts'

/** Options of a copies job that a fault chooses. */
export type CopiesChoice = Pick<
  CopiesJobOptions,
  'input' | 'once' | 'atLeastOnce' | 'outOfRange' | 'transactionTimeoutMs'
>

/** What a fault needs that hits a job with topics of its own. */
export interface CopySite {
  readonly world: World
  readonly random: Random
  /** A fault that does not end within this time has failed, ms. */
  readonly limitMs: number
  /** A name that no topic and no job has. */
  readonly newName: (kind: string) => string
  /** Creates topics of one partition that every broker holds. */
  readonly createTopics: (topics: readonly string[]) => Promise<void>
  /** A job of its own that copies records. */
  readonly copiesJob: (options: CopiesChoice, pace?: CheckpointPace) => Promise<SupervisedJob>
  /** Checkpoint files of a job. */
  readonly filesOf: (job: SupervisedJob) => CheckpointFiles
  /** Reports what a fault itself has found to be wrong. */
  readonly violate: (kind: Violation['kind'], detail: string) => void
}
