import type { MetricGroup } from '../core/metrics.ts'
import type { SourcePosition } from '../core/position.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from '../state/descriptors.ts'
import type {
  AppendingState,
  ListState,
  MapState,
  ValueState,
  VectorState,
} from '../state/handles.ts'
import type { OutputTag } from './output-tag.ts'

/*
 * The functions that users write, and what they are given. Every subtask has a function object of
 * its own, made by the factory passed to `process(...)`, so fields may hold state handles. The
 * context and collector are reused from call to call: do not keep them.
 */

/** Receives the results of a function. */
export interface Collector<T> {
  /** Emits a result; `timestamp` (event time, ms) defaults to that of the record or timer. */
  collect(value: T, timestamp?: number): void
}

/** Where and as what a function runs. */
export interface FunctionContext {
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
 * Handles to keyed state. A handle may be kept in a field: it always refers to the current key.
 * All throw STATE_CONFLICT when a name is declared twice with different formats.
 */
export interface KeyedStateAccess {
  getState<T>(descriptor: ValueStateDescriptor<T>): ValueState<T>
  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T>
  getMapState<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V>
  getReducingState<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T>
  getAggregatingState<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT>
  /** Addressed by key bytes and model version, not by the current key. */
  getVectorState(descriptor: VectorStateDescriptor): VectorState
}

/** Given to `open` of a keyed function. */
export interface KeyedFunctionContext extends FunctionContext, KeyedStateAccess {}

/** Given with every record. */
export interface ProcessContext extends FunctionContext {
  /** Event time of the record or timer in ms, -1 when there is none. */
  readonly timestamp: number
  /** Position of the source record that caused the call; partition -1 in timers. */
  readonly position: SourcePosition
  readonly currentWatermark: number
  /** Wall-clock time in ms. */
  readonly currentProcessingTime: number
  /** Emits to a side output, read by `getSideOutput(tag)` of the stream. */
  output<T>(tag: OutputTag<T>, value: T): void
}

/** Timers of the current key. Registering one twice keeps one. */
export interface TimerService {
  readonly currentWatermark: number
  /** Wall-clock time in ms. */
  readonly currentProcessingTime: number
  /** `onTimer` once the watermark reaches `timestamp` (ms). */
  registerEventTimeTimer(timestamp: number): void
  deleteEventTimeTimer(timestamp: number): void
  /** `onTimer` once the wall clock reaches `timestamp` (ms since 1970). */
  registerProcessingTimeTimer(timestamp: number): void
  deleteProcessingTimeTimer(timestamp: number): void
}

/** Given with every record of a keyed stream. */
export interface KeyedProcessContext<K> extends ProcessContext, KeyedStateAccess {
  /** The key, decoded on first use in a call. */
  readonly currentKey: K
  /** The key's bytes: a view valid during the call. */
  readonly currentKeyBytes: Uint8Array
  readonly timerService: TimerService
}

/** Which clock a timer follows. */
export type TimeDomain = 'event-time' | 'processing-time'

/** Given when a timer fires. */
export interface OnTimerContext<K> extends KeyedProcessContext<K> {
  readonly timeDomain: TimeDomain
}

/** What every function may have. */
interface FunctionBase<OpenContext> {
  /** Called once before the first record, after state was restored. */
  open?(context: OpenContext): void | Promise<void>
  /** Called once after the last call, also when the job fails. */
  close?(): void | Promise<void>
  /** Tags it may emit to; when given, `getSideOutput` of another tag is refused. */
  readonly sideOutputs?: readonly OutputTag<unknown>[]
}

/** One call per record of a stream that is not keyed: no keyed state, no timers. */
export interface ProcessFunction<IN, OUT> extends FunctionBase<FunctionContext> {
  processElement(value: IN, context: ProcessContext, out: Collector<OUT>): void
}

/** What a keyed function may have besides. */
interface KeyedFunctionBase<K, OUT> extends FunctionBase<KeyedFunctionContext> {
  /** A timer of the current key fired; `timestamp` is the one it was registered for. */
  onTimer?(timestamp: number, context: OnTimerContext<K>, out: Collector<OUT>): void
}

/** One call per record of a keyed stream, with state and timers of the record's key. */
export interface KeyedProcessFunction<K, IN, OUT> extends KeyedFunctionBase<K, OUT> {
  processElement(value: IN, context: KeyedProcessContext<K>, out: Collector<OUT>): void
}

/** Two connected streams. */
export interface CoProcessFunction<IN1, IN2, OUT> extends FunctionBase<FunctionContext> {
  processElement1(value: IN1, context: ProcessContext, out: Collector<OUT>): void
  processElement2(value: IN2, context: ProcessContext, out: Collector<OUT>): void
}

/** Two connected streams keyed alike: both sides see the same state of a key. */
export interface KeyedCoProcessFunction<K, IN1, IN2, OUT> extends KeyedFunctionBase<K, OUT> {
  processElement1(value: IN1, context: KeyedProcessContext<K>, out: Collector<OUT>): void
  processElement2(value: IN2, context: KeyedProcessContext<K>, out: Collector<OUT>): void
}

/** Broadcast state as the other side reads it. */
export interface ReadOnlyBroadcastState<K, V> {
  get(key: K): V | undefined
  has(key: K): boolean
  /** In the order of first insertion. */
  entries(): IterableIterator<[K, V]>
  readonly size: number
}

/** Broadcast state as the broadcast side writes it, the same way in every subtask. */
export interface BroadcastState<K, V> extends ReadOnlyBroadcastState<K, V> {
  put(key: K, value: V): void
  remove(key: K): void
  clear(): void
}

/** Read access to broadcast state; throws INVALID_GRAPH for a descriptor `broadcast(...)` lacks. */
export interface BroadcastReadAccess {
  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): ReadOnlyBroadcastState<K, V>
}

/** Given with every broadcast record. */
export interface BroadcastContext extends ProcessContext {
  /** Throws INVALID_GRAPH for a descriptor that `broadcast(...)` does not list. */
  getBroadcastState<K, V>(descriptor: MapStateDescriptor<K, V>): BroadcastState<K, V>
}

/** A stream connected to a broadcast stream. */
export interface BroadcastProcessFunction<IN, B, OUT> extends FunctionBase<FunctionContext> {
  processElement(
    value: IN,
    context: ProcessContext & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
  /** Must do the same in every subtask: what it writes is stored once. */
  processBroadcastElement(value: B, context: BroadcastContext, out: Collector<OUT>): void
}

/** A keyed stream connected to a broadcast stream. */
export interface KeyedBroadcastProcessFunction<K, IN, B, OUT>
  extends FunctionBase<KeyedFunctionContext> {
  processElement(
    value: IN,
    context: KeyedProcessContext<K> & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
  /** Must do the same in every subtask: what it writes is stored once. No key is selected here. */
  processBroadcastElement(value: B, context: BroadcastContext, out: Collector<OUT>): void
  onTimer?(
    timestamp: number,
    context: OnTimerContext<K> & BroadcastReadAccess,
    out: Collector<OUT>,
  ): void
}
