import type { AggregateFunction } from '../../state/port/descriptors.ts'
import { FoldedPart } from '../port/folded-part.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { requireKept, requireReduced } from '../port/require-kept.ts'

/**
 * How records of a window may be folded in parts that are merged then, which its author declares: never, in parts that
 * follow each other, or in parts of any order.
 */
export type FoldParts = 'never' | 'in-order' | 'any-order'

/** An incremental fold of records. A reduction has no empty accumulator, an aggregation has one. */
export interface Fold<IN, ACC> {
  readonly parts: FoldParts
  /** What the user declared to be associative, for messages; undefined for a fold of Weir's own. */
  readonly declared?: DeclaredFold
  add(value: IN, accumulator: ACC | undefined): ACC
  /** Merges two accumulators: of parts, or of sessions that become one. */
  merge(a: ACC, b: ACC): ACC
  result(accumulator: ACC): unknown
}

/** What a user declared to be associative: the function of `reduce`, or `merge` of an aggregate. */
export type DeclaredFold = 'reduce' | 'merge'

const REDUCE = 'the function of reduce'

/** The fold of `reduce(...)`, in parts only where that is declared. */
export function reduceFold<T>(
  reduce: (a: T, b: T) => T,
  declaration: Pick<Fold<T, T>, 'parts' | 'declared'> = { parts: 'never' },
): Fold<T, T> {
  return {
    ...declaration,
    add: (value, sum) => {
      if (sum === undefined) return value
      const result = reduce(sum, value)
      // One of two records is a record: most reductions of a maximum look no further.
      return result === sum || result === value ? result : requireReduced(result, REDUCE)
    },
    merge: (a, b) => requireReduced(reduce(a, b), REDUCE),
    result: (sum) => sum,
  }
}

/** The fold of `aggregate(...)`; without `associative`, its `merge` is for sessions alone. */
export function aggregateFold<IN, ACC, OUT>(
  aggregate: AggregateFunction<IN, ACC, OUT>,
  associative = true,
): Fold<IN, ACC> {
  return {
    parts: associative && canMerge(aggregate) ? 'any-order' : 'never',
    declared: 'merge',
    add: (value, sum) =>
      requireKept(
        aggregate.add(value, sum ?? aggregate.createAccumulator()),
        'add of an aggregate',
      ),
    merge: (a, b) => requireKept(aggregate.merge(a, b), 'merge of an aggregate'),
    result: (sum) => {
      const result = aggregate.getResult(sum)
      if (result instanceof Promise) refusePromise(result, 'getResult of an aggregate')
      return result
    },
  }
}

/** Tries `merge` on two empty accumulators: without sessions, a program may come with one that only throws. */
function canMerge<ACC>(aggregate: AggregateFunction<never, ACC, unknown>): boolean {
  try {
    const merged: unknown = aggregate.merge(
      aggregate.createAccumulator(),
      aggregate.createAccumulator(),
    )
    return merged !== undefined && merged !== null
  } catch {
    return false
  }
}

/** The accumulator with a record, or with a part of records that its sender has folded. */
export function addTo<IN, ACC>(
  fold: Fold<IN, ACC>,
  value: IN | FoldedPart,
  before: ACC | undefined,
): ACC {
  if (!(value instanceof FoldedPart)) {
    return fold.add(value, before)
  }
  const sum = value.sum as ACC
  return before === undefined ? sum : fold.merge(before, sum)
}

/** The result of a fold over these records; none where there are no records. */
export function foldAll<IN, ACC>(fold: Fold<IN, ACC>, values: readonly IN[]): readonly unknown[] {
  let accumulator: ACC | undefined
  for (const value of values) accumulator = fold.add(value, accumulator)
  return accumulator === undefined ? [] : [fold.result(accumulator)]
}
