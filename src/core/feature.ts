/**
 * Ids of features of sparse examples: whole numbers from 0 to `MAX_FEATURE`. The number above is the
 * constant feature, whose weight is the model's intercept, so that an intercept is
 * stored, sent and learned like any other weight. It never counts as unknown.
 */
export const MAX_FEATURE = 2 ** 32 - 2

/**
 * Most features of a model that is trained, and of one that learns unless it says otherwise: their ids are below it. They
 * have 1 GiB of weights; a stray id above it would take the whole memory.
 */
export const MOST_FEATURES = 2 ** 27

/** The constant feature; its value in an example is what the model was trained with, mostly 1. */
export const BIAS_FEATURE = 2 ** 32 - 1

/**
 * Whether a model has no weight for a feature. A weight of 0 is no weight: blocks of weights are dense,
 * and hold 0 where nothing was learned. The constant feature always has one.
 */
export function isWeightless(id: number, weight: number): boolean {
  return weight === 0 && id !== BIAS_FEATURE
}

/** Feature ids of an example and their values, in any order; an id may come more than once. */
interface Features {
  readonly ids: Uint32Array
  readonly values: Float32Array
}

/**
 * The features in ascending order of id, each id once: the values of an id that comes again are added up, as VW
 * and the hashing of scikit-learn do. The same object where nothing is to be done. A sum may be infinite.
 */
export function mergedFeatures<F extends Features>(features: F): F | Features {
  const { ids, values } = features
  if (ids.length !== values.length || areAscending(ids, ids.length)) return features
  const [ownIds, ownValues] = [ids.slice(), values.slice()]
  const count = mergeFeatures(ownIds, ownValues, ids.length)
  return { ids: ownIds.subarray(0, count), values: ownValues.subarray(0, count) }
}

/** The same in place, for the first `count` elements; returns how many are left. */
export function mergeFeatures(ids: Uint32Array, values: Float32Array, count: number): number {
  if (areAscending(ids, count)) return count
  const order = Array.from({ length: count }, (_, k) => k).sort((a, b) => ids[a]! - ids[b]!)
  const [givenIds, givenValues] = [ids.slice(0, count), values.slice(0, count)]
  let merged = -1
  let sum = 0
  for (const from of order) {
    const id = givenIds[from]!
    const isAgain = merged >= 0 && ids[merged] === id
    sum = isAgain ? sum + givenValues[from]! : givenValues[from]!
    if (!isAgain) ids[++merged] = id
    values[merged] = sum
  }
  return merged + 1
}

/** Whether the first `count` ids rise strictly. */
function areAscending(ids: Uint32Array, count: number): boolean {
  for (let k = 1; k < count; k++) if (ids[k]! <= ids[k - 1]!) return false
  return true
}
