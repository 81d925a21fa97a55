import { durationText } from '../../core/text/age.ts'
import { timeSpan } from '../../core/time.ts'
import { requireTimes } from '../data/age-weights.ts'
import { bestHalfLife, NEWEST } from '../data/half-life-search.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import { splitByTime } from '../data/split-ratings.ts'
import { evaluateAls } from './evaluate.ts'
import { evaluateRanking } from './evaluate-ranking.ts'
import type { AlsModel } from './solver/model.ts'
import type { AlsFeedback } from './solver/options.ts'

/** Users whose lists are compared, of implicit feedback. */
const RANKED_USERS = 1000

/** What a half-life is chosen with. */
export interface HalfLifeTrial {
  /** @default 'explicit' */
  readonly feedback?: AlsFeedback | undefined
  /** A training with a half-life, ms; undefined: all ratings count the same. */
  train(table: RatingsTable, halfLifeMs: number | undefined): Promise<AlsModel>
}

/** The half-life of a training: one that is given, or with `auto` the one that is chosen. Throws the errors of `chooseHalfLife`. */
export async function resolvedHalfLife(
  table: RatingsTable,
  given: number | 'auto' | undefined,
  trial: HalfLifeTrial,
): Promise<number | undefined> {
  return given === 'auto' ? await chooseHalfLife(table, trial) : given
}

/**
 * The half-life, ms, of which a training on the older ratings predicts the newest tenth best (`bestHalfLife`), by RMSE, or by
 * 1 - NDCG at 10 of implicit feedback. Undefined where none is better than to count all the same. It takes a training for each half-life that is tried. Throws INVALID_ARGUMENT where a
 * rating has no time, and EMPTY_DATASET.
 */
export async function chooseHalfLife(
  table: RatingsTable,
  { feedback = 'explicit', train }: HalfLifeTrial,
): Promise<number | undefined> {
  requireTimes(table.timestamp)
  const older = splitByTime(table, NEWEST)
  const span = timeSpan(older.train.timestamp)
  if (span === undefined || span.newest === span.oldest) return undefined
  return await bestHalfLife(span.newest - span.oldest, async (halfLifeMs) => {
    const model = await train(older.train, halfLifeMs)
    if (feedback === 'explicit') return evaluateAls(model, older.test).rmse
    const options = { maxUsers: RANKED_USERS }
    return 1 - evaluateRanking(model, older.train, older.test, options).ndcg.mean
  })
}

/** What was chosen, in words; undefined and 0 for none. */
export function chosenHalfLifeText(halfLifeMs = 0): string {
  return halfLifeMs === 0
    ? 'none, as no half-life predicts the newest tenth better'
    : `${durationText(halfLifeMs)}, which predicts the newest tenth best`
}
