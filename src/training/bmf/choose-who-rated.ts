import { evaluateAls } from '../als/evaluate.ts'
import type { AlsModel } from '../als/solver/model.ts'
import { requireTimes } from '../data/age-weights.ts'
import { GAIN, NEWEST } from '../data/half-life-search.ts'
import type { RatingsTable } from '../data/ratings-table.ts'
import { splitByTime } from '../data/split-ratings.ts'

/** Whether who rated what is to be a feature, and why. */
export interface WhoRatedChoice {
  readonly whoRated: boolean
  /** RMSE on the newest tenth of the ratings after a training on the older ones, with the feature and without it. */
  readonly rmseWith: number
  readonly rmseWithout: number
}

/**
 * Whether a training on the older ratings predicts the newest tenth better where it knows who rated what: by at least 0.2 % of
 * the error, as less is chance. It takes two trainings. Throws INVALID_ARGUMENT where a rating has no time, and EMPTY_DATASET.
 */
export async function chooseWhoRated(
  table: RatingsTable,
  train: (older: RatingsTable, whoRated: boolean) => Promise<AlsModel>,
): Promise<WhoRatedChoice> {
  requireTimes(table.timestamp)
  const { train: older, test } = splitByTime(table, NEWEST)
  const rmseOf = async (whoRated: boolean): Promise<number> =>
    evaluateAls(await train(older, whoRated), test).rmse
  const [rmseWithout, rmseWith] = [await rmseOf(false), await rmseOf(true)]
  return { whoRated: rmseWith < rmseWithout * (1 - GAIN), rmseWith, rmseWithout }
}

/** What was chosen, in words. */
export function chosenWhoRatedText({ whoRated, rmseWith, rmseWithout }: WhoRatedChoice): string {
  const errors = `RMSE ${rmseWith.toFixed(4)} with it and ${rmseWithout.toFixed(4)} without it on the newest tenth of the ratings`
  return `who rated what is ${whoRated ? 'a' : 'no'} feature: ${errors}`
}
