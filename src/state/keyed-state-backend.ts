import type { KeyGroupRange } from '../core/key-group.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from './descriptors.ts'
import type { AppendingState, ListState, MapState, ValueState, VectorState } from './handles.ts'
import type { SlotQueryReply, SlotQueryRequest } from './slot-query.ts'
import type {
  ChangeSink,
  EntrySpan,
  StateDeclaration,
  StateName,
  StateSnapshot,
} from './state-change.ts'

/** Keys of the next `count` records: where they lie in `bytes`, and their murmur3 as int32. */
export interface KeysAhead {
  readonly bytes: Uint8Array
  readonly keyStarts: Int32Array
  readonly keyLengths: Int32Array
  readonly hashes: Int32Array
  readonly count: number
}

/**
 * All keyed state of one operator subtask: typed handles above, bytes below, one writer.
 * A state is declared by its first `value(...)`, `list(...)` etc. call; declaring it again with
 * another kind or format throws STATE_CONFLICT.
 */
export interface KeyedStateBackend {
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number

  /** Selects the key that the handles and timers refer to. The bytes are not copied before use. */
  setCurrentKey(key: Uint8Array, keyGroup: number): void
  /**
   * Records with these keys are about to be processed: what the state can bring nearer meanwhile, it
   * may.
   */
  readAhead(keys: KeysAhead): void
  /** The current key's bytes, valid until the next `setCurrentKey`. */
  currentKey(): Uint8Array
  /** Selects the namespace (a window) within the key; empty bytes are the default one. */
  setCurrentNamespace(namespace: Uint8Array): void

  value<T>(descriptor: ValueStateDescriptor<T>): ValueState<T>
  list<T>(descriptor: ListStateDescriptor<T>): ListState<T>
  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V>
  reducing<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T>
  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT>
  vector(descriptor: VectorStateDescriptor): VectorState

  /**
   * A named queue of timers by (timestamp, key, namespace), kept as state. Registering a timer twice
   * keeps one.
   */
  timers(name: string): TimerQueue

  /** Answers a query thread's batch; spilled rows come back into memory. */
  answer(request: SlotQueryRequest): SlotQueryReply

  /**
   * Fixes the changes since the last snapshot (everything when `full`) and returns the task that
   * copies them into `sink`. Dirty entries evicted before go to `setSpillSink`'s sink.
   */
  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot
  /** Whether so much changed since the last snapshot that a full one costs hardly more. */
  prefersFull(): boolean
  /** Where dirty entries go that leave memory between two snapshots. */
  setSpillSink(sink: ChangeSink): void
  /** The checkpoint is durable: images kept for older ones may go. */
  checkpointCompleted(checkpointId: number): void
  /** What has been declared so far, with every model version. */
  declarations(): StateDeclaration[]

  /**
   * Opens a restore. Entries come newest segment first: of one key the first one wins, so that a row
   * that can be read is already right. Rows not restored yet answer RESTORING to queries.
   */
  beginRestore(declarations: readonly StateDeclaration[]): void
  /** How many entries a restore will bring at most; told before the first of them, if at all. */
  expectEntries(entries: number): void
  /** One entry of a segment; a key group outside `keyGroups` is ignored. */
  restore(keyGroup: number, state: StateName, key: Uint8Array, value: Uint8Array | undefined): void
  /** As `restore`, of an entry where it lies. */
  restoreSpan(keyGroup: number, state: StateName, entry: EntrySpan): void
  /**
   * A key group of which a reader met a row that is not restored yet, each time it was met told once;
   * -1 if there is none. Better restored next.
   */
  wantedKeyGroup(): number
  /** Ends the restore; a missing key is now really missing. */
  endRestore(checkpointId: number): void

  /** Releases memory and store; idempotent. */
  close(): void
}

/** One timer. */
export interface Timer {
  readonly timestamp: number
  readonly key: Uint8Array
  readonly keyGroup: number
  readonly namespace: Uint8Array
}

/** Timers of a subtask in time order. */
export interface TimerQueue {
  /** Registers for the current key and namespace; a duplicate is ignored. */
  register(timestamp: number): void
  /** Deletes for the current key and namespace; a missing one is ignored. */
  delete(timestamp: number): void
  /** The earliest timestamp, or undefined when empty. */
  peek(): number | undefined
  /** Removes and returns the earliest timer with timestamp <= `upTo`. */
  poll(upTo: number): Timer | undefined
}
