import { WeirError } from '../../core/errors.ts'
import { aFunction, optional } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import { COUNT, MAX, MEAN, MIN, SUM } from './cells.ts'
import { type Countable, DistinctTally } from './distinct.ts'
import { type Kept, LastTally } from './last.ts'
import { QuantileTally } from './quantile.ts'
import type { OpenRow } from './row.ts'
import type { Tally } from './tally.ts'
import { type Cell, TiledCells } from './tiled-cells.ts'
import { lengthMs, type Tiling } from './tiling.ts'

/** What a feature takes from an event; null or undefined leaves the event out of this feature. */
type Taken<T, V> = (event: T) => V | null | undefined

/** What a kind of feature is made of. */
interface FeatureParts<T, V> {
  /** The call that made it, such as `sum`. */
  readonly call: string
  readonly take: Taken<T, unknown>
  readonly isNumber: boolean
  readonly windowMs: number | undefined
  readonly tallyOf: (tiling: Tiling) => Tally<never, V>
}

/** One feature of a definition: what it takes from events, how it folds them, and over which window. */
export class Feature<T, V> {
  /** The parts, for this folder. */
  readonly parts: FeatureParts<T, V>

  constructor(parts: FeatureParts<T, V>) {
    this.parts = parts
  }

  /** The feature over a sliding window: `'30s'`, `'15m'`, `'1h'`, `'7d'`, `'2w'` or ms. Throws INVALID_ARGUMENT. */
  over(window: string | number): Feature<T, V> {
    return new Feature({
      ...this.parts,
      windowMs: lengthMs(window, `${this.parts.call}(...).over`),
    })
  }
}

/** The features of a key by their names; rows have them in this order. */
export type FeatureDefinition<T> = Readonly<Record<string, Feature<T, unknown>>>

/** The values of features by their names. */
export type FeatureValues<D> = {
  readonly [N in keyof D]: D[N] extends Feature<never, infer V> ? V : never
}

/** Counts events for which a function has returned true. */
class CountTally extends TiledCells<number> {
  constructor(tiling: Tiling) {
    super(tiling, COUNT)
  }

  override check(matched: unknown): string | undefined {
    return matched === true ? undefined : 'true or false, from matches'
  }

  override add(row: OpenRow, feature: number, time: number): void {
    super.add(row, feature, time, 1)
  }
}

function numbers<T, V>(call: string, take: Taken<T, number>, cell: Cell<V>): Feature<T, V> {
  checkArgument(call, 'of', aFunction(), take)
  const tallyOf = (tiling: Tiling): TiledCells<V> => new TiledCells(tiling, cell)
  return new Feature({ call, take, isNumber: true, windowMs: undefined, tallyOf })
}

/** The number of events, or of those for which `matches` holds; 0 of none. */
export function count<T = unknown>(matches?: (event: T) => boolean): Feature<T, number> {
  checkArgument('count', 'matches', optional(aFunction()), matches)
  const take = (event: T): unknown => {
    const matched: unknown = matches === undefined ? true : matches(event)
    return matched === false ? null : matched
  }
  const tallyOf = (tiling: Tiling): CountTally => new CountTally(tiling)
  return new Feature({ call: 'count', take, isNumber: true, windowMs: undefined, tallyOf })
}

/** The sum of numbers; 0 of none. */
export function sum<T>(of: Taken<T, number>): Feature<T, number> {
  return numbers('sum', of, SUM)
}

/** The mean of numbers; null of none. */
export function mean<T>(of: Taken<T, number>): Feature<T, number | null> {
  return numbers('mean', of, MEAN)
}

/** The smallest number; null of none. */
export function min<T>(of: Taken<T, number>): Feature<T, number | null> {
  return numbers('min', of, MIN)
}

/** The largest number; null of none. */
export function max<T>(of: Taken<T, number>): Feature<T, number | null> {
  return numbers('max', of, MAX)
}

/** About how many different texts, numbers or booleans there are; the standard error is 3.3 %. */
export function distinct<T>(of: Taken<T, Countable>): Feature<T, number> {
  checkArgument('distinct', 'of', aFunction(), of)
  const tallyOf = (tiling: Tiling): DistinctTally => new DistinctTally(tiling)
  return new Feature({
    ...{ call: 'distinct', take: of, isNumber: true, windowMs: undefined, tallyOf },
  })
}

/** A quantile of numbers, 0 <= q <= 1, within 1 % of the number of that rank (more in tiles of many numbers); null of none. */
export function quantile<T>(q: number, of: Taken<T, number>): Feature<T, number | null> {
  checkArgument('quantile', 'of', aFunction(), of)
  if (!(typeof q === 'number' && q >= 0 && q <= 1)) {
    const message = `quantile(q, of): q is ${describeValue(q)}, not a number from 0 to 1, such as 0.9`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const tallyOf = (tiling: Tiling): QuantileTally => new QuantileTally(q, tiling)
  return new Feature({
    ...{ call: 'quantile', take: of, isNumber: true, windowMs: undefined, tallyOf },
  })
}

/** The last texts, numbers or booleans by event time, newest first, at most so many: 1 <= count <= 100. */
export function lastN<T, V extends Kept>(count: number, of: Taken<T, V>): Feature<T, readonly V[]> {
  checkArgument('lastN', 'of', aFunction(), of)
  if (!Number.isInteger(count) || count < 1 || count > 100) {
    const message = `lastN(count, of): count is ${describeValue(count)}, not a whole number from 1 to 100`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const tallyOf = ({ windowMs }: Tiling): Tally<never, readonly V[]> =>
    new LastTally(count, windowMs) as Tally<never, readonly Kept[]> as Tally<never, readonly V[]>
  return new Feature({
    ...{ call: 'lastN', take: of, isNumber: false, windowMs: undefined, tallyOf },
  })
}
