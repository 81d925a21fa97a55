import { requireArgument } from '../../../core/errors.ts'
import { type StepGuardSettings, type StepGuards, stepGuards } from './guards.ts'
import { requireNewcomers } from './newcomers.ts'
import type { UpdateOrder } from './rule.ts'

/**
 * Schedule of the learning rate of a row: `constant`; `decayed`, rate / (1 + decay x its updates);
 * `adagrad`, rate / sqrt(1 + decay x the sum of its mean squared gradients) (row-wise, as in LIBMF).
 */
export type RateSchedule = 'constant' | 'decayed' | 'adagrad'

/** Options of stochastic gradient descent; they include those of the ancestor. */
export interface SgdOptions extends StepGuards {
  /**
   * The ancestor's default is 0.1, worse than not learning on MovieLens. @default 0.05, and less where the two steps of
   * a rating would together move its score by more than a fifth of its error: for long rows, and ratings on a wide scale
   */
  readonly learningRate?: number
  /** @default 'constant' */
  readonly schedule?: RateSchedule
  /** @default 0.01 with 'decayed', 1 with 'adagrad' */
  readonly decay?: number
  /** Pulls the user's factors to 0. @default 0.02 */
  readonly userRegularization?: number
  /** Pulls the item's factors to 0. @default 0.02 */
  readonly itemRegularization?: number
  /** Full steps that those of all newcomers together count for in an item's row. @default 20 */
  readonly newcomers?: number
  /** @default 'simultaneous' */
  readonly order?: UpdateOrder
  /**
   * Delta for the item's owner: the user's row and the rating, from which the owner does the step on the
   * current row of the item (`pair`); or the step, from the item's row that the user's owner read
   * (`step`). Steps can be summed, but many at once on one item overshoot. @default 'pair'
   */
  readonly deltas?: 'pair' | 'step'
  /** Mean rating, to which the user's bias column is pulled. @default 0 */
  readonly globalMean?: number
}

/** Options with every default filled in. */
export type SgdSettings = Required<Omit<SgdOptions, keyof StepGuards>> &
  StepGuardSettings & {
    /** Part of its error by which the two steps of a rating move its score at most; Infinity with a given rate. */
    readonly mostMove: number
  }

/** `mostMove` where no rate is given (docs/decisions/rating-rules.md#steps-of-a-default-rate). */
const MOST_MOVE = 0.2

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function sgdSettings(options: SgdOptions = {}): SgdSettings {
  const schedule = options.schedule ?? 'constant'
  const settings: SgdSettings = {
    learningRate: options.learningRate ?? 0.05,
    mostMove: options.learningRate === undefined ? MOST_MOVE : Number.POSITIVE_INFINITY,
    schedule,
    decay: options.decay ?? (schedule === 'adagrad' ? 1 : 0.01),
    userRegularization: options.userRegularization ?? 0.02,
    itemRegularization: options.itemRegularization ?? 0.02,
    newcomers: options.newcomers ?? 20,
    order: options.order ?? 'simultaneous',
    deltas: options.deltas ?? 'pair',
    globalMean: options.globalMean ?? 0,
    ...stepGuards(options),
  }
  requireArgument(
    Number.isFinite(settings.learningRate) && settings.learningRate > 0,
    `learningRate is greater than 0, not ${settings.learningRate}`,
  )
  for (const name of ['decay', 'userRegularization', 'itemRegularization'] as const) {
    const value = settings[name]
    requireArgument(Number.isFinite(value) && value >= 0, `${name} is 0 or more, not ${value}`)
  }
  requireNewcomers(settings.newcomers)
  return settings
}
