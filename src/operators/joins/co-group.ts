import { refusePromise } from '../port/refuse-promise.ts'
import { refuseResult } from '../port/refuse-result.ts'
import type { Collector, FunctionContext } from '../process/function.ts'
import type {
  FunctionInitializationContext,
  FunctionSnapshotContext,
  RichFunction,
} from '../process/function-life.ts'
import type {
  ProcessWindowFunction,
  WindowContext,
  WindowFunctionContext,
} from '../windows/function.ts'
import { isOuter, type JoinKind } from './unmatched.ts'

/** A record of one of two streams that share a window. */
export type SidedRecord<A, B> =
  | { readonly side: 'left'; readonly value: A }
  | { readonly side: 'right'; readonly value: B }

/** Makes results from the records of both streams of a key and window; either list may be empty. */
export type CoGroupFunction<A, B, OUT> = (
  left: readonly A[],
  right: readonly B[],
  out: Collector<OUT>,
) => void

/** Makes the results of a pair of records of a key and window, any number of them. */
export type FlatJoinFunction<A, B, OUT> = (left: A, right: B, out: Collector<OUT>) => void

/** A `CoGroupFunction` with a life: opened before the first window, closed after the last. */
export interface RichCoGroupFunction<A, B, OUT> extends RichFunction<FunctionContext> {
  coGroup(left: readonly A[], right: readonly B[], out: Collector<OUT>): void
}

/** A function with a life that makes one result of each pair of records of a key and window. */
export interface RichJoinFunction<A, B, OUT> extends RichFunction<FunctionContext> {
  join(left: A, right: B): OUT
}

/** A function with a life that makes any number of results of each pair of records of a key and window. */
export interface RichFlatJoinFunction<A, B, OUT> extends RichFunction<FunctionContext> {
  join(left: A, right: B, out: Collector<OUT>): void
}

/** The window function of a co-group: it parts the records of a window by their stream. */
export class CoGroupWindowFunction<K, A, B, OUT>
  implements ProcessWindowFunction<K, SidedRecord<A, B>, OUT>
{
  private readonly coGroup: CoGroupFunction<A, B, OUT>
  private readonly life: RichFunction<FunctionContext>

  /** `life`: what is opened, stored and closed with the function. */
  constructor(coGroup: CoGroupFunction<A, B, OUT>, life: RichFunction<FunctionContext> = {}) {
    this.coGroup = coGroup
    this.life = life
  }

  initializeState(context: FunctionInitializationContext): void | Promise<void> {
    return this.life.initializeState?.(context)
  }

  open(context: WindowFunctionContext): void | Promise<void> {
    return this.life.open?.(context)
  }

  snapshotState(context: FunctionSnapshotContext): void | Promise<void> {
    return this.life.snapshotState?.(context)
  }

  close(): void | Promise<void> {
    return this.life.close?.()
  }

  process(
    _key: K,
    _context: WindowContext,
    elements: readonly SidedRecord<A, B>[],
    out: Collector<OUT>,
  ): void {
    const left: A[] = []
    const right: B[] = []
    for (const element of elements) {
      if (element.side === 'left') left.push(element.value)
      else right.push(element.value)
    }
    const result: unknown = this.coGroup(left, right, out)
    if (result !== undefined) refuseResult(result, 'the function of a co-group')
  }
}

/**
 * The co-group of a join: a result for each pair of records of both streams, and in an outer join one for each record of the
 * outer side where the other stream has none. `L` and `R` are what the function gets.
 */
export function joinPairs<A extends L, B extends R, L, R, OUT>(
  join: (left: L, right: R) => OUT,
  kind: JoinKind = 'inner',
): CoGroupFunction<A, B, OUT> {
  return (left, right, out) => {
    for (const [a, b] of pairsOf<L, R>(left, right, kind)) {
      const result = join(a, b)
      if (result instanceof Promise) refusePromise(result, 'the function of a join')
      out.collect(result)
    }
  }
}

/** As `joinPairs`, for a function that emits any number of results. */
export function flatJoinPairs<A extends L, B extends R, L, R, OUT>(
  join: FlatJoinFunction<L, R, OUT>,
  kind: JoinKind = 'inner',
): CoGroupFunction<A, B, OUT> {
  return (left, right, out) => {
    for (const [a, b] of pairsOf<L, R>(left, right, kind)) {
      const result: unknown = join(a, b, out)
      if (result !== undefined) refuseResult(result, 'the function of a join')
    }
  }
}

/** The pairs of a window; in outer joins undefined stands for a record of the stream that has none there. */
function* pairsOf<L, R>(
  left: readonly L[],
  right: readonly R[],
  kind: JoinKind,
): Generator<readonly [L, R]> {
  const lefts = left.length === 0 && isOuter(kind, 'right') ? noneOf<L>() : left
  const rights = right.length === 0 && isOuter(kind, 'left') ? noneOf<R>() : right
  for (const a of lefts) for (const b of rights) yield [a, b]
}

/** A list with what stands for a record that there is not; in outer joins the type of a record includes it. */
function noneOf<T>(): readonly T[] {
  return [undefined as T]
}
