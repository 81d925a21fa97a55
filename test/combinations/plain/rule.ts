import type { PlainRow, PlainSide } from './sides.ts'

/** A rating as a rule gets it. */
export interface PlainRating {
  readonly rating: number
  readonly userKey: string
  readonly user: PlainRow
  readonly item: PlainRow
}

/** What a rating changes: the user's row, and the floats of its delta. */
export interface PlainStep {
  readonly user: PlainRow
  readonly delta: readonly number[]
}

/** A rule, by its definition. */
export interface PlainRule {
  readonly users: PlainSide
  readonly items: PlainSide
  /** Whether a delta shows the row of the item that the step read, not the row of the user before the step. */
  readonly showsItem: boolean
  step(rating: PlainRating): PlainStep
  /** The item's row with a delta. */
  fold(item: PlainRow, key: string, delta: readonly number[]): PlainRow
}

/** To which part a user with so many ratings is a newcomer. */
export const newness = (count: number): number => 1 / (1 + count / 10)

/** How much a newcomer's rating weighs in an item's row after others; those of all newcomers weigh at most `most`. */
export function newcomersWeight(part: number, others: number, most: number): number {
  return 1 / (1 + (part * others) / most) ** 2
}

/** The inner product of two lists of numbers. */
export function dotOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
