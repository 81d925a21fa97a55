import { kindOf } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import {
  PUBLICATION,
  type PublishOptions,
  publishModel,
  TRAINING_FACTS,
} from '../../models/publish/model.ts'
import type { TrainedOn } from '../../models/registry/ranges/trained-on.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import { RowVariances } from '../../training/bmf/score-variances.ts'

/** Options of `publishAls`. */
export interface PublishAlsOptions extends Omit<PublishOptions, 'facts'> {
  readonly hyperparameters?: Readonly<Record<string, number | string | boolean>>
  readonly metrics?: Readonly<Record<string, number>>
  readonly trainedOn?: TrainedOn
  /** Variances of its ratings, for intervals of predictions (`trainBmf`). @default none */
  readonly variances?: RowVariances
}

const PUBLISH_ALS: OptionShape<PublishAlsOptions> = {
  ...PUBLICATION,
  ...TRAINING_FACTS,
  variances: kindOf<RowVariances>(
    'the variances of trainBmf',
    (given) => given instanceof RowVariances,
  ),
}

/** Publishes a trained ALS model as a version (`publishModel`). */
export async function publishAls(model: AlsModel, options: PublishAlsOptions): Promise<number> {
  checkOptions('publishAls', PUBLISH_ALS, options)
  const {
    hyperparameters = { factors: model.factors },
    metrics = {},
    trainedOn,
    variances,
    ...publication
  } = options
  const publishable = {
    dimension: model.dimension,
    users: model.users.length,
    items: model.items.length,
    *rows() {
      for (const kind of ['U', 'I'] as const) {
        for (const [index, id] of (kind === 'U' ? model.users : model.items).entries()) {
          const ratings = model.ratingsOf(kind, index)
          const memory = variances?.row(kind, index)
          yield { id, kind, vector: model.row(kind, index), ratings, memory }
        }
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
    ...(variances === undefined ? {} : { coldVariances: variances.cold }),
  }
  return await publishModel(publishable, { ...publication, facts })
}
