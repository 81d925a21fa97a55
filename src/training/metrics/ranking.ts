import { WeirError } from '../../core/errors.ts'
import { RunningMean } from '../../models/quality/intervals.ts'

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
  /** Share of relevant items in the list. */
  readonly precision: MeanEstimate
  /** Share of the relevant items that are in the list. */
  readonly recall: MeanEstimate
  /**
   * Discounted gain, the sum of 1 / log2(rank + 1) over relevant items of the list, divided by that of
   * the best possible list (Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques",
   * 2002, with gains 0 and 1).
   */
  readonly ndcg: MeanEstimate
  /**
   * Average precision: the mean of the precisions at the ranks of the relevant items of the list, where those
   * that the list misses count as 0; at most k relevant items count. Its mean over users is MAP at k.
   */
  readonly map: MeanEstimate
  /** Number of different items in all lists. */
  readonly distinctItems: number
  /** Their share of the catalogue; undefined where the size of the catalogue is not known. */
  readonly coverage?: number
  /**
   * Mean over the lists of -log2 of the share of training users who rated an item (Zhou et al., "Solving the
   * apparent diversity-accuracy dilemma of recommender systems", 2010), in bits; an item without raters
   * counts as one with one. Undefined where the training ratings are not known.
   */
  readonly novelty?: MeanEstimate
}

/** What is known about the items that are ranked. */
export interface RankedCatalogue<T> {
  /** Number of items that could be recommended. */
  readonly items?: number | undefined
  /** Number of training users, and of those who rated each item. */
  readonly raters?: { readonly users: number; readonly of: ReadonlyMap<T, number> } | undefined
}

/** Streaming metrics of lists at k. */
export class RankingAccumulator<T> {
  private readonly k: number
  private users = 0
  private readonly precision = new RunningMean()
  private readonly recall = new RunningMean()
  private readonly ndcg = new RunningMean()
  private readonly averagePrecision = new RunningMean()
  private readonly novelty = new RunningMean()
  private readonly catalogue: RankedCatalogue<T>
  private readonly recommended = new Set<T>()

  /** `k`: length of the lists, from 1. */
  constructor(k: number, catalogue: RankedCatalogue<T> = {}) {
    this.k = k
    this.catalogue = catalogue
  }

  /** Adds a list, best item first, with the relevant items of its user; ignored if there are none. */
  add(list: readonly T[], relevant: ReadonlySet<T>): void {
    if (relevant.size === 0) return
    let hits = 0
    let gain = 0
    let ideal = 0
    let precisions = 0
    for (let rank = 1; rank <= this.k; rank++) {
      const discounted = 1 / Math.log2(rank + 1)
      if (rank <= relevant.size) ideal += discounted
      if (rank > list.length || !relevant.has(list[rank - 1] as T)) continue
      hits++
      precisions += hits / rank
      gain += discounted
    }
    this.users++
    this.precision.add(hits / this.k)
    this.recall.add(hits / relevant.size)
    this.ndcg.add(gain / ideal)
    this.averagePrecision.add(precisions / Math.min(this.k, relevant.size))
    this.addItems(list.slice(0, this.k))
  }

  /** Counts the items of a list, and how few users know them. */
  private addItems(list: readonly T[]): void {
    const { raters } = this.catalogue
    let bits = 0
    for (const item of list) {
      this.recommended.add(item)
      if (raters === undefined) continue
      bits -= Math.log2(Math.max(1, raters.of.get(item) ?? 0) / Math.max(1, raters.users))
    }
    if (raters !== undefined && list.length > 0) this.novelty.add(bits / list.length)
  }

  /** Means so far. Throws EMPTY_DATASET before the first list. */
  summary(): RankingSummary {
    if (this.users === 0) {
      throw new WeirError('EMPTY_DATASET', 'no list was evaluated; no test user has relevant items')
    }
    const { items, raters } = this.catalogue
    return {
      k: this.k,
      users: this.users,
      precision: this.precision.interval(),
      recall: this.recall.interval(),
      ndcg: this.ndcg.interval(),
      map: this.averagePrecision.interval(),
      distinctItems: this.recommended.size,
      ...(items === undefined || items === 0 ? {} : { coverage: this.recommended.size / items }),
      ...(raters === undefined ? {} : { novelty: this.novelty.interval() }),
    }
  }
}
