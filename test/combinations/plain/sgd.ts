import type { Publication } from './publication.ts'
import {
  dotOf,
  newcomersWeight,
  newness,
  type PlainRating,
  type PlainRule,
  type PlainStep,
} from './rule.ts'
import { type PlainRow, PlainSide } from './sides.ts'

const RATE = 0.05
/** Part of its error by which the two steps of a rating move its score at most. */
const MOST_MOVE = 0.2
const PENALTY = 0.02
/** Full steps that those of newcomers weigh at most in an item's row. */
const NEWCOMERS = 20

/** One gradient step of each row for a rating: p += rate (e q - penalty p), q += rate (e p - penalty q), from both rows before. */
export class PlainSgd implements PlainRule {
  readonly users: PlainSide
  readonly items: PlainSide
  readonly showsItem = false
  private readonly mean: number

  constructor(publication: Publication) {
    this.users = new PlainSide('U', publication)
    this.items = new PlainSide('I', publication)
    this.mean = publication.marker.globalMean ?? 0
  }

  step({ user, item, rating }: PlainRating): PlainStep {
    // The column of a user's bias also has the mean rating, which nothing pulls to 0.
    const bias = this.items.constant
    const centre = (column: number): number => (column === bias ? this.mean : 0)
    const next = stepped(this.users, user, item.row, { rating, weight: 1, centre })
    return { user: next, delta: [...user.row, rating, newness(user.count)] }
  }

  fold(item: PlainRow, _key: string, delta: readonly number[]): PlainRow {
    const { length } = item.row
    const other = Float32Array.from(delta.slice(0, length))
    const [rating, part] = delta.slice(length) as [number, number]
    const weight = newcomersWeight(part, item.count, NEWCOMERS)
    return stepped(this.items, item, other, { rating, weight, centre: () => 0 })
  }
}

function stepped(
  side: PlainSide,
  { row, count }: PlainRow,
  other: Float32Array,
  {
    rating,
    weight,
    centre,
  }: { rating: number; weight: number; centre: (column: number) => number },
): PlainRow {
  const error = rating - dotOf(row, other)
  const rate = Math.min(RATE, MOST_MOVE / squaresOf(side, row, other))
  const values = side.columns.map((column) => {
    const x = row[column]!
    return x + weight * rate * (error * other[column]! - PENALTY * (x - centre(column)))
  })
  return { row: side.withLearned(row, values), count: count + 1 }
}

/** The squares of the two rows, each in the columns that the other one learns. */
function squaresOf({ constant }: PlainSide, row: Float32Array, other: Float32Array): number {
  const sum = dotOf(row, row) + dotOf(other, other)
  if (constant < 0) return sum
  // The two last columns: of one side one is 1, of the other side the other one.
  const otherConstant = 2 * row.length - 3 - constant
  return sum - other[constant]! ** 2 - row[otherConstant]! ** 2
}
