import type { Interval } from './intervals.ts'
import { studentQuantile } from './quantiles.ts'

/** Sums of the values of each user, or of each item. */
class ClusterSums {
  private readonly counts: number[] = []
  private readonly sums: number[] = []

  add(cluster: number, value: number): void {
    this.counts[cluster] = (this.counts[cluster] ?? 0) + 1
    this.sums[cluster] = (this.sums[cluster] ?? 0) + value
  }

  /**
   * Sum of the squares of what each cluster's values are above `mean` together, with the factor for few clusters, and
   * their effective number: as many of one size would be known as well.
   */
  spread(mean: number): { readonly squares: number; readonly effective: number } {
    let [clusters, squares, total, sizes] = [0, 0, 0, 0]
    for (const [cluster, count] of this.counts.entries()) {
      if (count === undefined) continue
      clusters++
      squares += ((this.sums[cluster] as number) - count * mean) ** 2
      total += count
      sizes += count * count
    }
    return { squares: (squares * clusters) / (clusters - 1), effective: total ** 2 / sizes }
  }
}

/**
 * Mean of values of pairs of a user and an item, with an interval that is right although pairs of one user, or of one
 * item, resemble each other: cluster-robust in both ways (Cameron, Gelbach and Miller, "Robust inference with multiway
 * clustering", JBES 29, 2011),
 *
 *   variance = of users + of items - of pairs
 *
 * where each is a sum over the clusters of the squared sum of their deviations, and the larger of it and its parts: the
 * difference can fall below them by chance. The quantile is that of Student's t with the effective number of clusters
 * (Carter, Schnepel and Steigerwald, "Asymptotic behavior of a t-test robust to cluster heterogeneity", REStat 99, 2017)
 * less one, of the way that has fewer. A way with one cluster says nothing about others and does not count. Pairs that
 * repeat are taken for different ones, which widens the interval.
 */
export class TwoWayMean {
  private readonly users = new ClusterSums()
  private readonly items = new ClusterSums()
  private count = 0
  private mean = 0
  private squares = 0

  /** Adds the value of a pair; users and items are whole numbers from 0, dense, for they are places in memory. */
  add(value: number, user: number, item: number): void {
    this.count++
    const delta = value - this.mean
    this.mean += delta / this.count
    this.squares += delta * (value - this.mean)
    this.users.add(user, value)
    this.items.add(item, value)
  }

  /** The mean so far with its interval of `coverage`; NaN before the first value, without width before the second. */
  interval(coverage = 0.95): Interval {
    const { count, mean } = this
    if (count === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN }
    if (count === 1) return { mean, low: mean, high: mean }
    const pairs = (this.squares * count) / (count - 1)
    const ways = [this.users.spread(mean), this.items.spread(mean)].filter(
      ({ effective }) => effective > 1,
    )
    const parts = ways.map(({ squares }) => squares)
    const joined = parts.length < 2 ? 0 : parts[0]! + parts[1]! - pairs
    const error = Math.sqrt(Math.max(pairs, joined, ...parts)) / count
    const degrees = Math.min(...ways.map(({ effective }) => effective), count) - 1
    const margin = studentQuantile((1 + coverage) / 2, degrees) * error
    return { mean, low: mean - margin, high: mean + margin }
  }
}
