import { numberIn } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import type { Retraining } from '../port/kind.ts'

/** Options of `trainPopularity`. */
export interface PopularityOptions {
  /** Ratings of the mean of all that the mean of each item begins with. @default 5 */
  readonly damping?: number
  /** A rating counts half as much when it is this much older than the newest one, ms. @default all count the same */
  readonly halfLifeMs?: number | undefined
}

/** The options of `trainPopularity`. */
export const POPULARITY_OPTIONS: OptionShape<PopularityOptions> = {
  damping: numberIn({ min: 0 }),
  halfLifeMs: numberIn({ above: 0 }),
}

/** Ratings that an item's mean begins with where no option says it. */
export const DEFAULT_DAMPING = 5

/** Options of `trainPopularity` for the training process; the half-life `auto` is chosen (`chooseHalfLife`). */
export interface RetrainPopularityOptions extends Omit<PopularityOptions, 'halfLifeMs'> {
  readonly halfLifeMs?: number | 'auto'
}

/** Options of a retraining of a popularity model; damping that is not given is the default. */
export interface PopularityRetraining extends Retraining<GoldenRatings> {
  readonly popularity: RetrainPopularityOptions
}

/** What the training process gets of a popularity model. */
export type PopularityTraining = Pick<PopularityRetraining, 'popularity'>

/** Name of the trainer in the hyperparameters of a version. */
const TRAINER = 'popularity'

/** The hyperparameters of a version; its rows have the columns of biases (`models/als/row.ts`) and no others. */
export function popularityHyperparameters({
  damping = DEFAULT_DAMPING,
  halfLifeMs,
}: RetrainPopularityOptions): Hyperparameters {
  const weighed = halfLifeMs === undefined ? {} : { halfLifeMs }
  return { trainer: TRAINER, damping, ...weighed, factors: 0, biases: true }
}

/** Damping of a version; undefined for a version of another kind. */
export function dampingOf({ trainer, damping }: Hyperparameters): number | undefined {
  if (trainer !== TRAINER) return undefined
  return typeof damping === 'number' ? damping : DEFAULT_DAMPING
}
