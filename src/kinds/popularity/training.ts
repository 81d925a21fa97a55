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
  const model = trainPopularity(table, popularity)
  onProgress(1, 1)
  const { dimension, biased, globalMean } = model
  const rule = new PopularityRule({ dimension, biased }, { ...popularity, globalMean })
  return { model, metrics: {}, rule }
}
