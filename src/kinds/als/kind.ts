import { openTopics } from '../../connectors/topics/open.ts'
import { objectWith } from '../../core/options/kinds.ts'
import { ONLINE_RULE } from '../../models/als/online/rules.ts'
import { feedbackOf } from '../../models/feedback.ts'
import { historyRatings } from '../../models/observations/history.ts'
import { readObservations } from '../../models/observations/topic-ranges.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { goldenRatingsId, RatingsGate } from '../factors/gate.ts'
import type { PlacedRating } from '../factors/ratings-profile.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import type { ModelKind } from '../port/kind.ts'
import { goldenListsId, ImplicitGate } from './implicit-gate.ts'
import { type AlsRetraining, type AlsTraining, coldStart } from './options.ts'

/** ALS models, whose rows alternating least squares or Bayesian factorisation trains. */
export const ALS: ModelKind<AlsRetraining, AlsTraining, GoldenRatings, PlacedRating> = {
  name: 'als',
  observations: 'ratings',
  state: ALS_MODEL,
  learner: 'weir learn als',
  learnsBefore: true,
  options: {
    als: objectWith('options of trainAls'),
    rule: ONLINE_RULE,
  },
  includes: ({ users }) => users > 0,
  code: ({ als }) => `${als.trainer ?? 'als'}/1`,
  // Neither changes the model.
  parameters: ({ als: { threads: _, device: __, ...parameters } }): Hyperparameters => parameters,
  async withFiles({ als }, place) {
    const { withFeatureHashes } = await import('./features-file.ts')
    return { als: await withFeatureHashes(als, () => openTopics(place)) }
  },
  // Each version may have its own number of factors.
  dimension: () => undefined,
  // A chain draws its start.
  startsFromRows: ({ als }) => als.trainer !== 'bmf',
  coldStart: ({ als }, live) => coldStart(als, live),
  training: ({ als, rule }, { startingRows }) => ({
    als,
    rule,
    ...(startingRows === undefined ? {} : { startingRows }),
  }),
  async trainer(onProgress) {
    const { FactorsTrainer } = await import('../factors/trainer.ts')
    const { trainAlsFactors } = await import('./training.ts')
    return new FactorsTrainer(trainAlsFactors, onProgress)
  },
  read: (topics, ranges) => readObservations(topics, ranges),
  readHistory: (history) => historyRatings(history),
  gate: (options) => (isImplicit(options) ? new ImplicitGate(options) : new RatingsGate(options)),
  goldenId: ({ ratings }, version) =>
    isImplicit({ version }) ? goldenListsId(ratings) : goldenRatingsId(ratings),
}

function isImplicit({
  version,
}: {
  readonly version: { readonly lineage: { readonly hyperparameters: Hyperparameters } }
}): boolean {
  return feedbackOf(version.lineage.hyperparameters) === 'implicit'
}
