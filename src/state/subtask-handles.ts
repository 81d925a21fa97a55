import { type Serializer, sharingSerializer } from '../core/serializer.ts'
import { AggregatingStateHandle, ReducingStateHandle } from './handles/appending.ts'
import {
  ExpiringListHandle,
  expiringDescriptor,
  storedDescriptor,
} from './handles/expiring-list.ts'
import { ListStateHandle } from './handles/list.ts'
import { MapStateHandle } from './handles/map.ts'
import { ValueStateHandle } from './handles/value.ts'
import type {
  AggregatingStateDescriptor,
  ListStateDescriptor,
  MapStateDescriptor,
  ReducingStateDescriptor,
  TypedStateDescriptor,
  ValueStateDescriptor,
} from './port/descriptors.ts'
import type { EntryTimers } from './port/entry-timers.ts'
import { declarationOf, timersDeclaration } from './port/format.ts'
import type {
  AppendingState,
  ListState,
  LiveListState,
  LiveValueState,
  MapState,
} from './port/handles.ts'
import type { KeySelection } from './port/key-selection.ts'
import { KeyedTimerQueue } from './timers/queue.ts'
import { keysOf } from './typed/keys.ts'
import type { TypedStates } from './typed/states.ts'
import type { StateTable } from './typed/table.ts'

/** Options of `SubtaskHandles`. */
export interface SubtaskHandlesOptions {
  readonly typed: TypedStates
  /** The key and namespace that every handle reads and writes. */
  readonly selection: KeySelection
  /** Whether functions get the objects of values and lists themselves. */
  readonly reusesObjects: boolean
  /** Throws when a typed state of this name cannot be declared. */
  readonly requireFree: (name: string) => void
  /** Called once for each new state. */
  readonly declared: (descriptor: TypedStateDescriptor, table: StateTable) => void
}

/** The handles of one subtask's typed states and timers: one for each name, over one table each. */
export class SubtaskHandles {
  private readonly options: SubtaskHandlesOptions
  private readonly selection: KeySelection
  private readonly handles = new Map<string, unknown>()
  private readonly timerQueues = new Map<string, KeyedTimerQueue>()

  constructor(options: SubtaskHandlesOptions) {
    this.options = options
    this.selection = options.selection
  }

  liveValue<T>(given: ValueStateDescriptor<T>): LiveValueState<T> {
    const descriptor = this.reusing(given)
    return this.handle(
      descriptor as ValueStateDescriptor<unknown>,
      (table) => new ValueStateHandle(table, this.selection, descriptor.serializer),
    )
  }

  liveList<T>(given: ListStateDescriptor<T>): LiveListState<T> {
    const descriptor = this.reusing(given)
    return this.handle(
      descriptor as ListStateDescriptor<unknown>,
      (table) => new ListStateHandle(table, this.selection, descriptor.serializer),
    )
  }

  /** As `liveList`, also for a list whose elements expire one by one. */
  list<T>(descriptor: ListStateDescriptor<T>): ListState<T> {
    const { ttl } = descriptor
    if (ttl?.perElement !== true) return this.liveList(descriptor)
    const stored = this.liveList(expiringDescriptor(descriptor))
    return new ExpiringListHandle(stored, this.options.typed.clock, ttl.ttlMs)
  }

  map<K, V>(descriptor: MapStateDescriptor<K, V>): MapState<K, V> {
    return this.handle(
      descriptor as MapStateDescriptor<unknown, unknown>,
      (table) => new MapStateHandle(table, this.selection, descriptor),
    )
  }

  reducing<T>(given: ReducingStateDescriptor<T>): AppendingState<T, T> {
    const descriptor = this.reusing(given)
    return this.handle(
      descriptor as ReducingStateDescriptor<unknown>,
      (table) => new ReducingStateHandle(table, this.selection, descriptor),
    )
  }

  aggregating<IN, ACC, OUT>(
    descriptor: AggregatingStateDescriptor<IN, ACC, OUT>,
  ): AppendingState<IN, OUT> {
    return this.handle(
      descriptor as AggregatingStateDescriptor<unknown, unknown, unknown>,
      (table) => new AggregatingStateHandle(table, this.selection, descriptor),
    )
  }

  keysOf(descriptor: TypedStateDescriptor): readonly Uint8Array[] {
    this.options.requireFree(descriptor.name)
    return keysOf(this.options.typed.declare(storedDescriptor(descriptor)))
  }

  timers(name: string): KeyedTimerQueue {
    const existing = this.timerQueues.get(name)
    if (existing !== undefined) return existing
    const declaration = timersDeclaration(name)
    this.options.requireFree(declaration.name)
    const table = this.options.typed.table(declaration)
    table.isClaimed = true
    const queue = new KeyedTimerQueue(table, this.selection)
    this.timerQueues.set(name, queue)
    return queue
  }

  /** As `KeyedState.entryTimers`. */
  entryTimers(
    queue: string,
    descriptor: TypedStateDescriptor,
    namespaceAt?: (timestamp: number) => Uint8Array,
  ): EntryTimers | undefined {
    const { typed } = this.options
    if (typed.store !== undefined) return undefined
    return this.timers(queue).timersOf(typed.table(declarationOf(descriptor)), namespaceAt)
  }

  /** Reads the timers of every queue from its table again, after a restore, in steps. */
  *rebuildTimers(): Generator<void, void> {
    for (const queue of this.timerQueues.values()) yield* queue.rebuild()
  }

  /** The descriptor with a serializer that shares objects, where functions get those of state. */
  private reusing<T, D extends { readonly serializer: Serializer<T> }>(descriptor: D): D {
    if (!this.options.reusesObjects) return descriptor
    return { ...descriptor, serializer: sharingSerializer(descriptor.serializer) }
  }

  private handle<H>(descriptor: TypedStateDescriptor, make: (table: StateTable) => H): H {
    const { typed, requireFree, declared } = this.options
    const { name } = descriptor
    requireFree(name)
    const existing = this.handles.get(name)
    if (existing !== undefined) {
      typed.table(declarationOf(descriptor))
      return existing as H
    }
    const table = typed.declare(descriptor)
    declared(descriptor, table)
    const handle = make(table)
    this.handles.set(name, handle)
    return handle
  }
}
