import { WeirError } from '../../core/errors.ts'
import { implicitRow } from '../../models/als/anonymous-row.ts'
import { gramOf, type ImplicitTerms } from '../../models/als/implicit-terms.ts'
import { idOfKey, kindOfKey } from '../../models/als/row-key.ts'
import { RowMoments } from '../../models/als/row-moments.ts'
import { topItems } from '../../training/als/evaluate-ranking.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import { type AlsOptions, alsSettings } from '../../training/als/solver/options.ts'
import { trainAls } from '../../training/als/train.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import { splitFoldsByUser } from '../../training/data/split-ratings.ts'
import {
  evaluateStrong,
  type ListForItems,
  type MeasuredLists,
  StrongMeasures,
} from '../../training/evaluate/strong.ts'
import type { ModelReader } from '../../wire/model-reader.ts'

/** Share of the items of a user that are folded in, as in the papers. */
const FOLD_IN = 0.8

/**
 * Cross-validation of implicit feedback by user: for each fold a model is trained without its users, a part of the items
 * of each is folded in, and the rest is looked for in the list (`evaluateStrong`). Throws as `trainAls`, and EMPTY_DATASET.
 */
export async function strongFolds(
  table: RatingsTable,
  folds: number,
  options: AlsOptions,
): Promise<MeasuredLists> {
  const measures = new StrongMeasures()
  const seed = options.seed ?? 1
  for (const { train, test } of splitFoldsByUser(table, folds, seed)) {
    const model = await trainAls(train, options)
    await evaluateStrong(readerOf(model), listsOf(model, options), test, {
      ...{ state: '', query: {}, foldIn: FOLD_IN, seed, areCounts: true, measures },
    })
  }
  return measures.summary()
}

/** The rows of a model in memory. */
function readerOf(model: AlsModel): Pick<ModelReader, 'rows'> {
  const envelope = { modelVersion: 0, partition: -1, offset: -1, checkpointId: 0, ageMs: 0 }
  return {
    rows: async (_state, keys) =>
      keys.map((key) => {
        const value = model.rowOf(kindOfKey(key), idOfKey(key))
        return value === undefined
          ? { ok: false, error: new WeirError('UNKNOWN_KEY', `the model has no row ${key}`) }
          : { ok: true, value, envelope: { ...envelope, servedBy: '' } }
      }),
  }
}

function listsOf(model: AlsModel, options: AlsOptions): ListForItems {
  const { alpha, regularization, penalty } = alsSettings(options)
  const terms: ImplicitTerms = {
    alpha,
    regularization,
    penalty,
    gram: gramOf(itemMoments(model), model.dimension),
  }
  return async (items, k) => {
    const events = items.map(({ item, strength }) => ({
      row: model.rowOf('I', item)!,
      rating: strength,
    }))
    const seen = new Set(items.map(({ item }) => item))
    return topItems(model, implicitRow(undefined, events, terms), { seen, k })
  }
}

function itemMoments(model: AlsModel): RowMoments {
  const moments = new RowMoments(model.dimension)
  for (const item of model.items.keys()) moments.add(model.row('I', item))
  return moments
}
