import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  TypedStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from './descriptors.ts'
import type {
  AppendingState,
  ListState,
  LiveListState,
  LiveValueState,
  MapState,
  ValueState,
  VectorState,
} from './handles.ts'
import type { TimerQueue } from './timer-queue.ts'

/**
 * Keyed state as operators see it: handles and timers, which refer to the current key and namespace.
 * A state is declared by its first `value(...)`, `list(...)` etc. call; declaring it again with
 * another kind or format throws STATE_CONFLICT.
 */
export interface KeyedState {
  /** Selects the key that the handles and timers refer to. The bytes are not copied before use. */
  setCurrentKey(key: Uint8Array, keyGroup: number): void
  /** The current key's bytes, valid until the next `setCurrentKey`. */
  currentKey(): Uint8Array
  /** Selects the namespace (a window) within the key; empty bytes are the default one. */
  setCurrentNamespace(namespace: Uint8Array): void

  value<T>(descriptor: ValueStateDescriptor<T>): ValueState<T>
  /** As `value`, for an operator that changes the value in place. */
  liveValue<T>(descriptor: ValueStateDescriptor<T>): LiveValueState<T>
  list<T>(descriptor: ListStateDescriptor<T>): ListState<T>
  /** As `list`, for an operator that must know the first element. */
  liveList<T>(descriptor: ListStateDescriptor<T>): LiveListState<T>
  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V>
  reducing<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T>
  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT>
  vector(descriptor: VectorStateDescriptor): VectorState
  /** The keys that have an entry of the state in the default namespace now, in no order. */
  keysOf(descriptor: TypedStateDescriptor): readonly Uint8Array[]

  /**
   * A named queue of timers by (timestamp, key, namespace), kept as state. Registering a timer twice
   * keeps one.
   */
  timers(name: string): TimerQueue
}
