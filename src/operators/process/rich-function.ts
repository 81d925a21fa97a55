import type { Collector, FunctionContext } from './function.ts'
import type { RichFunction } from './function-life.ts'

/*
 * Functions with a life of their own, under Flink's names. The factory that is passed to `richMap(...)` makes a
 * function object for every subtask and attempt, so its fields can hold connections, metrics and state handles.
 */

/** A function with one result per record. */
export interface RichMapFunction<IN, OUT, C = FunctionContext> extends RichFunction<C> {
  map(value: IN): OUT
}

/** A function that says which records stay. */
export interface RichFilterFunction<T, C = FunctionContext> extends RichFunction<C> {
  filter(value: T): boolean
}

/** A function with any number of results per record. */
export interface RichFlatMapFunction<IN, OUT, C = FunctionContext> extends RichFunction<C> {
  flatMap(value: IN, out: Collector<OUT>): void
}

/** A function that makes one record of two of a key. */
export interface RichReduceFunction<T, C = FunctionContext> extends RichFunction<C> {
  reduce(a: T, b: T): T
}

/** A function on two connected streams with one result per record. */
export interface CoMapFunction<IN1, IN2, OUT, C = FunctionContext> extends RichFunction<C> {
  map1(value: IN1): OUT
  map2(value: IN2): OUT
}

/** A function on two connected streams with any number of results per record. */
export interface CoFlatMapFunction<IN1, IN2, OUT, C = FunctionContext> extends RichFunction<C> {
  flatMap1(value: IN1, out: Collector<OUT>): void
  flatMap2(value: IN2, out: Collector<OUT>): void
}
