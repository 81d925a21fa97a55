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
import type { KeyedStateBackend, TimerQueue } from './keyed-state-backend.ts'
import { KeyedTimerQueue } from './keyed-timer-queue.ts'
import { ListStateHandle } from './list-state-handle.ts'
import { MapStateHandle } from './map-state-handle.ts'
import type { RowTableListener } from './row-table-share.ts'
import type { SlotQueryAnswer, SlotQueryReply, SlotQueryRequest } from './slot-query.ts'
import type { ChangeSink, StateDeclaration, StateName, StateSnapshot } from './state-change.ts'
import {
  declarationOf,
  hasExpiry,
  requireSameDeclaration,
  timersDeclaration,
} from './state-format.ts'
import type { StateStore, StateStoreType } from './state-store.ts'
import type { StateTable } from './state-table.ts'
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
  return new SlotKeyedState(options, undefined)
}

/** The keyed state of one operator subtask: typed handles over one memory layer and store. */
class SlotKeyedState implements KeyedStateBackend {
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  private readonly operatorUid: string
  private readonly memory: TypedStateMemory
  private readonly selection = new KeySelection()
  private readonly handles = new Map<string, unknown>()
  private readonly timerQueues = new Map<string, KeyedTimerQueue>()
  private readonly queryable = new Map<string, StateTable>()
  private closed = false

  constructor(options: KeyedStateOptions, store: StateStore | undefined) {
    this.keyGroups = options.keyGroups
    this.maxParallelism = options.maxParallelism
    this.operatorUid = options.operatorUid
    this.memory = new TypedStateMemory({
      keyGroups: options.keyGroups,
      clock: options.clock,
      store,
      budgetBytes: options.memoryBudgetBytes,
    })
    options.metrics.gauge('typedStateBytes', () => this.memory.bytes)
    options.metrics.gauge('typedStateEvictions', () => this.memory.evictions)
  }

  setCurrentKey(key: Uint8Array, keyGroup: number): void {
    this.selection.select(key, keyGroup)
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
    throw new WeirError('UNSUPPORTED', `vector state "${descriptor.name}" is not offered yet`)
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

  snapshot(_checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot {
    this.requireOpen()
    return this.memory.beginSnapshot(sink, full)
  }

  setSpillSink(sink: ChangeSink): void {
    this.memory.setSpillSink(sink)
  }

  checkpointCompleted(_checkpointId: number): void {
    this.requireOpen()
  }

  declarations(): StateDeclaration[] {
    return this.memory.tablesById.map(({ name, kind, format }) => ({ name, kind, format }))
  }

  beginRestore(declarations: readonly StateDeclaration[]): void {
    this.requireOpen()
    this.memory.restoring = true
    for (const declaration of declarations) this.tableFor(declaration)
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
      throw new WeirError(
        'STATE_CONFLICT',
        `a segment of operator "${this.operatorUid}" holds state "${state}" that its checkpoint ` +
          'does not declare',
      )
    }
    this.memory.restore(table, keyGroup, key, value)
  }

  endRestore(_checkpointId: number): void {
    this.memory.endRestore()
    for (const queue of this.timerQueues.values()) queue.rebuild()
  }

  close(): void {
    if (this.closed) return
    this.closed = true
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
    if (request.kind === 'rows') return unknownState(request.keys)
    const table = this.queryable.get(request.queryableName)
    if (request.kind === 'scan') {
      if (table === undefined) return unknownState([request.from])
      return answerScan(table, request.from, request.to, request.limit)
    }
    if (table === undefined) return unknownState(request.keys)
    return request.keys.map((key) => answerKey(table, key, this.maxParallelism))
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
