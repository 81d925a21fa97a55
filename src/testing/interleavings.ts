import { count, kindOf, listOf, wholeNumber } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { type Random, seededRandom } from '../core/random.ts'

/** A record of one of several inputs. */
export interface InterleavedRecord<T> {
  /** Number of the input, from 0. */
  readonly input: number
  readonly value: T
}

/** Options of `interleavings`. */
export interface InterleavingsOptions {
  /** Draws the orders: equal seeds give equal orders. @default 1 */
  readonly seed?: number
  /** Most orders. @default 100 */
  readonly count?: number
}

const INPUTS = listOf(kindOf<readonly unknown[]>('a list of records', Array.isArray))
const INTERLEAVINGS: OptionShape<InterleavingsOptions> = { seed: wholeNumber({ min: 0 }), count }

/**
 * Orders in which the records of several inputs may reach an operator, each input's in their own order: for a test that a
 * race has one result, such as that of a table and the stream that reads it. All orders where there are at most `count`;
 * else `count` different ones, drawn by the seed, of which the first ones have one input after the other.
 */
export function* interleavings<T>(
  inputs: readonly (readonly T[])[],
  options: InterleavingsOptions = {},
): Generator<readonly InterleavedRecord<T>[], void> {
  checkArgument('interleavings', 'inputs', INPUTS, inputs)
  checkOptions('interleavings', INTERLEAVINGS, options)
  const { seed = 1, count: most = 100 } = options
  const lengths = inputs.map(({ length }) => length)
  const orders = numberOfOrders(lengths) <= most ? allOrders(lengths) : someOrders(lengths, seed)
  let given = 0
  for (const order of orders) {
    if (given++ === most) return
    const next = inputs.map(() => 0)
    yield order.map((input) => ({ input, value: inputs[input]![next[input]!++]! }))
  }
}

/** The multinomial coefficient of the lengths, or infinity. */
function numberOfOrders(lengths: readonly number[]): number {
  let total = 0
  let orders = 1
  for (const length of lengths) {
    for (let i = 1; i <= length; i++) orders = (orders * ++total) / i
  }
  return orders
}

function* allOrders(left: readonly number[]): Generator<readonly number[], void> {
  if (left.every((length) => length === 0)) yield []
  for (const [input, length] of left.entries()) {
    if (length === 0) continue
    const rest = left.with(input, length - 1)
    for (const order of allOrders(rest)) yield [input, ...order]
  }
}

function* someOrders(lengths: readonly number[], seed: number): Generator<readonly number[], void> {
  const random = seededRandom(seed)
  const seen = new Set<string>()
  const inputs = lengths.map((_, input) => input)
  for (const first of inputs) {
    const order = [first, ...inputs.filter((input) => input !== first)]
    yield* unseen(
      order.flatMap((input) => Array.from({ length: lengths[input]! }, () => input)),
      seen,
    )
  }
  for (;;) yield* unseen(drawnOrder(lengths, random), seen)
}

function* unseen(order: readonly number[], seen: Set<string>): Generator<readonly number[], void> {
  const text = order.join()
  if (seen.has(text)) return
  seen.add(text)
  yield order
}

/** An order; all have the same chance. */
function drawnOrder(lengths: readonly number[], random: Random): number[] {
  const left = [...lengths]
  const order: number[] = []
  for (let total = left.reduce((sum, length) => sum + length, 0); total > 0; total--) {
    let place = random.below(total)
    let input = 0
    while (place >= left[input]!) place -= left[input++]!
    left[input]! -= 1
    order.push(input)
  }
  return order
}
