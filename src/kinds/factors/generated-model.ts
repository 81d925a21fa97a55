import { type GeneratedAlsModelOptions, generateAlsRow } from '../../models/als/model-generator.ts'
import { type PublishOptions, publishModel } from '../../models/publish/model.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'

/** Publishes a generated ALS model; its ids are the whole numbers from 1, as text. */
export function publishGeneratedModel(
  shape: GeneratedAlsModelOptions,
  options: Omit<PublishOptions, 'facts'>,
): Promise<number> {
  const { users, items, factors } = shape
  const seed = shape.seed ?? 1
  const vector = new Float32Array(factors)
  const model = {
    dimension: factors,
    users,
    items,
    *rows() {
      for (const [kind, count] of [
        ['U', users],
        ['I', items],
      ] as const) {
        for (let index = 0; index < count; index++) {
          generateAlsRow(kind, index, seed, vector)
          yield { id: String(index + 1), kind, vector }
        }
      }
    },
  }
  const facts = {
    name: ALS_MODEL,
    biased: false,
    globalMean: 0,
    hyperparameters: { generated: true, seed },
    metrics: {},
  }
  return publishModel(model, { ...options, facts })
}
