import { inverse, matrix, plus, product, times } from './equations.ts'
import type { Publication } from './publication.ts'
import {
  dotOf,
  newcomersWeight,
  newness,
  type PlainRating,
  type PlainRule,
  type PlainStep,
} from './rule.ts'
import { type PlainRow, PlainSide, type Side } from './sides.ts'

/** Ratings that those of newcomers weigh at most in an item's row. */
const NEWCOMERS = 100

/**
 * Fold-in of uses: each row moves along (Gram matrix of the other side + prior)^-1 z, so that the score goes part of the
 * way to 1, by both steps together no further.
 */
export class PlainFoldIn implements PlainRule {
  readonly users: PlainSide
  readonly items: PlainSide
  readonly showsItem = true
  /** By side, (Gram matrix + prior)^-1. */
  private readonly inverses: Readonly<Record<Side, number[][]>>

  constructor(publication: Publication) {
    const users = new PlainSide('U', publication)
    const items = new PlainSide('I', publication)
    this.users = users
    this.items = items
    const inverseOf = (side: PlainSide, other: PlainSide): number[][] => {
      const { columns } = side
      const gram = times(other.products(columns), other.size)
      const ridge = matrix(columns.length, (i, j) => (i === j ? 1e-6 : 0))
      return inverse(plus(plus(gram, side.prior(0.05).precision), ridge))
    }
    this.inverses = { U: inverseOf(users, items), I: inverseOf(items, users) }
  }

  step({ user, item, rating }: PlainRating): PlainStep {
    const score = dotOf(user.row, item.row)
    const from = user.count > 0 && item.count > 0 ? score : 0.5
    const share = rating / (1 + rating)
    const move = from < 1 ? from + share * (1 - Math.max(0, from)) - score : 0
    const ofUser = this.move(this.users, item.row, move)
    const ofItem = this.move(this.items, user.row, move)
    const change = dotOf(ofUser, item.row) + dotOf(ofItem, user.row)
    const factor = factorWithin(Math.abs(change), Math.abs(dotOf(ofUser, ofItem)), Math.abs(move))
    return {
      user: {
        row: user.row.map((x, i) => x + factor * ofUser[i]!),
        count: user.count + 1,
      },
      delta: [...ofItem.map((x) => factor * x), newness(user.count)],
    }
  }

  fold({ row, count }: PlainRow, _key: string, delta: readonly number[]): PlainRow {
    const w = newcomersWeight(delta.at(-1)!, count, NEWCOMERS)
    return { row: row.map((x, i) => x + w * delta[i]!), count: count + 1 }
  }

  private move(side: PlainSide, other: Float32Array, by: number): number[] {
    const z = side.learned(other).map((x) => x * by)
    const found = product(this.inverses[side.side], z)
    const full = new Array<number>(other.length).fill(0)
    for (const [n, column] of side.columns.entries()) full[column] = found[n]!
    return full
  }
}

/** The largest f up to 1 with f x change + f^2 x both not above `most`, by halving. */
function factorWithin(change: number, both: number, most: number): number {
  if (change + both <= most) return 1
  let [low, high] = [0, 1]
  for (let n = 0; n < 60; n++) {
    const f = (low + high) / 2
    if (f * change + f * f * both <= most) low = f
    else high = f
  }
  return low
}
