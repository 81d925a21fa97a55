import type { MetricGroup } from '../../core/metrics.ts'
import type { SourcePosition } from '../../core/position.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from '../../state/port/descriptors.ts'
import type {
  AppendingState,
  ListState,
  MapState,
  ValueState,
  VectorState,
} from '../../state/port/handles.ts'
import type { AccumulatorAccess } from '../port/accumulator.ts'
import type { OutputTag } from '../port/output-tag.ts'
import type { RichFunction } from './function-life.ts'

/*
 * The functions that users write, and their contexts. The factory that is passed to `process(...)` makes a
 * function object for every subtask, so its fields can hold state handles. Context and collector are reused
 * for all calls: do not keep them.
 */

/** The receiver of a function's results. */
export interface Collector<T> {
  /** Emits a result; `timestamp` (event time, ms) defaults to that of the record or timer. */
  collect(value: T, timestamp?: number): void
}

/** Operator, subtask, metrics and accumulators of a function. */
export interface FunctionContext extends AccumulatorAccess {
  readonly operatorUid: string
  readonly operatorName: string
  /** 0 <= subtask < parallelism. */
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
  /** Attempt of the job, counted from 1. */
  readonly attempt: number
  readonly metrics: MetricGroup
}

/**
 * Handles to keyed state. A function can keep a handle in a field: it always refers to the current key. All
 * methods throw STATE_CONFLICT when a name is declared twice with different formats.
 */
export interface KeyedStateAccess {
  getState<T>(descriptor: ValueStateDescriptor<T>): ValueState<T>
  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T>
  getMapState<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V>
  getReducingState<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T>
  getAggregatingState<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT>
  /** Vectors are addressed by key bytes and model version, not by the current key. */
  getVectorState(descriptor: VectorStateDescriptor): VectorState
}

/** Context of `open` of a keyed function. */
export interface KeyedFunctionContext extends FunctionContext, KeyedStateAccess {}

/** Context of a record. */
export interface ProcessContext extends FunctionContext {
  /** Event time of the record or timer in ms, -1 when there is none. */
  readonly timestamp: number
  /** Position of the source record that caused the call; partition -1 in timers. */
  readonly position: SourcePosition
  readonly currentWatermark: number
  /** Wall-clock time in ms. */
  readonly currentProcessingTime: number
  /** Emits to a side output, which `getSideOutput(tag)` of the stream reads. */
  output<T>(tag: OutputTag<T>, value: T): void
}

/** Timers of the current key. A timer that is registered twice fires once. */
export interface TimerService {
  readonly currentWatermark: number
  /** Wall-clock time in ms. */
  readonly currentProcessingTime: number
  /** Requests `onTimer` when the watermark reaches `timestamp` (ms). */
  registerEventTimeTimer(timestamp: number): void
  deleteEventTimeTimer(timestamp: number): void
  /** Requests `onTimer` when the wall clock reaches `timestamp` (ms since 1970). */
  registerProcessingTimeTimer(timestamp: number): void
  deleteProcessingTimeTimer(timestamp: number): void
}

/** Context of a record of a keyed stream. */
export interface KeyedProcessContext<K> extends ProcessContext, KeyedStateAccess {
  /** The key, decoded at its first use in a call. */
  readonly currentKey: K
  /** The key's bytes, a view that is valid during the call. */
  readonly currentKeyBytes: Uint8Array
  readonly timerService: TimerService
}

/** The clock of a timer. */
export type TimeDomain = 'event-time' | 'processing-time'

/** Context of a timer that fires. */
export interface OnTimerContext<K> extends KeyedProcessContext<K> {
  readonly timeDomain: TimeDomain
}

/** Optional members of every function. */
interface FunctionBase<OpenContext> extends RichFunction<OpenContext> {
  /** Tags to which it can emit; if present, `getSideOutput` of another tag is refused. */
  readonly sideOutputs?: readonly OutputTag<unknown>[]
}

/** A function with one call per record of a stream without keys. It has no keyed state and no timers. */
export interface ProcessFunction<IN, OUT> extends FunctionBase<FunctionContext> {
  processElement(value: IN, context: ProcessContext, out: Collector<OUT>): void
}

/** Optional members of keyed functions. */
interface KeyedFunctionBase<K, OUT> extends FunctionBase<KeyedFunctionContext> {
  /** Handles a timer of the current key; `timestamp` is that of its registration. */
  onTimer?(timestamp: number, context: OnTimerContext<K>, out: Collector<OUT>): void
}

/** A function with one call per record of a keyed stream, with state and timers of the record's key. */
export interface KeyedProcessFunction<K, IN, OUT> extends KeyedFunctionBase<K, OUT> {
  processElement(value: IN, context: KeyedProcessContext<K>, out: Collector<OUT>): void
}

/** A function on two connected streams. */
export interface CoProcessFunction<IN1, IN2, OUT> extends FunctionBase<FunctionContext> {
  processElement1(value: IN1, context: ProcessContext, out: Collector<OUT>): void
  processElement2(value: IN2, context: ProcessContext, out: Collector<OUT>): void
}

/** A function on two connected streams with the same type of key and one state per key. */
export interface KeyedCoProcessFunction<K, IN1, IN2, OUT> extends KeyedFunctionBase<K, OUT> {
  processElement1(value: IN1, context: KeyedProcessContext<K>, out: Collector<OUT>): void
  processElement2(value: IN2, context: KeyedProcessContext<K>, out: Collector<OUT>): void
}

/** Read-only broadcast state. */
export interface ReadOnlyBroadcastState<K, V> {
  get(key: K): V | undefined
  has(key: K): boolean
  /** In the order of first insertion, as are keys and values. */
  entries(): IterableIterator<[K, V]>
  keys(): IterableIterator<K>
  values(): IterableIterator<V>
  isEmpty(): boolean
  readonly size: number
}

/** Writable broadcast state. Every subtask writes the same. */
export interface BroadcastState<K, V> extends ReadOnlyBroadcastState<K, V> {
  put(key: K, value: V): void
  remove(key: K): void
  clear(): void
}

/** Read access to broadcast state. Throws INVALID_GRAPH for a descriptor that `broadcast(...)` does not list. */
export interface BroadcastReadAccess {
  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): ReadOnlyBroadcastState<K, V>
}

/** Context of a broadcast record. */
export interface BroadcastContext extends ProcessContext {
  /** Throws INVALID_GRAPH for a descriptor that `broadcast(...)` does not list. */
  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): BroadcastState<K, V>
}

/** Context of a broadcast record beside a keyed stream. */
export interface KeyedBroadcastContext<K> extends BroadcastContext {
  /**
   * Calls a function for each key of this subtask that has an entry of the state, with the state of that key, which
   * it may change. The keys come in no order. It reads all keys, so it is for rare broadcast records. Throws
   * STATE_CONFLICT.
   */
  applyToKeyedState<T>(
    descriptor: ValueStateDescriptor<T>,
    apply: (key: K, state: ValueState<T>) => void,
  ): void
  applyToKeyedState<T>(
    descriptor: ListStateDescriptor<T>,
    apply: (key: K, state: ListState<T>) => void,
  ): void
  applyToKeyedState<MK, V>(
    descriptor: MapStateDescriptor<MK, V>,
    apply: (key: K, state: MapState<MK, V>) => void,
  ): void
  applyToKeyedState<T>(
    descriptor: ReducingStateDescriptor<T>,
    apply: (key: K, state: AppendingState<T, T>) => void,
  ): void
  applyToKeyedState<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
    apply: (key: K, state: AppendingState<IN, OUT>) => void,
  ): void
}

/** A function on a stream that is connected to a broadcast stream. */
export interface BroadcastProcessFunction<IN, B, OUT> extends FunctionBase<FunctionContext> {
  processElement(
    value: IN,
    context: ProcessContext & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
  /** Must do the same in every subtask, because a checkpoint stores the state of only one. */
  processBroadcastElement(value: B, context: BroadcastContext, out: Collector<OUT>): void
}

/** A function on a keyed stream that is connected to a broadcast stream. */
export interface KeyedBroadcastProcessFunction<K, IN, B, OUT>
  extends FunctionBase<KeyedFunctionContext> {
  processElement(
    value: IN,
    context: KeyedProcessContext<K> & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
  /**
   * Must write the same broadcast state in every subtask, because a checkpoint stores that of only one. No key is
   * selected.
   */
  processBroadcastElement(value: B, context: KeyedBroadcastContext<K>, out: Collector<OUT>): void
  onTimer?(
    timestamp: number,
    context: OnTimerContext<K> & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
}
