import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { ALS_MODEL } from '../../jobs/model-topic/als-serving-function.ts'
import {
  PUBLICATION,
  type PublishOptions,
  publishModel,
  TRAINING_FACTS,
} from '../../jobs/publish/model.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'

/** Options of `publishAls`. */
export interface PublishAlsOptions extends Omit<PublishOptions, 'facts'> {
  readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
  readonly metrics?: Readonly<Record<string, number>>
  readonly trainedOn?: TrainedOn
}

const PUBLISH_ALS: OptionShape<PublishAlsOptions> = { ...PUBLICATION, ...TRAINING_FACTS }

/** Publishes a trained ALS model as a version (`publishModel`). */
export async function publishAls(model: AlsModel, options: PublishAlsOptions): Promise<number> {
  checkOptions('publishAls', PUBLISH_ALS, options)
  const {
    hyperparameters = { factors: model.factors },
    metrics = {},
    trainedOn,
    ...publication
  } = options
  const publishable = {
    dimension: model.dimension,
    users: model.users.length,
    items: model.items.length,
    *rows() {
      for (const [index, id] of model.users.entries()) {
        const ratings = model.ratingsOf('U', index)
        yield { id, kind: 'U' as const, vector: model.row('U', index), ratings }
      }
      for (const [index, id] of model.items.entries()) {
        const ratings = model.ratingsOf('I', index)
        yield { id, kind: 'I' as const, vector: model.row('I', index), ratings }
      }
    },
  }
  const facts = {
    name: ALS_MODEL,
    biased: model.biased,
    globalMean: model.globalMean,
    minRating: model.range.min,
    maxRating: model.range.max,
    hyperparameters,
    metrics,
    ...(trainedOn === undefined ? {} : { trainedOn }),
  }
  return await publishModel(publishable, { ...publication, facts })
}
