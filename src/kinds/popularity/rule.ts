import { requireArgument } from '../../core/errors.ts'
import { numberIn } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { LearnedRow, OnlineRule, RowShape, StepOutcome } from '../../models/als/online/rule.ts'
import { BIAS_COLUMNS } from '../../models/als/row.ts'
import { DEFAULT_DAMPING, type PopularityOptions } from './options.ts'

/** Options of the rule: damping and mean of all ratings are those of the version. */
export interface PopularityRuleOptions extends Pick<PopularityOptions, 'damping'> {
  readonly rule: 'popularity'
  /** Mean of the ratings that the version was trained on. @default that of the version */
  readonly globalMean?: number
}

/** The options of the rule, without its name. */
export const POPULARITY_RULE: OptionShape<Omit<PopularityRuleOptions, 'rule'>> = {
  damping: numberIn({ min: 0 }),
  globalMean: numberIn(),
}

/** Column of an item's row with its bias. */
const BIAS = 1

/**
 * Learns a popularity model: a rating moves the damped mean of its item, exactly as if the item were trained again on all
 * of its ratings with the mean of all as it was. The delta is the rating less that mean, then how much of a newcomer the
 * user is, which counts for nothing here; the item's owner folds it with the number of ratings of the row.
 */
export class PopularityRule implements OnlineRule {
  readonly kind = 'gram'
  readonly shape: RowShape
  readonly userMemory = 0
  readonly itemMemory = 0
  readonly deltaLength = 2
  private readonly damping: number
  private readonly mean: number

  /** Throws INVALID_ARGUMENT for rows that are no popularity model's. */
  constructor(
    shape: RowShape,
    { damping = DEFAULT_DAMPING, globalMean = 0 }: Omit<PopularityRuleOptions, 'rule'>,
  ) {
    const { dimension } = shape
    requireArgument(
      dimension === BIAS_COLUMNS,
      `the rows of a popularity model have ${BIAS_COLUMNS} floats, not ${dimension}`,
    )
    this.shape = shape
    this.damping = damping
    this.mean = globalMean
  }

  /** The user's row is that of all users: a new one gets it. */
  learn(user: LearnedRow, _item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const above = Math.fround(rating - this.mean)
    if (!Number.isFinite(above)) return 'refused'
    user.row[0] = this.mean
    user.row[1] = 1
    user.updates++
    delta[0] = above
    delta[1] = 0
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    const before = ratingsOf(item)
    const weight = before + this.damping
    // An item without ratings is at the mean of all, not at the mean row of the items, with which it is predicted.
    const bias = before === 0 ? 0 : (item.row[BIAS] as number)
    const moved = (bias * weight + (delta[0] as number)) / (weight + 1)
    if (!Number.isFinite(Math.fround(moved))) return 'refused'
    item.row[0] = 1
    item.row[BIAS] = moved
    item.updates++
    return 'learned'
  }
}

/** Ratings in a row; that a trained row was written is one of its updates. */
function ratingsOf({ evidence, updates }: LearnedRow): number {
  return evidence + updates - (evidence > 0 ? 1 : 0)
}
