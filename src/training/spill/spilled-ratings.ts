import type { RatingRange } from '../../models/ratings/rating.ts'

/** Ratings of one side in two files, sorted by row of this side, then by row of the other. */
export interface SpilledSide {
  /** Ratings of row r are those from offsets[r] to offsets[r + 1]; in shared memory. */
  readonly offsets: Uint32Array
  /** Mean rating of each row. */
  readonly means: Float64Array
  /** Descriptors of the files of rows of the other side (u32) and of ratings (f32). */
  readonly files: SpilledFiles
}

/** Descriptors of two open files; each thread of the process can read them. */
export interface SpilledFiles {
  readonly indexes: number
  readonly ratings: number
}

/** Ratings in files, with ids, counts and statistics in memory; closing it deletes the files. */
export interface SpilledRatings extends Disposable {
  /** Ids; rows are numbered in the order of their first appearance. */
  readonly users: readonly string[]
  readonly items: readonly string[]
  readonly size: number
  /** Mean, smallest and largest rating. */
  readonly statistics: RatingRange & { readonly mean: number }
  readonly sides: { readonly users: SpilledSide; readonly items: SpilledSide }
}
