import { requireArgument } from '../../../core/errors.ts'
import { oneOf, text, wholeNumber } from '../../../core/options/kinds.ts'
import { checkArgument } from '../../../core/options/shape.ts'
import { BIAS_COLUMNS, predictRating } from '../../../models/als/row.ts'
import type { AlsRowKind } from '../../../models/als/row-key.ts'
import type { RatingRange } from '../../../models/ratings/rating.ts'
import { clipRating } from '../../../models/ratings/rating.ts'
import type { PairCoverage } from '../../metrics/errors.ts'
import type { AlsProgress } from './options.ts'

/** A scored pair. */
export interface ScoredPair {
  /** Clipped into the range of the training ratings. */
  readonly score: number
  readonly coverage: PairCoverage
}

/** Parts of a trained model. */
export interface AlsModelParts {
  readonly users: readonly string[]
  readonly items: readonly string[]
  /** Row-major, `dimension` floats a row. */
  readonly userRows: Float32Array
  readonly itemRows: Float32Array
  /** Number of ratings that each row was trained on, if known. */
  readonly userRatings?: Uint32Array
  readonly itemRatings?: Uint32Array
  readonly factors: number
  readonly biased: boolean
  readonly globalMean: number
  readonly range: RatingRange
  readonly history: readonly AlsProgress[]
}

const KIND = oneOf<AlsRowKind>('U', 'I')
const INDEX = wholeNumber({ min: 0 })

/** A trained model: served rows (`models/als/row.ts`) by number and by id. */
export class AlsModel {
  readonly users: readonly string[]
  readonly items: readonly string[]
  readonly factors: number
  readonly biased: boolean
  /** Floats of a served row: the factors, and with biases two more. */
  readonly dimension: number
  readonly globalMean: number
  readonly range: RatingRange
  /** Mean rows, for ids without a row. */
  readonly meanUser: Float32Array
  readonly meanItem: Float32Array
  /** One entry per half iteration. */
  readonly history: readonly AlsProgress[]
  private readonly rows: Readonly<Record<AlsRowKind, Float32Array>>
  private readonly ratings: Readonly<Record<AlsRowKind, Uint32Array | undefined>>
  private numbers: Readonly<Record<AlsRowKind, ReadonlyMap<string, number>>> | undefined

  constructor(parts: AlsModelParts) {
    this.users = parts.users
    this.items = parts.items
    this.factors = parts.factors
    this.biased = parts.biased
    this.dimension = parts.factors + (parts.biased ? BIAS_COLUMNS : 0)
    this.globalMean = parts.globalMean
    this.range = parts.range
    this.history = parts.history
    this.ratings = { U: parts.userRatings, I: parts.itemRatings }
    this.rows = { U: parts.userRows, I: parts.itemRows }
    this.meanUser = columnMeans(parts.userRows, this.dimension)
    this.meanItem = columnMeans(parts.itemRows, this.dimension)
  }

  /** Row number `index` of a kind, in the order of `users` or `items`: a view, not a copy. */
  row(kind: AlsRowKind, index: number): Float32Array {
    requirePlace('row', kind, index)
    const start = index * this.dimension
    requireArgument(start < this.rows[kind].length, `there is no row ${index} of kind ${kind}`)
    return this.rows[kind].subarray(start, start + this.dimension)
  }

  /** Number of ratings that row `index` was trained on; undefined if unknown. */
  ratingsOf(kind: AlsRowKind, index: number): number | undefined {
    requirePlace('ratingsOf', kind, index)
    return this.ratings[kind]?.[index]
  }

  /** The row of an id; undefined if the training ratings do not have it. */
  rowOf(kind: AlsRowKind, id: string): Float32Array | undefined {
    checkArgument('model.rowOf', 'kind', KIND, kind)
    // An id that is a number would be one without a row.
    checkArgument('model.rowOf', 'id', text, id)
    this.numbers ??= { U: numbered(this.users), I: numbered(this.items) }
    const index = this.numbers[kind].get(id)
    return index === undefined ? undefined : this.row(kind, index)
  }

  /** Score of a pair; unknown ids are scored with mean rows. */
  predict(user: string, item: string): ScoredPair {
    const userRow = this.rowOf('U', user)
    const itemRow = this.rowOf('I', item)
    const score = predictRating(userRow ?? this.meanUser, itemRow ?? this.meanItem)
    return { score: clipRating(score, this.range), coverage: coverageOf(userRow, itemRow) }
  }
}

function requirePlace(call: string, kind: unknown, index: unknown): void {
  checkArgument(`model.${call}`, 'kind', KIND, kind)
  checkArgument(`model.${call}`, 'index', INDEX, index)
}

/** Coverage of a pair by its two rows, undefined where one is missing. */
export function coverageOf(userRow: unknown, itemRow: unknown): PairCoverage {
  if (userRow === undefined) return itemRow === undefined ? 'coldBoth' : 'coldUser'
  return itemRow === undefined ? 'coldItem' : 'known'
}

function numbered(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map(ids.map((id, index) => [id, index]))
}

function columnMeans(rows: Float32Array, dimension: number): Float32Array {
  const sums = new Float64Array(dimension)
  for (let start = 0; start < rows.length; start += dimension) {
    for (let i = 0; i < dimension; i++) {
      sums[i] = (sums[i] as number) + (rows[start + i] as number)
    }
  }
  const count = Math.max(1, rows.length / dimension)
  return Float32Array.from(sums, (sum) => sum / count)
}
