import { objectWith } from '../../core/options/kinds.ts'
import { historyRatings } from '../../models/observations/history.ts'
import { readObservations } from '../../models/observations/topic-ranges.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { goldenRatingsId, RatingsGate } from '../factors/gate.ts'
import type { PlacedRating } from '../factors/ratings-profile.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import type { ModelKind } from '../port/kind.ts'
import {
  dampingOf,
  type PopularityRetraining,
  type PopularityTraining,
  popularityHyperparameters,
} from './options.ts'

/** Popularity models: damped means of items, served as the rows of an ALS model without factors. */
export const POPULARITY: ModelKind<
  PopularityRetraining,
  PopularityTraining,
  GoldenRatings,
  PlacedRating
> = {
  name: 'popularity',
  observations: 'ratings',
  state: ALS_MODEL,
  learner: 'weir learn als',
  learnsBefore: true,
  options: { popularity: objectWith('options of trainPopularity') },
  includes: ({ lineage }) => dampingOf(lineage.hyperparameters) !== undefined,
  code: () => 'popularity/1',
  parameters: ({ popularity }) => popularityHyperparameters(popularity),
  dimension: () => undefined,
  // The means do not depend on a start.
  startsFromRows: () => false,
  training: ({ popularity }) => ({ popularity }),
  async trainer(onProgress) {
    const { FactorsTrainer } = await import('../factors/trainer.ts')
    const { trainPopularityFactors } = await import('./training.ts')
    return new FactorsTrainer(trainPopularityFactors, onProgress)
  },
  read: (topics, ranges) => readObservations(topics, ranges),
  readHistory: (history) => historyRatings(history),
  gate: (options) => new RatingsGate(options),
  goldenId: ({ ratings }) => goldenRatingsId(ratings),
}
