import type { AlsSide } from '../../als/solver/sides.ts'
import type { FeatureTable } from '../../data/feature-table.ts'
import type { RatingsTable } from '../../data/ratings-table.ts'

/**
 * Features of the rows of a side, by feature: a sparse matrix `[rows x features]` in columns. The weights of a block share
 * one prior.
 */
export interface FeatureBlock {
  /** Entries of feature j are those from offsets[j] to offsets[j + 1]. */
  readonly offsets: Uint32Array
  /** The row and the value of each entry. */
  readonly rows: Uint32Array
  readonly values: Float32Array
}

/**
 * Who rated what: feature j of a row is 1 / sqrt(n) where the row, which has n ratings, was rated with row j of the other side.
 * The block of the users and that of the items together make the model of "SVD++ flipped" (Rendle, Zhang and Koren, "On
 * the difficulty of evaluating baselines", 2019).
 */
export function ratedWith(own: AlsSide, other: AlsSide): FeatureBlock {
  const { offsets } = own
  const values = Float32Array.from(
    other.indexes,
    (row) => 1 / Math.sqrt(offsets[row + 1]! - offsets[row]!),
  )
  return { offsets: other.offsets, rows: other.indexes, values }
}

/** Number of features of a block. */
export function featuresOf({ offsets }: FeatureBlock): number {
  return offsets.length - 1
}

/** The features of a table, for rows with these ids. */
export function tableBlock(table: FeatureTable, ids: readonly string[]): FeatureBlock {
  const rowOf = new Map(ids.map((id, row) => [id, row]))
  const entries: [feature: number, row: number, value: number][] = []
  for (const [at, id] of table.ids.entries()) {
    const row = rowOf.get(id)
    if (row === undefined) continue
    for (let k = table.offsets[at]!; k < table.offsets[at + 1]!; k++) {
      entries.push([table.features[k]!, row, table.values[k]!])
    }
  }
  entries.sort(([a, x], [b, y]) => a - b || x - y)
  const offsets = new Uint32Array(table.names.length + 1)
  for (const [feature] of entries) offsets[feature + 1]!++
  for (let feature = 0; feature < table.names.length; feature++) {
    offsets[feature + 1]! += offsets[feature]!
  }
  return {
    offsets,
    rows: Uint32Array.from(entries, ([, row]) => row),
    values: Float32Array.from(entries, ([, , value]) => value),
  }
}

/** A table of ratings that also has the ids of features, behind its own: they get a row from their features. */
export function withFeatureIds(
  table: RatingsTable,
  { userFeatures, itemFeatures }: TableFeatures,
): RatingsTable {
  return {
    ...table,
    users: joinedIds(table.users, userFeatures),
    items: joinedIds(table.items, itemFeatures),
  }
}

/** Features of both sides. */
export interface TableFeatures {
  readonly userFeatures?: FeatureTable | undefined
  readonly itemFeatures?: FeatureTable | undefined
}

function joinedIds(ids: readonly string[], features: FeatureTable | undefined): readonly string[] {
  if (features === undefined) return ids
  return [...new Set([...ids, ...features.ids])]
}
