import type { Publication } from './publication.ts'
import type { PlainRating, PlainRule, PlainStep } from './rule.ts'
import { type PlainRow, PlainSide } from './sides.ts'

/** Ratings of the mean of all that the mean of an item begins with. */
const DAMPING = 5

/** The mean of each item, without the mean of all, which a publication says. */
export class PlainPopularity implements PlainRule {
  readonly users: PlainSide
  readonly items: PlainSide
  readonly showsItem = true
  private readonly mean: number

  constructor(publication: Publication) {
    this.users = new PlainSide('U', publication)
    this.items = new PlainSide('I', publication)
    this.mean = publication.marker.globalMean!
  }

  step({ user, rating }: PlainRating): PlainStep {
    return {
      user: { row: Float32Array.of(this.mean, 1), count: user.count + 1 },
      delta: [rating - this.mean, 0],
    }
  }

  fold({ row, count }: PlainRow, key: string, [above]: readonly number[]): PlainRow {
    // That a row was published counts as one of its ratings.
    const ratings = this.items.evidenceOf(key) > 0 ? count - 1 : count
    const before = ratings === 0 ? 0 : row[1]!
    const next = (before * (ratings + DAMPING) + above!) / (ratings + DAMPING + 1)
    return { row: Float32Array.of(1, next), count: count + 1 }
  }
}
