import { WeirError } from '../../core/errors.ts'
import { TwoWayMean } from '../../models/quality/two-way-mean.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { IdNumbers } from '../data/id-numbers.ts'

/** Whether user and item of a pair have rows; mean rows replace those of cold ones. */
export type PairCoverage = 'known' | 'coldUser' | 'coldItem' | 'coldBoth'

/** Number of pairs of each coverage. */
export type CoverageCounts = Readonly<Record<PairCoverage, number>>

/** Errors over a set of ratings. */
export interface ErrorSummary {
  readonly count: number
  readonly mse: number
  readonly rmse: number
  readonly mae: number
  /** 95 % confidence interval of the RMSE: the roots of that of the mean of squared errors (`TwoWayMean`). */
  readonly rmseLow: number
  readonly rmseHigh: number
  /** 95 % confidence interval of the MAE (`TwoWayMean`). */
  readonly maeLow: number
  readonly maeHigh: number
  readonly coverage: CoverageCounts
  /** MSE of each kind of pair; 0 if there are none. */
  readonly mseByCoverage: CoverageCounts
}

/** A rating of an item by a user. */
export type RatedPair = Pick<Rating, 'user' | 'item' | 'rating'>

/**
 * Streaming squared and absolute errors. No pair is dropped: a pair without rows is scored with mean
 * rows and counted as cold. Memory: some hundred bytes for each user and item, for the intervals.
 */
export class ErrorAccumulator {
  private count = 0
  private readonly users = new IdNumbers()
  private readonly items = new IdNumbers()
  private readonly square = new TwoWayMean()
  private readonly absolute = new TwoWayMean()
  private readonly counts: Record<PairCoverage, number> = {
    known: 0,
    coldUser: 0,
    coldItem: 0,
    coldBoth: 0,
  }
  private readonly squares: Record<PairCoverage, number> = {
    known: 0,
    coldUser: 0,
    coldItem: 0,
    coldBoth: 0,
  }

  /** Adds a pair. Throws NOT_FINITE, which keeps the sums valid. */
  add({ user, item, rating }: RatedPair, score: number, coverage: PairCoverage): void {
    const error = rating - score
    if (!Number.isFinite(error)) {
      throw new WeirError('NOT_FINITE', `rating ${rating} was scored ${score}`)
    }
    const square = error * error
    this.count++
    const [ofUser, ofItem] = [this.users.of(user), this.items.of(item)]
    this.square.add(square, ofUser, ofItem)
    this.absolute.add(Math.abs(error), ofUser, ofItem)
    this.counts[coverage]++
    this.squares[coverage] += square
  }

  /** Pairs so far. */
  get size(): number {
    return this.count
  }

  /** Errors so far. Throws EMPTY_DATASET before the first pair. */
  summary(): ErrorSummary {
    if (this.count === 0) {
      throw new WeirError('EMPTY_DATASET', 'no rating was evaluated; check the test file')
    }
    const square = this.square.interval()
    const absolute = this.absolute.interval()
    const mseOf = (kind: PairCoverage): number =>
      this.counts[kind] === 0 ? 0 : this.squares[kind] / this.counts[kind]
    return {
      count: this.count,
      mse: square.mean,
      rmse: Math.sqrt(square.mean),
      mae: absolute.mean,
      maeLow: Math.max(0, absolute.low),
      maeHigh: absolute.high,
      rmseLow: Math.sqrt(Math.max(0, square.low)),
      rmseHigh: Math.sqrt(square.high),
      coverage: { ...this.counts },
      mseByCoverage: {
        known: mseOf('known'),
        coldUser: mseOf('coldUser'),
        coldItem: mseOf('coldItem'),
        coldBoth: mseOf('coldBoth'),
      },
    }
  }
}
