import type { Collector, FunctionContext, ProcessContext } from '../process/function.ts'
import type { RichFunction } from '../process/function-life.ts'

/** Context of a match. `timestamp` is the event time of its end; `position` is that of no record (partition -1). */
export interface MatchContext<K> extends ProcessContext {
  readonly currentKey: K
}

/** The records of a partial match by stage; an empty list where it has none. */
export type PartOfMatch<M> = {
  readonly [Stage in keyof M]: M[Stage] extends readonly (infer T)[] ? readonly T[] : never
}

/** A function that makes results from the matches of a pattern (Flink's `PatternProcessFunction`). */
export interface PatternProcessFunction<K, M, OUT> extends RichFunction<FunctionContext> {
  /** Makes results from a match. Matches share their records: change none. */
  processMatch(match: M, context: MatchContext<K>, out: Collector<OUT>): void
  /** Handles a partial match that `within` has ended and that is no match itself; `timestamp` is when it ended. */
  processTimedOutMatch?(match: PartOfMatch<M>, context: MatchContext<K>): void
}
