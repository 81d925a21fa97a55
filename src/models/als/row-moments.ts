import { requireArgument, WeirError } from '../../core/errors.ts'
import { packedLength } from './small-symmetric.ts'

/**
 * Count, mean and second moments of the rows of one side of a model: new rows start from the mean, and rules
 * with Gram matrices take their prior from the moments. Sums are float64; parts can be merged.
 */
export class RowMoments {
  readonly dimension: number
  private rows = 0
  private readonly sums: Float64Array
  private readonly products: Float64Array

  /** `meanOnly`: without second moments. */
  constructor(dimension: number, meanOnly = false) {
    this.dimension = dimension
    this.sums = new Float64Array(dimension)
    this.products = new Float64Array(meanOnly ? 0 : packedLength(dimension))
  }

  /** Whether second moments are known. */
  get hasProducts(): boolean {
    return this.products.length > 0
  }

  /** Rows added so far. */
  get count(): number {
    return this.rows
  }

  add(row: ArrayLike<number>): void {
    const { sums, products, dimension } = this
    this.rows++
    if (!this.hasProducts) {
      for (let i = 0; i < dimension; i++) sums[i]! += row[i]!
      return
    }
    for (let i = 0, at = 0; i < dimension; i++) {
      const x = row[i]!
      sums[i]! += x
      for (let j = 0; j <= i; j++) products[at++]! += x * row[j]!
    }
  }

  /** Adds rows of which only count and sums are known: second moments are wrong afterwards. */
  addSums(count: number, sums: Float64Array): void {
    for (let i = 0; i < sums.length; i++) this.sums[i]! += sums[i]!
    this.rows += count
  }

  /** Adds the rows of another one. */
  merge(other: RowMoments): void {
    requireArgument(
      other.dimension === this.dimension && other.hasProducts === this.hasProducts,
      'only moments of the same dimension and kind can be merged',
    )
    for (let i = 0; i < this.sums.length; i++) this.sums[i]! += other.sums[i]!
    for (let i = 0; i < this.products.length; i++) this.products[i]! += other.products[i]!
    this.rows += other.rows
  }

  /** [dimension]; zero without rows. */
  mean(): Float64Array {
    return this.sums.map((sum) => (this.rows === 0 ? 0 : sum / this.rows))
  }

  /** Mean of x_i x_j over the given columns, packed. */
  secondMoments(columns: ArrayLike<number>): Float64Array {
    requireArgument(this.hasProducts, 'only the mean of these rows is known')
    const n = columns.length
    const packed = new Float64Array(packedLength(n))
    for (let i = 0, at = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        const sum = this.products[packedLength(columns[i]!) + columns[j]!]!
        packed[at++] = this.rows === 0 ? 0 : sum / this.rows
      }
    }
    return packed
  }

  /** Covariance of the given columns, packed. */
  covariance(columns: ArrayLike<number>): Float64Array {
    const packed = this.secondMoments(columns)
    const mean = this.mean()
    for (let i = 0, at = 0; i < columns.length; i++) {
      for (let j = 0; j <= i; j++) packed[at++]! -= mean[columns[i]!]! * mean[columns[j]!]!
    }
    return packed
  }

  /** All sums, for storing or sending; `decode` reads them. */
  encode(): Float64Array {
    return Float64Array.of(this.dimension, this.rows, ...this.sums, ...this.products)
  }

  static decode(numbers: Float64Array): RowMoments {
    const [dimension = 0, rows = 0] = numbers
    const meanOnly = numbers.length === 2 + dimension
    if (!meanOnly && numbers.length !== 2 + dimension + packedLength(dimension)) {
      throw new WeirError('MALFORMED_DATA', `row moments of ${numbers.length} numbers`)
    }
    const moments = new RowMoments(dimension, meanOnly)
    moments.rows = rows
    moments.sums.set(numbers.subarray(2, 2 + dimension))
    moments.products.set(numbers.subarray(2 + dimension))
    return moments
  }
}
