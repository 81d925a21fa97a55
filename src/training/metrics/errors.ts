import { WeirError } from '../../core/errors.ts'
import { QUANTILE_95 } from '../../models/quality/intervals.ts'

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
  /** 95 % confidence interval of the RMSE: normal approximation on the mean of squared errors. */
  readonly rmseLow: number
  readonly rmseHigh: number
  /** 95 % confidence interval of the MAE: normal approximation on the mean of absolute errors. */
  readonly maeLow: number
  readonly maeHigh: number
  readonly coverage: CoverageCounts
  /** MSE of each kind of pair; 0 if there are none. */
  readonly mseByCoverage: CoverageCounts
}

const KINDS: readonly PairCoverage[] = ['known', 'coldUser', 'coldItem', 'coldBoth']

/**
 * Streaming squared and absolute errors. No pair is dropped: a pair without rows is scored with mean
 * rows and counted as cold. The variance uses Welford's update. Accumulators of parts can be merged.
 */
export class ErrorAccumulator {
  private count = 0
  private meanSquare = 0
  private squareDeviation = 0
  private absolute = 0
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
  add(rating: number, score: number, coverage: PairCoverage): void {
    const error = rating - score
    if (!Number.isFinite(error)) {
      throw new WeirError('NOT_FINITE', `rating ${rating} was scored ${score}`)
    }
    const square = error * error
    this.count++
    const delta = square - this.meanSquare
    this.meanSquare += delta / this.count
    this.squareDeviation += delta * (square - this.meanSquare)
    this.absolute += Math.abs(error)
    this.counts[coverage]++
    this.squares[coverage] += square
  }

  /** Adds the pairs of `other` (rule of Chan, Golub and LeVeque). */
  merge(other: ErrorAccumulator): void {
    const count = this.count + other.count
    if (other.count === 0) return
    const delta = other.meanSquare - this.meanSquare
    this.squareDeviation +=
      other.squareDeviation + (delta * delta * this.count * other.count) / count
    this.meanSquare += (delta * other.count) / count
    this.count = count
    this.absolute += other.absolute
    for (const kind of KINDS) {
      this.counts[kind] += other.counts[kind]
      this.squares[kind] += other.squares[kind]
    }
  }

  /** Errors so far. Throws EMPTY_DATASET before the first pair. */
  summary(): ErrorSummary {
    if (this.count === 0) {
      throw new WeirError('EMPTY_DATASET', 'no rating was evaluated; check the test file')
    }
    const mse = this.meanSquare
    const deviation = Math.sqrt(this.squareDeviation / Math.max(1, this.count - 1))
    const margin = (QUANTILE_95 * deviation) / Math.sqrt(this.count)
    const mae = this.absolute / this.count
    // The variance of absolute errors is the mean of squares minus the square of the mean.
    const maeMargin = QUANTILE_95 * Math.sqrt(Math.max(0, mse - mae * mae) / this.count)
    const mseOf = (kind: PairCoverage): number =>
      this.counts[kind] === 0 ? 0 : this.squares[kind] / this.counts[kind]
    return {
      count: this.count,
      mse,
      rmse: Math.sqrt(mse),
      mae,
      maeLow: mae - maeMargin,
      maeHigh: mae + maeMargin,
      rmseLow: Math.sqrt(Math.max(0, mse - margin)),
      rmseHigh: Math.sqrt(mse + margin),
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
