import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  TypedStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from './descriptors.ts'
import type { EntryTimers } from './entry-timers.ts'
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

/** One object of an operator for each frequent key. Every key may lose it at any time: it is a shortcut, no state. */
export interface KeyMemory {
  /** The object of the current key; undefined where it has none. */
  remembered(): object | undefined
  /** Gives the current key its object; does nothing where the key is not frequent. */
  remember(kept: object): void
}

/**
 * Keyed state as operators see it: handles and timers, which refer to the current key and namespace.
 * A state is declared by its first `value(...)`, `list(...)` etc. call; declaring it again with
 * another kind or format throws STATE_CONFLICT.
 */
export interface KeyedState {
  /** Selects the key that the handles and timers refer to. The bytes are not copied before use. */
  setCurrentKey(key: Uint8Array, keyGroup: number): void
  /** Selects no key: until one is selected, handles of typed state and timers throw ILLEGAL_STATE. */
  deselectKey(): void
  /** The current key's bytes, valid until the next `setCurrentKey`. Throws ILLEGAL_STATE where none is selected. */
  currentKey(): Uint8Array
  /** What an operator keeps in memory for the current key, see `KeyMemory`. */
  readonly keyMemory: KeyMemory
  /** Selects the namespace (a window) within the key; empty bytes are the default one. */
  setCurrentNamespace(namespace: Uint8Array): void
  /** As `setCurrentNamespace`, of bytes that never change, so that a frequent key may remember what it has there. */
  setLastingNamespace(namespace: Uint8Array): void

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
  /**
   * The timers in a queue that belong to the entries of a state, which `timers(queue).poll` returns, too; a queue has those of
   * one state. With `namespaceAt`, entries are in the default namespace, and it says that of a timer. Undefined where state
   * may leave memory: there each timer is registered by itself.
   */
  entryTimers(
    queue: string,
    descriptor: TypedStateDescriptor,
    namespaceAt?: (timestamp: number) => Uint8Array,
  ): EntryTimers | undefined
}
