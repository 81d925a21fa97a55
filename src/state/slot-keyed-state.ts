import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { containsKeyGroup, type KeyGroupRange } from '../core/key-group.ts'
import type { MetricGroup } from '../core/metrics.ts'
import type { Serializer } from '../core/serializer.ts'
import { AggregatingStateHandle, ReducingStateHandle } from './appending-state-handle.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  StateDescriptor,
  ValueStateDescriptor,
  VectorStateDescriptor,
} from './descriptors.ts'
import type { AppendingState, ListState, MapState, ValueState, VectorState } from './handles.ts'
import { KeySelection } from './key-selection.ts'
import type { KeyedStateBackend, KeysAhead, TimerQueue } from './keyed-state-backend.ts'
import { KeyedTimerQueue } from './keyed-timer-queue.ts'
import { conflictWithVector, KeyedVectorStates } from './keyed-vector-states.ts'
import { ListStateHandle } from './list-state-handle.ts'
import { MapStateHandle } from './map-state-handle.ts'
import { openStateStore } from './open-state-store.ts'
import type { RowTableListener } from './row-table-share.ts'
import type { SlotQueryAnswer, SlotQueryReply, SlotQueryRequest } from './slot-query.ts'
import {
  type ChangeSink,
  type EntrySpan,
  keyOfSpan,
  type StateDeclaration,
  type StateName,
  type StateSnapshot,
  valueOfSpan,
} from './state-change.ts'
import {
  declarationOf,
  hasExpiry,
  requireSameDeclaration,
  timersDeclaration,
} from './state-format.ts'
import type { StateStore, StateStoreType } from './state-store.ts'
import type { StateTable } from './state-table.ts'
import { TypedReadAhead } from './typed-read-ahead.ts'
import { TypedStateMemory } from './typed-state-memory.ts'
import { answerKey, answerScan } from './typed-state-query.ts'
import { ValueStateHandle } from './value-state-handle.ts'

/** What a keyed state backend is made of. */
export interface KeyedStateOptions {
  readonly operatorUid: string
  readonly slot: number
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  readonly storeType: StateStoreType
  /** A folder of this subtask alone; emptied when the backend opens. Not used by `heap`. */
  readonly storeDirectory: string
  /** Bytes of state kept in memory, row tables and typed state together; `heap` keeps everything. */
  readonly memoryBudgetBytes: number
  readonly clock: Clock
  /** Is told which row tables come and go. */
  readonly listener: RowTableListener
  readonly metrics: MetricGroup
}

/** Opens the keyed state of one operator subtask, empty. Throws STORE_FAILED. */
export async function createKeyedStateBackend(
  options: KeyedStateOptions,
): Promise<KeyedStateBackend> {
  if (options.storeType === 'heap') return new SlotKeyedState(options, undefined)
  const engineBytes = Math.min(
    Math.max(options.memoryBudgetBytes / ENGINE_SHARE, MIN_ENGINE_BYTES),
    MAX_ENGINE_BYTES,
  )
  const store = await openStateStore(options.storeType, options.storeDirectory, {
    blockCacheBytes: Math.floor(engineBytes),
    writeBufferBytes: Math.floor(engineBytes),
  })
  return new SlotKeyedState(options, store)
}

/** The engine's block cache and write buffers take this share of the budget each, on top of it. */
const ENGINE_SHARE = 16
const MIN_ENGINE_BYTES = 8 * 1024 * 1024
const MAX_ENGINE_BYTES = 64 * 1024 * 1024
/** Share of the budget that typed state may take where row tables need memory too. */
const TYPED_SHARE = 4

/** The keyed state of one operator subtask: typed handles over one memory layer and store. */
class SlotKeyedState implements KeyedStateBackend {
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  private readonly operatorUid: string
  private readonly memory: TypedStateMemory
  private readonly selection = new KeySelection()
  private readonly ahead: TypedReadAhead
  private readonly handles = new Map<string, unknown>()
  private readonly timerQueues = new Map<string, KeyedTimerQueue>()
  private readonly queryable = new Map<string, StateTable>()
  private readonly vectors: KeyedVectorStates
  private readonly budgetBytes: number
  private spillSink: ChangeSink | undefined
  /** Changed rows left memory while nobody collected them: the next snapshot must hold all rows. */
  private rowsSpilledUnseen = false
  private closed = false

  constructor(options: KeyedStateOptions, store: StateStore | undefined) {
    this.keyGroups = options.keyGroups
    this.maxParallelism = options.maxParallelism
    this.operatorUid = options.operatorUid
    this.ahead = new TypedReadAhead(options.maxParallelism)
    this.memory = new TypedStateMemory({
      keyGroups: options.keyGroups,
      clock: options.clock,
      store,
      budgetBytes: options.memoryBudgetBytes,
    })
    this.budgetBytes = options.memoryBudgetBytes
    const unseenSink: ChangeSink = { append: () => this.noteUnseen() }
    this.vectors = new KeyedVectorStates({
      ...options,
      store,
      budgetBytes: () => this.budgetBytes - this.memory.bytes,
      spillSink: () => this.spillSink ?? unseenSink,
    })
    options.metrics.gauge('rowTableBytes', () => this.vectors.memoryBytes)
    options.metrics.gauge('typedStateBytes', () => this.memory.bytes)
    options.metrics.gauge('typedStateEvictions', () => this.memory.evictions)
  }

  setCurrentKey(key: Uint8Array, keyGroup: number): void {
    this.selection.select(key, keyGroup)
  }

  readAhead(keys: KeysAhead): void {
    this.vectors.readAhead(keys.hashes, keys.count)
    if (this.selection.namespace.length === 0) this.ahead.read(this.memory.tablesById, keys)
  }

  currentKey(): Uint8Array {
    return this.selection.key
  }

  setCurrentNamespace(namespace: Uint8Array): void {
    this.selection.selectNamespace(namespace)
  }

  value<T>(descriptor: ValueStateDescriptor<T>): ValueState<T> {
    return this.handle(
      descriptor as ValueStateDescriptor<unknown>,
      (table) => new ValueStateHandle(table, this.selection, descriptor.serializer),
    )
  }

  list<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    return this.handle(
      descriptor as ListStateDescriptor<unknown>,
      (table) => new ListStateHandle(table, this.selection, descriptor.serializer),
    )
  }

  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V> {
    const { keySerializer, serializer } = descriptor
    return this.handle(
      descriptor as MapStateDescriptor<unknown, unknown>,
      (table) => new MapStateHandle(table, this.selection, keySerializer, serializer),
    )
  }

  reducing<T>(descriptor: ReducingStateDescriptor<T>): AppendingState<T, T> {
    const { serializer, reduce } = descriptor
    return this.handle(
      descriptor as ReducingStateDescriptor<unknown>,
      (table) => new ReducingStateHandle(table, this.selection, serializer, reduce),
    )
  }

  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    const { serializer, aggregate } = descriptor
    return this.handle(
      descriptor as AggregatingStateDescriptor<unknown, unknown, unknown>,
      (table) => new AggregatingStateHandle(table, this.selection, serializer, aggregate),
    )
  }

  vector(descriptor: VectorStateDescriptor): VectorState {
    this.requireOpen()
    if (this.memory.tables.has(descriptor.name)) {
      throw conflictWithVector(descriptor.name, this.operatorUid)
    }
    const state = this.vectors.declare(descriptor)
    this.memory.setBudget(this.budgetBytes / TYPED_SHARE)
    return state
  }

  timers(name: string): TimerQueue {
    const existing = this.timerQueues.get(name)
    if (existing !== undefined) return existing
    const table = this.tableFor(timersDeclaration(name))
    table.evictable = false
    const queue = new KeyedTimerQueue(table, this.selection)
    this.timerQueues.set(name, queue)
    return queue
  }

  answer(request: SlotQueryRequest): SlotQueryReply {
    return { id: request.id, answers: this.answersTo(request) }
  }

  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    this.requireOpen()
    const everyRow = full || this.rowsSpilledUnseen
    this.rowsSpilledUnseen = false
    return new JoinedSnapshot([
      this.memory.beginSnapshot(sink, full),
      ...this.vectors.snapshots(checkpointId, sink, everyRow),
    ])
  }

  prefersFull(): boolean {
    return this.vectors.declarations().length === 0 && this.memory.prefersFull()
  }

  setSpillSink(sink: ChangeSink): void {
    this.spillSink = sink
    this.memory.setSpillSink(sink)
  }

  checkpointCompleted(checkpointId: number): void {
    this.requireOpen()
    this.vectors.checkpointCompleted(checkpointId)
  }

  declarations(): StateDeclaration[] {
    const typed = this.memory.tablesById.map(({ name, kind, format }) => ({ name, kind, format }))
    return [...typed, ...this.vectors.declarations()]
  }

  beginRestore(declarations: readonly StateDeclaration[]): void {
    this.requireOpen()
    this.memory.restoring = true
    this.vectors.beginRestore(declarations)
    for (const declaration of declarations) {
      if (declaration.kind !== 'vector') this.tableFor(declaration)
    }
  }

  expectEntries(entries: number): void {
    this.vectors.expectEntries(entries)
  }

  restore(
    keyGroup: number,
    state: StateName,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): void {
    if (!containsKeyGroup(this.keyGroups, keyGroup)) return
    const table = this.memory.tables.get(state)
    if (table === undefined) {
      if (this.vectors.restore(keyGroup, state, key, value)) return
      throw new WeirError(
        'STATE_CONFLICT',
        `a segment of operator "${this.operatorUid}" holds state "${state}" that its checkpoint ` +
          'does not declare',
      )
    }
    this.memory.restore(table, keyGroup, key, value)
  }

  restoreSpan(keyGroup: number, state: StateName, entry: EntrySpan): void {
    if (!containsKeyGroup(this.keyGroups, keyGroup)) return
    if (this.vectors.restoreSpan(state, entry)) return
    this.restore(keyGroup, state, keyOfSpan(entry), valueOfSpan(entry))
  }

  wantedKeyGroup(): number {
    return this.vectors.wantedKeyGroup()
  }

  endRestore(checkpointId: number): void {
    this.memory.endRestore()
    this.vectors.endRestore(checkpointId)
    for (const queue of this.timerQueues.values()) queue.rebuild()
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.vectors.close()
    this.memory.close()
  }

  private handle<H>(
    descriptor: Exclude<StateDescriptor, { kind: 'vector' }>,
    make: (table: StateTable) => H,
  ): H {
    this.requireOpen()
    const table = this.tableFor(declarationOf(descriptor))
    const existing = this.handles.get(descriptor.name)
    if (existing !== undefined) return existing as H
    table.serializer = descriptor.serializer as Serializer<unknown>
    if (descriptor.ttl !== undefined) {
      table.ttl = {
        ttlMs: descriptor.ttl.ttlMs,
        renewOnRead: descriptor.ttl.renewOn === 'read-and-write',
      }
    }
    if (descriptor.queryableName !== undefined) this.queryable.set(descriptor.queryableName, table)
    const handle = make(table)
    this.handles.set(descriptor.name, handle)
    return handle
  }

  /** The table of a declaration. Throws STATE_CONFLICT when it exists with another one. */
  private tableFor(declaration: StateDeclaration): StateTable {
    if (this.vectors.has(declaration.name)) {
      throw conflictWithVector(declaration.name, this.operatorUid)
    }
    const known = this.memory.tables.get(declaration.name)
    if (known !== undefined) requireSameDeclaration(declaration, known, this.operatorUid)
    const table = this.memory.table(declaration)
    if (known === undefined) {
      if (declaration.kind === 'timers') table.evictable = false
      if (hasExpiry(declaration.format)) table.ttl = RESTORED_TTL
    }
    return table
  }

  private answersTo(request: SlotQueryRequest): SlotQueryAnswer[] {
    switch (request.kind) {
      case 'rows':
        return request.operatorUid === this.operatorUid
          ? this.vectors.answerRows(
              request.state,
              request.version,
              request.keys,
              request.bring === true,
            )
          : unknownState(request.keys)
      case 'scan': {
        const { queryableName, version, from, to, limit, stored } = request
        if (stored !== undefined) {
          return stored.operatorUid === this.operatorUid
            ? this.vectors.storedPage(stored.state, version, from, limit)
            : unknownState([from])
        }
        const table = this.queryable.get(queryableName)
        if (table !== undefined) return answerScan(table, from, to, limit)
        return this.vectors.scan(queryableName, version, from, to, limit) ?? unknownState([from])
      }
      case 'values': {
        const table = this.queryable.get(request.queryableName)
        if (table === undefined) return unknownState(request.keys)
        return request.keys.map((key) => answerKey(table, key, this.maxParallelism))
      }
    }
  }

  private noteUnseen(): void {
    this.rowsSpilledUnseen = true
  }

  private requireOpen(): void {
    if (this.closed) {
      throw new WeirError('ILLEGAL_STATE', `the state of "${this.operatorUid}" is closed`)
    }
  }
}

/** Until its handle is declared, restored state with expiry times is only kept, never renewed. */
const RESTORED_TTL = { ttlMs: 0, renewOnRead: false }

function unknownState(keys: readonly Uint8Array[]): SlotQueryAnswer[] {
  return keys.map((key) => ({ kind: 'unknown-state', key }))
}

/** Several snapshots of one barrier as one. */
class JoinedSnapshot implements StateSnapshot {
  private readonly parts: readonly StateSnapshot[]
  private current = 0

  constructor(parts: readonly StateSnapshot[]) {
    this.parts = parts
  }

  get entries(): number {
    return this.parts.reduce((sum, part) => sum + part.entries, 0)
  }

  step(budgetMs: number): boolean {
    const part = this.parts[this.current]
    if (part?.step(budgetMs)) this.current += 1
    return this.current >= this.parts.length
  }
}
