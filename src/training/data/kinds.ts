import { kindOf, type OptionKind, objectWith } from '../../core/options/kinds.ts'
import type { RatingsTable } from './ratings-table.ts'
import type { SparseTable } from './sparse-table.ts'

/** A table of ratings. */
export const RATINGS_TABLE: OptionKind<RatingsTable> = kindOf(
  'a table of ratings, as readRatings(...) and ratingsTable(...) give it',
  (given) => (given as Partial<RatingsTable> | null)?.rating instanceof Float32Array,
)

/** A table of examples. */
export const SPARSE_TABLE: OptionKind<SparseTable> = kindOf(
  'a table of examples, as readLibsvm(...) gives it',
  (given) => typeof (given as Partial<SparseTable> | null)?.rows === 'number',
)

/** What is trained on: a table, a spill that is built, or single ratings. */
export const RATINGS: OptionKind<object> = objectOrIterable(
  'ratings: a table of readRatings(...), or a list of them',
)

/** A file by its path or URL, or its bytes in parts. */
export const FILE_BYTES: OptionKind<never> = kindOf(
  'the path or URL of a file, or its bytes as an async iterable',
  (given) => (typeof given === 'string' && given !== '') || isObject(given),
)

/** A trained model of factors, or what predicts as it does. */
export const FACTOR_MODEL: OptionKind<object> = objectWith(
  'a model, as trainAls(...) gives it',
  'predict',
)

/** A trained linear model. */
export const LINEAR_MODEL: OptionKind<object> = objectWith(
  'a model, as trainLinear(...) gives it',
  'decisionOfRow',
)

function objectOrIterable(takes: string): OptionKind<object> {
  return kindOf(takes, isObject)
}

function isObject(given: unknown): given is object {
  return typeof given === 'object' && given !== null
}
