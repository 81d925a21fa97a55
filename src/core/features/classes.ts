/**
 * Places of the weights of a model of several classes, one against the rest: the weight of feature f for the class at place
 * c of `labels` has the id c x stride + f. Where classes have intercepts, the last of each stride is that of the constant
 * feature.
 */
export interface LinearClasses {
  /** In ascending order. */
  readonly labels: readonly number[]
  /** Features of the model; ids are below it. */
  readonly features: number
  readonly stride: number
}

/** Sparse features with their values. */
interface Features {
  readonly ids: Uint32Array
  readonly values: Float32Array
}

/** The hyperparameters of a version, as far as they say what its classes are. */
type Settings = Readonly<Record<string, unknown>>

/** The classes of a version, as its hyperparameters say them; undefined for a model of two labels. */
export function classesOf({
  classes,
  classFeatures,
  classStride,
}: Settings): LinearClasses | undefined {
  if (typeof classes !== 'string') return undefined
  if (typeof classFeatures !== 'number' || typeof classStride !== 'number') return undefined
  return { labels: classes.split(',').map(Number), features: classFeatures, stride: classStride }
}

/** The hyperparameters from which `classesOf` makes the same classes. */
export function classParameters(classes: LinearClasses | undefined): {
  readonly classes?: string
  readonly classFeatures?: number
  readonly classStride?: number
} {
  if (classes === undefined) return {}
  const { labels, features: classFeatures, stride: classStride } = classes
  return { classes: labels.join(','), classFeatures, classStride }
}

/** An example as each class sees it: products with the weights are the scores of the classes. */
export interface ClassVectors {
  readonly vectors: readonly Features[]
  /** Features that no class has a weight for, because their ids are too large. */
  readonly beyond: number
}

/** The features of an example, with the ids that the weights of each class have, and the constant feature. */
export function classVectors({ ids, values }: Features, classes: LinearClasses): ClassVectors {
  const { labels, features, stride } = classes
  const known = [...ids.keys()].filter((k) => ids[k]! < features)
  const size = known.length + (stride > features ? 1 : 0)
  const ownValues = new Float32Array(size).fill(1)
  for (const [i, k] of known.entries()) ownValues[i] = values[k]!
  const vectors = labels.map((_, place) => {
    const own = new Uint32Array(size).fill(place * stride + features)
    for (const [i, k] of known.entries()) own[i] = place * stride + ids[k]!
    return { ids: own, values: ownValues }
  })
  return { vectors, beyond: ids.length - known.length }
}

/** Place of the largest score, the first one of those that are alike. */
export function bestClass(scores: ArrayLike<number>): number {
  let best = 0
  for (let c = 1; c < scores.length; c++) if (scores[c]! > scores[best]!) best = c
  return best
}
