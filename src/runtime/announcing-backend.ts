import type { KeyGroupRange } from '../core/key-group.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  StateDescriptor,
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
import type { KeyedStateBackend, KeysAhead, TimerQueue } from '../state/keyed-state-backend.ts'
import type { SlotQueryReply, SlotQueryRequest } from '../state/slot-query.ts'
import type {
  ChangeSink,
  EntrySpan,
  StateDeclaration,
  StateName,
  StateSnapshot,
} from '../state/state-change.ts'

/** A keyed state backend that tells which queryable states are declared in it. */
export class AnnouncingBackend implements KeyedStateBackend {
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  private readonly inner: KeyedStateBackend
  private readonly announce: (descriptor: StateDescriptor) => void

  constructor(inner: KeyedStateBackend, announce: (descriptor: StateDescriptor) => void) {
    this.inner = inner
    this.announce = announce
    this.keyGroups = inner.keyGroups
    this.maxParallelism = inner.maxParallelism
  }

  setCurrentKey(key: Uint8Array, keyGroup: number): void {
    this.inner.setCurrentKey(key, keyGroup)
  }

  readAhead(keys: KeysAhead): void {
    this.inner.readAhead(keys)
  }

  currentKey(): Uint8Array {
    return this.inner.currentKey()
  }

  setCurrentNamespace(namespace: Uint8Array): void {
    this.inner.setCurrentNamespace(namespace)
  }

  value<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    this.note(descriptor as ValueStateDescriptor<unknown>)
    return this.inner.value(descriptor)
  }

  list<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    this.note(descriptor as ListStateDescriptor<unknown>)
    return this.inner.list(descriptor)
  }

  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V> {
    this.note(descriptor as MapStateDescriptor<unknown, unknown>)
    return this.inner.map(descriptor)
  }

  reducing<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    this.note(descriptor as ReducingStateDescriptor<unknown>)
    return this.inner.reducing(descriptor)
  }

  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    this.note(descriptor as AggregatingStateDescriptor<unknown, unknown, unknown>)
    return this.inner.aggregating(descriptor)
  }

  vector(descriptor: VectorStateDescriptor): VectorState {
    this.note(descriptor)
    return this.inner.vector(descriptor)
  }

  timers(name: string): TimerQueue {
    return this.inner.timers(name)
  }

  answer(request: SlotQueryRequest): SlotQueryReply {
    return this.inner.answer(request)
  }

  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    return this.inner.snapshot(checkpointId, sink, full)
  }

  prefersFull(): boolean {
    return this.inner.prefersFull()
  }

  setSpillSink(sink: ChangeSink): void {
    this.inner.setSpillSink(sink)
  }

  checkpointCompleted(checkpointId: number): void {
    this.inner.checkpointCompleted(checkpointId)
  }

  declarations(): StateDeclaration[] {
    return this.inner.declarations()
  }

  beginRestore(declarations: readonly StateDeclaration[]): void {
    this.inner.beginRestore(declarations)
  }

  expectEntries(entries: number): void {
    this.inner.expectEntries(entries)
  }

  restore(group: number, state: StateName, key: Uint8Array, value: Uint8Array | undefined): void {
    this.inner.restore(group, state, key, value)
  }

  restoreSpan(group: number, state: StateName, entry: EntrySpan): void {
    this.inner.restoreSpan(group, state, entry)
  }

  wantedKeyGroup(): number {
    return this.inner.wantedKeyGroup()
  }

  endRestore(checkpointId: number): void {
    this.inner.endRestore(checkpointId)
  }

  close(): void {
    this.inner.close()
  }

  private note(descriptor: StateDescriptor): void {
    if (descriptor.queryableName !== undefined) this.announce(descriptor)
  }
}
