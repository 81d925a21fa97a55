import { WeirError } from '../core/errors.ts'

/** A mean with its 95 % confidence interval (normal approximation). */
export interface MeanEstimate {
  readonly mean: number
  readonly low: number
  readonly high: number
}

/** Quality of top-k lists, each a mean over users. */
export interface RankingSummary {
  readonly k: number
  readonly users: number
  /** Share of the list that is relevant. */
  readonly precision: MeanEstimate
  /** Share of what is relevant that is in the list. */
  readonly recall: MeanEstimate
  /**
   * Discounted gain sum of 1 / log2(rank + 1) over relevant items of the list, over that of the best
   * possible list (Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques",
   * 2002, with gains 0 and 1).
   */
  readonly ndcg: MeanEstimate
}

/** Two-sided 95 % quantile of the normal distribution. */
const QUANTILE_95 = 1.959964

/** Mean and variance of a stream by Welford's update. */
export class RunningMean {
  private count = 0
  private mean = 0
  private squareDeviation = 0

  add(value: number): void {
    this.count++
    const delta = value - this.mean
    this.mean += delta / this.count
    this.squareDeviation += delta * (value - this.mean)
  }

  estimate(): MeanEstimate {
    const deviation = Math.sqrt(this.squareDeviation / Math.max(1, this.count - 1))
    const margin = (QUANTILE_95 * deviation) / Math.sqrt(Math.max(1, this.count))
    return { mean: this.mean, low: this.mean - margin, high: this.mean + margin }
  }
}

/** Streaming precision, recall and NDCG at k; one list at a time. */
export class RankingAccumulator {
  private readonly k: number
  private users = 0
  private readonly precision = new RunningMean()
  private readonly recall = new RunningMean()
  private readonly ndcg = new RunningMean()

  /** `k` is the length of the lists, from 1. */
  constructor(k: number) {
    this.k = k
  }

  /** Adds a list, best first, with what is relevant; a user to whom nothing is relevant counts not. */
  add<T>(list: readonly T[], relevant: ReadonlySet<T>): void {
    if (relevant.size === 0) return
    let hits = 0
    let gain = 0
    let ideal = 0
    for (let rank = 1; rank <= this.k; rank++) {
      const discounted = 1 / Math.log2(rank + 1)
      if (rank <= relevant.size) ideal += discounted
      if (rank > list.length || !relevant.has(list[rank - 1] as T)) continue
      hits++
      gain += discounted
    }
    this.users++
    this.precision.add(hits / this.k)
    this.recall.add(hits / relevant.size)
    this.ndcg.add(gain / ideal)
  }

  /** Means so far. Throws EMPTY_DATASET before the first list. */
  summary(): RankingSummary {
    if (this.users === 0) {
      throw new WeirError('EMPTY_DATASET', 'no list was evaluated; no test user has relevant items')
    }
    return {
      k: this.k,
      users: this.users,
      precision: this.precision.estimate(),
      recall: this.recall.estimate(),
      ndcg: this.ndcg.estimate(),
    }
  }
}
