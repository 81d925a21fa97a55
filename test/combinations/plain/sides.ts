import { inverse, type Matrix, matrix, plus, product, times } from './equations.ts'
import type { Publication } from './publication.ts'

/** The suffix of the keys of a side. */
export type Side = 'U' | 'I'

/** A row and what a learner knows of it. */
export interface PlainRow {
  readonly row: Float32Array
  /** Ratings that it stands for: of its training, its publication, and those that it has learned. */
  readonly count: number
  /** Weighed ratings that were learned, and their sums; undefined before the first. Of the rule `gram` only. */
  readonly sums?: Sums | undefined
}

/** What the rule `gram` knows of the ratings of a row: A = sum z z^T, b = sum y z. */
export interface Sums {
  readonly weighed: number
  readonly a: Matrix
  readonly b: readonly number[]
}

/** Makes covariances invertible. */
const RIDGE = 1e-6
/** What a row stands for whose publisher does not count its ratings. */
const UNCOUNTED = 20

/** The rows of one side of a published model, and what rules take from them. */
export class PlainSide {
  readonly side: Side
  /** Columns that the side learns. */
  readonly columns: readonly number[]
  /** The column that is always 1; -1 in rows without biases. */
  readonly constant: number
  /** Number of rows, and the mean row. */
  readonly size: number
  readonly meanRow: Float32Array
  private readonly publication: Publication
  private readonly published: readonly Float32Array[]

  constructor(side: Side, publication: Publication) {
    this.side = side
    this.publication = publication
    this.published = [...publication.rows]
      .filter(([key]) => key.endsWith(`-${side}`))
      .map(([, row]) => row)
    const { length } = this.published[0]!
    const isBiased = publication.marker.biased === true
    this.constant = !isBiased ? -1 : side === 'U' ? length - 1 : length - 2
    const all = Array.from({ length }, (_, column) => column)
    this.columns = all.filter((column) => column !== this.constant)
    this.size = this.published.length
    this.meanRow = Float32Array.from(all, (column) => this.meanOf((row) => row[column]!))
    if (this.constant >= 0) this.meanRow[this.constant] = 1
  }

  /** A row as it was published, or the mean row. */
  first(key: string): PlainRow {
    const row = this.publication.rows.get(key)
    if (row === undefined) return { row: this.meanRow, count: 0 }
    // The publication of a row counts as a rating.
    return { row, count: 1 + this.evidenceOf(key) }
  }

  /** The ratings that a published row was trained on; 0 for a new row. */
  evidenceOf(key: string): number {
    if (!this.publication.rows.has(key)) return 0
    return this.publication.ratings.get(key) ?? UNCOUNTED
  }

  /** The mean of z z^T over the rows, in some columns. */
  products(columns: readonly number[]): Matrix {
    return matrix(columns.length, (i, j) =>
      this.meanOf((row) => row[columns[i]!]! * row[columns[j]!]!),
    )
  }

  /** The prior of a row: its precision, noise times the inverse of the covariance, and precision times mean. */
  prior(noise: number): { readonly precision: Matrix; readonly shift: readonly number[] } {
    const { columns } = this
    const means = columns.map((column) => this.meanOf((row) => row[column]!))
    const covariance = plus(
      this.products(columns),
      matrix(columns.length, (i, j) => (i === j ? RIDGE : 0) - means[i]! * means[j]!),
    )
    const precision = times(inverse(covariance), noise)
    return { precision, shift: product(precision, means) }
  }

  /** The learned columns of a row. */
  learned(row: Float32Array): number[] {
    return this.columns.map((column) => row[column]!)
  }

  /** A row with other values in its learned columns. */
  withLearned(row: Float32Array, values: readonly number[]): Float32Array {
    const next = row.slice()
    for (const [n, column] of this.columns.entries()) next[column] = values[n]!
    return next
  }

  private meanOf(value: (row: Float32Array) => number): number {
    return this.published.reduce((sum, row) => sum + value(row), 0) / this.size
  }
}
