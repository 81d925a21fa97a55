import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { containsKeyGroup, type KeyGroupRange } from '../core/key-group.ts'
import type { MetricGroup } from '../core/metrics.ts'
import { DroppedStates } from './dropped-states.ts'
import {
  type ChangeSink,
  type EntrySpan,
  keyOfSpan,
  type StateDeclaration,
  type StateName,
  type StateSnapshot,
  valueOfSpan,
} from './port/change.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  StateDescriptor,
  TypedStateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from './port/descriptors.ts'
import type { EntryTimers } from './port/entry-timers.ts'
import type { FrequentKey } from './port/frequent-key.ts'
import type {
  AppendingState,
  ListState,
  LiveListState,
  LiveValueState,
  MapState,
  ValueState,
  VectorState,
} from './port/handles.ts'
import { KeySelection } from './port/key-selection.ts'
import type { KeysAhead } from './port/keyed-input.ts'
import type { KeyedStateBackend } from './port/keyed-state-backend.ts'
import type { DroppedEntries } from './port/restorable-state.ts'
import { finished } from './port/scan-part.ts'
import type { SlotQueryReply, SlotQueryRequest } from './port/slot-query.ts'
import type { TimerQueue } from './port/timer-queue.ts'
import type { RowTableListener } from './rows/share.ts'
import type { MemoryUser, SlotMemory } from './slot-memory.ts'
import { JoinedSnapshot } from './snapshot/joined.ts'
import type { StateStore } from './store/state-store.ts'
import { SubtaskHandles } from './subtask-handles.ts'
import { SubtaskQueries } from './subtask-queries.ts'
import { FormerKeys } from './typed/former-types.ts'
import { TypedReadAhead } from './typed/read-ahead.ts'
import { TypedStates } from './typed/states.ts'
import { conflictWithVector, VectorStates } from './vector/states.ts'

/** Observer of one backend's state; its slot passes on what it is notified of. */
export interface KeyedStateListener extends RowTableListener {
  /** A queryable state was declared; called once, before row tables of it open. */
  queryableDeclared(descriptor: StateDescriptor): void
}

/** Options of `SubtaskKeyedState`. */
export interface SubtaskKeyedStateOptions {
  readonly operatorUid: string
  readonly slot: number
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  /** Id of the serializer of keys; unknown when missing. */
  readonly keyFormat?: string | undefined
  /** Bytes of state kept in memory, row tables and typed state together; `heap` keeps everything. */
  readonly memoryBudgetBytes: number
  /** Whether functions get the objects of values and lists themselves, as they promise to change none. @default false */
  readonly reusesObjects?: boolean
  /** Memory of all operators of the slot: typed state also takes what the others leave. An even share of it overrides the budget. */
  readonly slotMemory?: SlotMemory | undefined
  readonly clock: Clock
  readonly listener: KeyedStateListener
  readonly metrics: MetricGroup
}

/** Share of the budget that typed state may take where row tables need memory too. */
const TYPED_SHARE = 4

/**
 * The keyed state of one operator subtask: typed and vector state under one memory budget, over one store. Above 300
 * lines because it answers each call of the ports; the work is done by its parts.
 */
export class SubtaskKeyedState implements KeyedStateBackend, MemoryUser {
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  private readonly operatorUid: string
  private readonly listener: KeyedStateListener
  private readonly typed: TypedStates
  private readonly selection = new KeySelection()
  readonly keyMemory = this.selection
  private readonly ahead: TypedReadAhead
  private keysAhead: KeysAhead | undefined
  private readonly handles: SubtaskHandles
  private readonly vectors: VectorStates
  private readonly queries: SubtaskQueries
  private readonly budgetBytes: () => number
  private readonly slotMemory: SlotMemory | undefined
  private hasVectors = false
  private spillSink: ChangeSink | undefined
  /** Changed rows left memory while there was no spill sink: the next snapshot must hold all. */
  private rowsLost = false
  private readonly dropped = new DroppedStates()
  private dropsAll = false
  /** The types of restored keys, where their serializer writes several, and those that the first record must have. */
  private readonly formerKeys: FormerKeys | undefined
  private expectedKeys: FormerKeys | undefined
  private closed = false

  constructor(options: SubtaskKeyedStateOptions, store: StateStore | undefined) {
    this.keyGroups = options.keyGroups
    this.maxParallelism = options.maxParallelism
    this.operatorUid = options.operatorUid
    this.formerKeys = options.keyFormat === 'key/1' ? new FormerKeys() : undefined
    this.listener = options.listener
    this.ahead = new TypedReadAhead(options.maxParallelism)
    this.budgetBytes = () => options.slotMemory?.evenShare ?? options.memoryBudgetBytes
    this.slotMemory = options.slotMemory
    this.typed = new TypedStates({
      operatorUid: options.operatorUid,
      keyGroups: options.keyGroups,
      clock: options.clock,
      store,
      budgetBytes: () => this.typedBudget(),
    })
    this.slotMemory?.add(this)
    const losingSink: ChangeSink = {
      append: () => {
        this.rowsLost = true
      },
    }
    this.vectors = new VectorStates({
      ...options,
      store,
      budgetBytes: () => this.budgetBytes() - this.typed.bytes,
      spillSink: () => this.spillSink ?? losingSink,
    })
    this.queries = new SubtaskQueries({ ...options, vectors: this.vectors })
    this.handles = new SubtaskHandles({
      typed: this.typed,
      selection: this.selection,
      reusesObjects: options.reusesObjects ?? false,
      requireFree: (name) => {
        this.requireOpen()
        this.requireNoVector(name)
      },
      declared: (descriptor, table) => {
        const { queryableName } = descriptor
        if (queryableName === undefined) return
        this.queries.add(queryableName, table)
        this.listener.queryableDeclared(descriptor)
      },
    })
    options.metrics.gauge('rowTableBytes', () => this.vectors.memoryBytes)
    options.metrics.gauge('typedStateBytes', () => this.typed.bytes)
    options.metrics.gauge('typedStateEvictions', () => this.typed.evictions)
  }

  get memoryBytes(): number {
    return this.typed.bytes + this.vectors.memoryBytes
  }

  setCurrentKey(key: Uint8Array, keyGroup: number): void {
    this.selection.select(key, keyGroup)
  }

  setKeyAhead(key: Uint8Array, keyGroup: number, ahead: number): void {
    this.selection.selectHashed(key, keyGroup, this.keysAhead!.hashes[ahead]!)
  }

  setFrequentKey(key: FrequentKey): void {
    this.selection.selectFrequent(key)
  }

  readAhead(keys: KeysAhead): void {
    this.expectedKeys?.check(this.operatorUid, keys)
    this.expectedKeys = undefined
    this.keysAhead = keys
    this.vectors.readAhead(keys.hashes, keys.count)
    if (this.selection.namespace.length === 0) this.ahead.read(this.typed.tablesById, keys)
  }

  deselectKey(): void {
    this.selection.deselect()
  }

  currentKey(): Uint8Array {
    return this.selection.selected()
  }

  setCurrentNamespace(namespace: Uint8Array): void {
    this.selection.selectNamespace(namespace)
  }

  setLastingNamespace(namespace: Uint8Array): void {
    this.selection.selectLasting(namespace)
  }

  value<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    return this.handles.liveValue(descriptor)
  }

  liveValue<T>(descriptor: ValueStateDescriptor<T>): LiveValueState<T> {
    return this.handles.liveValue(descriptor)
  }

  list<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.handles.list(descriptor)
  }

  liveList<T>(descriptor: ListStateDescriptor<T>): LiveListState<T> {
    return this.handles.liveList(descriptor)
  }

  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V> {
    return this.handles.map(descriptor)
  }

  reducing<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    return this.handles.reducing(descriptor)
  }

  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    return this.handles.aggregating(descriptor)
  }

  vector(descriptor: VectorStateDescriptor): VectorState {
    this.requireOpen()
    const { name, queryableName } = descriptor
    if (this.typed.has(name)) throw conflictWithVector(name, this.operatorUid)
    const isNew = queryableName !== undefined && !this.vectors.has(name)
    if (isNew) this.listener.queryableDeclared(descriptor)
    const state = this.vectors.declare(descriptor)
    this.hasVectors = true
    this.typed.adjust()
    return state
  }

  keysOf(descriptor: TypedStateDescriptor): readonly Uint8Array[] {
    return this.handles.keysOf(descriptor)
  }

  timers(name: string): TimerQueue {
    return this.handles.timers(name)
  }

  entryTimers(
    queue: string,
    descriptor: TypedStateDescriptor,
    namespaceAt?: (timestamp: number) => Uint8Array,
  ): EntryTimers | undefined {
    return this.handles.entryTimers(queue, descriptor, namespaceAt)
  }

  /** Answers without a pause. Throws as `answerInSteps`. */
  answer(request: SlotQueryRequest): SlotQueryReply {
    return finished(this.answerInSteps(request))
  }

  *answerInSteps(request: SlotQueryRequest): Generator<void, SlotQueryReply> {
    return { id: request.id, ...(yield* this.queries.answer(request)) }
  }

  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    this.requireOpen()
    const everyRow = full || this.rowsLost
    this.rowsLost = false
    if (full) this.dropped.inSegments = false
    return new JoinedSnapshot([
      this.typed.beginSnapshot(sink, full),
      ...this.vectors.snapshots(checkpointId, sink, everyRow),
    ])
  }

  prefersFull(): boolean {
    if (this.vectors.needsFull || this.dropped.inSegments || this.typed.hasEvolved) return true
    return this.vectors.declarations().length === 0 && this.typed.prefersFull()
  }

  setSpillSink(sink: ChangeSink): void {
    this.spillSink = sink
    this.typed.setSpillSink(sink)
  }

  checkpointCompleted(checkpointId: number): void {
    this.requireOpen()
    this.vectors.checkpointCompleted(checkpointId)
  }

  declarations(): StateDeclaration[] {
    return [...this.typed.declarations(), ...this.vectors.declarations()]
  }

  beginRestore(declarations: readonly StateDeclaration[]): void {
    this.requireOpen()
    this.typed.beginRestore()
    this.vectors.restored.begin(declarations)
    for (const declaration of declarations) {
      if (declaration.kind === 'vector') continue
      this.requireNoVector(declaration.name)
      this.typed.table(declaration)
    }
  }

  dropUndeclared(): void {
    this.dropped.add([...this.typed.dropUndeclared(), ...this.vectors.restored.dropUndeclared()])
  }

  dropAll(): void {
    this.dropsAll = true
    this.dropped.add(this.typed.names())
  }

  droppedEntries(): readonly DroppedEntries[] {
    return this.dropped.entries()
  }

  expectEntries(entries: number): void {
    this.vectors.restored.expectEntries(entries)
  }

  restore(
    keyGroup: number,
    state: StateName,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): void {
    if (!containsKeyGroup(this.keyGroups, keyGroup)) return
    if (this.dropsAll && this.dropped.take(state, key, value)) return
    const table = this.typed.of(state)
    if (table === undefined) {
      if (this.dropped.take(state, key, value)) return
      if (this.vectors.restored.take(keyGroup, state, key, value)) return
      throw new WeirError(
        'STATE_CONFLICT',
        `a segment of operator "${this.operatorUid}" holds state "${state}" that its checkpoint ` +
          'does not declare',
      )
    }
    if (table.kind !== 'timers') this.formerKeys?.add(key)
    this.typed.restore(table, keyGroup, key, value)
  }

  restoreSpan(keyGroup: number, state: StateName, entry: EntrySpan): void {
    if (!containsKeyGroup(this.keyGroups, keyGroup)) return
    if (this.vectors.restored.takeSpan(state, entry)) return
    this.restore(keyGroup, state, keyOfSpan(entry), valueOfSpan(entry))
  }

  wantedKeyGroup(): number {
    return this.vectors.restored.wantedKeyGroup()
  }

  endRestore(checkpointId: number): void {
    finished(this.endRestoreInSteps(checkpointId))
  }

  *endRestoreInSteps(checkpointId: number): Generator<void, void> {
    yield* this.typed.endRestore()
    this.vectors.restored.end(checkpointId)
    yield* this.handles.rebuildTimers()
  }

  expectFormerTypes(): void {
    this.expectedKeys = this.formerKeys
    this.typed.expectFormerTypes()
  }

  unclaimedStates(): readonly DroppedEntries[] {
    return [...this.typed.unclaimed(), ...this.vectors.restored.unclaimed()]
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.slotMemory?.delete(this)
    this.vectors.close()
    this.typed.close()
  }

  private typedBudget(): number {
    // Row tables do not shrink, so beside them typed state takes nothing that others may want back.
    if (this.hasVectors) return this.budgetBytes() / TYPED_SHARE
    return Math.max(this.budgetBytes(), this.slotMemory?.leftFor(this) ?? 0)
  }

  private requireNoVector(name: string): void {
    if (this.vectors.has(name)) throw conflictWithVector(name, this.operatorUid)
  }

  private requireOpen(): void {
    if (this.closed) {
      throw new WeirError('ILLEGAL_STATE', `the state of "${this.operatorUid}" is closed`)
    }
  }
}
