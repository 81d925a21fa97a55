import { type Matrix, matrix, plus, product, solved, times } from './equations.ts'
import type { Publication } from './publication.ts'
import {
  newcomersWeight,
  newness,
  type PlainRating,
  type PlainRule,
  type PlainStep,
} from './rule.ts'
import { type PlainRow, PlainSide, type Side, type Sums } from './sides.ts'

/** Ratings that those of newcomers weigh at most in an item's row. */
const NEWCOMERS = 100

/**
 * Ridge regression of each row on all its ratings, around the mean of the published rows with their covariance. A
 * published row begins with the sums of as many average ratings as it was trained on, whose solution it is.
 */
export class PlainGram implements PlainRule {
  readonly users: PlainSide
  readonly items: PlainSide
  readonly showsItem = false
  private readonly priors: Readonly<Record<Side, ReturnType<PlainSide['prior']>>>
  /** By side, the average z z^T of a rating. */
  private readonly regressors: Readonly<Record<Side, Matrix>>

  constructor(publication: Publication) {
    const users = new PlainSide('U', publication)
    const items = new PlainSide('I', publication)
    this.users = users
    this.items = items
    const noise = noiseOf(publication)
    this.priors = { U: users.prior(noise), I: items.prior(noise) }
    this.regressors = {
      U: items.products(users.columns),
      I: users.products(items.columns),
    }
  }

  step({ userKey, user, item, rating }: PlainRating): PlainStep {
    const begun = this.begun(this.users, user, userKey)
    // A user's ratings fade by 0.99 with each new one.
    const next = this.observed(this.users, begun, item.row, { rating, fading: 0.99, part: 0 })
    return { user: next, delta: [...user.row, rating, newness(user.count)] }
  }

  fold(item: PlainRow, key: string, delta: readonly number[]): PlainRow {
    const length = item.row.length
    const other = Float32Array.from(delta.slice(0, length))
    const [rating, part] = delta.slice(length) as [number, number]
    const begun = this.begun(this.items, item, key)
    return this.observed(this.items, begun, other, { rating, fading: 1, part })
  }

  /** A row with the sums of its training. */
  private begun(side: PlainSide, row: PlainRow, key: string): PlainRow {
    if (row.sums !== undefined) return row
    const evidence = side.evidenceOf(key)
    const n = side.columns.length
    if (evidence === 0) {
      const nothing = { weighed: 0, a: matrix(n, () => 0), b: new Array<number>(n).fill(0) }
      return { ...row, sums: nothing }
    }
    const { precision, shift } = this.priorOf(side, row.count)
    const a = times(this.regressors[side.side], evidence)
    const wanted = product(plus(precision, a), side.learned(row.row))
    return { ...row, sums: { weighed: 0, a, b: wanted.map((x, i) => x - shift[i]!) } }
  }

  /** The prior of a row with so many ratings: those of a new user have more noise. */
  private priorOf(side: PlainSide, count: number): ReturnType<PlainSide['prior']> {
    const { precision, shift } = this.priors[side.side]
    const noise = side.side === 'U' ? 1 + 10 / (1 + count / 4) : 1
    return { precision: times(precision, noise), shift: shift.map((x) => noise * x) }
  }

  private observed(
    side: PlainSide,
    { row, count, sums }: PlainRow,
    other: Float32Array,
    { rating, fading, part }: { rating: number; fading: number; part: number },
  ): PlainRow {
    const { weighed, a, b } = sums!
    const { precision, shift } = this.priorOf(side, count)
    const z = side.learned(other)
    const { constant } = side
    const y = constant < 0 ? rating : rating - row[constant]! * other[constant]!
    const w = newcomersWeight(part, weighed, NEWCOMERS)
    const next: Sums = {
      weighed: fading * weighed + part,
      a: matrix(z.length, (i, j) => fading * a[i]![j]! + w * z[i]! * z[j]!),
      b: b.map((x, i) => fading * x + w * y * z[i]!),
    }
    const solution = solved(
      plus(precision, next.a),
      next.b.map((x, i) => x + shift[i]!),
    )
    return { row: side.withLearned(row, solution), count: count + 1, sums: next }
  }
}

/** The noise of a rating: the squared error of the training, at least that of a twentieth of the range of ratings. */
function noiseOf({ marker }: Publication): number {
  const { minRating, maxRating, metrics } = marker
  const error = metrics?.['trainRmse']
  if (error === undefined || typeof minRating !== 'number' || typeof maxRating !== 'number') {
    return 0.5
  }
  return Math.max(error, (maxRating - minRating) / 20) ** 2
}
