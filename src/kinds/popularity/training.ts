import { resolvedHalfLife } from '../../training/als/choose-half-life.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import type { TrainedFactors } from '../factors/trainer.ts'
import type { OnTrained } from '../port/trainer.ts'
import type { PopularityTraining } from './options.ts'
import { PopularityRule } from './rule.ts'
import { trainPopularity } from './train.ts'

/** Trains a popularity model in the training process. */
export async function trainPopularityFactors(
  table: RatingsTable,
  { popularity }: PopularityTraining,
  onProgress: OnTrained,
): Promise<TrainedFactors> {
  const train = async (ratings: RatingsTable, halfLifeMs: number | undefined): Promise<AlsModel> =>
    trainPopularity(ratings, { ...popularity, halfLifeMs })
  const halfLifeMs = await resolvedHalfLife(table, popularity.halfLifeMs, { train })
  const model = await train(table, halfLifeMs)
  onProgress(1, 1)
  const { dimension, biased, globalMean } = model
  const { halfLifeMs: given, ...damping } = popularity
  const rule = new PopularityRule({ dimension, biased }, { ...damping, globalMean })
  const found = given === 'auto' ? { chosenHalfLifeMs: halfLifeMs ?? 0 } : {}
  return { model, metrics: {}, rule, ...found }
}
