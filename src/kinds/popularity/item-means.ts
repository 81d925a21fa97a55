import { DEFAULT_DAMPING } from './options.ts'
import { dampedBias } from './train.ts'

/** Ratings of an item so far. */
interface ItemSum {
  sum: number
  count: number
}

/** What the means of items predict. */
export interface DampedMeans {
  readonly of: ReadonlyMap<string, number>
  /** For an item without ratings: the mean of the items. */
  readonly unknown: number
}

/** The means of items from a stream of ratings of any length: a sum for each item is in memory, and no rating. */
export class ItemMeans {
  private readonly sums = new Map<string, ItemSum>()
  private total = 0
  private count = 0

  /** Number of ratings. */
  get size(): number {
    return this.count
  }

  add(_user: string, item: string, rating: number): void {
    const known = this.sums.get(item)
    if (known === undefined) this.sums.set(item, { sum: rating, count: 1 })
    else {
      known.sum += rating
      known.count++
    }
    this.total += rating
    this.count++
  }

  /** The means, as `trainPopularity` has them. There must be a rating. */
  means(damping: number = DEFAULT_DAMPING): DampedMeans {
    const mean = this.total / this.count
    const entries = [...this.sums].map(([item, { sum, count }]) => {
      return [item, mean + dampedBias(sum - count * mean, count, damping)] as const
    })
    const unknown = entries.reduce((sum, [, each]) => sum + each, 0) / entries.length
    return { of: new Map(entries), unknown }
  }
}
