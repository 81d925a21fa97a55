import type { Clock } from '../../core/clock.ts'
import type { KeyGroupRange } from '../../core/key-group.ts'
import { copierOf, type Serializer } from '../../core/serializer.ts'
import type { ChangeSink, StateDeclaration, StateName } from '../port/change.ts'
import type { TypedStateDescriptor } from '../port/descriptors.ts'
import {
  cannotEvolve,
  declarationOf,
  hasExpiry,
  requireSameDeclaration,
  upToDate,
} from '../port/format.ts'
import type { DroppedEntries } from '../port/restorable-state.ts'
import type { StateStore } from '../store/state-store.ts'
import { EntryEncoder } from './entry-encoder.ts'
import { evolutionOf } from './evolution.ts'
import { expectFormerType } from './former-types.ts'
import { TypedRestore } from './restore.ts'
import { TypedStateSnapshot } from './snapshot.ts'
import { TypedSpill, timersWithin } from './spill.ts'
import { StateTable } from './table.ts'
import type { TableContext } from './table-context.ts'

/** Fewer changed entries are never a reason for a full snapshot. */
const FEWEST_FOR_FULL = 4096
/** Bytes of heap that all entries may take for each changed one in a full snapshot made by choice. */
const LARGEST_FOR_FULL = 1024

/** Until its handle is declared, restored state with expiry times is only kept, never renewed. */
const RESTORED_TTL = { ttlMs: 0, renewOnRead: false }

/** Options of `TypedStates`. */
export interface TypedStatesOptions {
  readonly operatorUid: string
  readonly keyGroups: KeyGroupRange
  readonly clock: Clock
  /** Receives entries that memory has no room for; without it memory holds everything. */
  readonly store: StateStore | undefined
  /** Bytes of entries kept in memory at this time; asked only with a store, when memory has grown. */
  readonly budgetBytes: () => number
}

/**
 * The typed states of one subtask: their tables by name, which share one memory budget above one
 * store. It counts bytes, evicts when the budget is exceeded, and numbers the checkpoint intervals.
 */
export class TypedStates implements TableContext<StateTable> {
  readonly keyGroups: KeyGroupRange
  readonly clock: Clock
  readonly store: StateStore | undefined
  private readonly operatorUid: string
  private readonly tables = new Map<string, StateTable>()
  readonly tablesById: StateTable[] = []
  bytes = 0
  epoch = 1
  snapshot: TypedStateSnapshot | undefined
  restoring = false
  /** Whether segments that a snapshot builds on have entries in a former form. */
  hasEvolved = false
  /** Full snapshots begun; marks entries that one has dealt with. */
  private fullSnapshots = 0
  /** Bytes to keep below, as they were asked for last; infinite without a store. */
  private limitBytes = Number.POSITIVE_INFINITY
  private readonly budgetBytes: () => number
  private readonly encoder = new EntryEncoder()
  private readonly spill: TypedSpill | undefined
  private readonly restored: TypedRestore
  /** The sink of a snapshot failed, so its changes are lost: the next one must hold everything. */
  private snapshotFailed = false

  constructor(options: TypedStatesOptions) {
    const { store } = options
    this.operatorUid = options.operatorUid
    this.keyGroups = options.keyGroups
    this.clock = options.clock
    this.store = store
    this.budgetBytes = options.budgetBytes
    if (store !== undefined) {
      this.limitBytes = this.budgetBytes()
      this.spill = new TypedSpill({ context: this, store, tables: this.tablesById })
    }
    this.restored = new TypedRestore(this)
  }

  /** Entries that left memory for the store. */
  get evictions(): number {
    return this.spill?.evictions ?? 0
  }

  get timersInMemory(): number {
    return timersWithin(this.limitBytes)
  }

  /** Asks for the budget again, which may be smaller now. */
  adjust(): void {
    if (this.spill === undefined) return
    this.limitBytes = this.budgetBytes()
    if (this.bytes > this.limitBytes) this.spill.evict(this.limitBytes)
  }

  has(name: string): boolean {
    return this.tables.has(name)
  }

  /** The table of a state by its name in segments; undefined when it is not known. */
  of(state: StateName): StateTable | undefined {
    return this.tables.get(state)
  }

  /** The table of a state, created when it is new. Throws STATE_CONFLICT as `table`. */
  declare(descriptor: TypedStateDescriptor): StateTable {
    const declaration = declarationOf(descriptor)
    const known = this.tables.get(declaration.name)
    if (known !== undefined && this.restoring) this.evolve(known, declaration, descriptor)
    const table = this.table(declaration)
    table.serializer = descriptor.serializer as Serializer<unknown>
    table.shares = copierOf(table.serializer)?.shares === true
    if (descriptor.kind === 'value') table.queryView = descriptor.queryView
    const { ttl } = descriptor
    if (ttl !== undefined) {
      table.ttl = { ttlMs: ttl.ttlMs, renewOnRead: ttl.renewOn === 'read-and-write' }
    }
    return table
  }

  /**
   * The table of a declaration, created when it is new. Throws STATE_CONFLICT when it exists with
   * another one.
   */
  table(stored: StateDeclaration): StateTable {
    const declaration = upToDate(stored)
    const existing = this.tables.get(declaration.name)
    if (existing !== undefined) {
      requireSameDeclaration(declaration, existing, this.operatorUid)
      return existing
    }
    const table = new StateTable(this, this.tablesById.length, declaration)
    if (declaration.kind === 'timers') table.evictable = false
    if (hasExpiry(declaration.format)) table.ttl = RESTORED_TTL
    this.tables.set(declaration.name, table)
    this.tablesById.push(table)
    return table
  }

  /**
   * Gives a state that is to be restored the form in which it is declared. Where that cannot be, the first entry of it
   * throws STATE_CONFLICT.
   */
  private evolve(
    known: StateTable,
    declaration: StateDeclaration,
    descriptor: TypedStateDescriptor,
  ): void {
    const { operatorUid } = this
    const isSame = known.kind !== declaration.kind || known.format === declaration.format
    if (isSame || known.serializer !== undefined || known.holdsRestored) return
    const { name, kind, format } = known
    const evolution = evolutionOf(known, descriptor)
    this.restored.evolutions.set(known, (key, value, nowMs) => {
      if (typeof evolution === 'function') return evolution(key, value, nowMs)
      throw cannotEvolve({ name, kind, format }, declaration, { operatorUid, reason: evolution })
    })
    known.format = declaration.format
    known.ttl = undefined
    this.hasEvolved = true
  }

  declarations(): StateDeclaration[] {
    return [...this.tables.values()].map(({ name, kind, format }) => ({ name, kind, format }))
  }

  setSpillSink(sink: ChangeSink): void {
    if (this.spill !== undefined) this.spill.sink = sink
  }

  /**
   * Whether most entries changed since the last snapshot and all are small and in memory: copying
   * everything then takes hardly more than copying the changes, and spares merging segments later.
   */
  prefersFull(): boolean {
    if (this.evictions > 0 || this.restoring) return false
    let dirty = 0
    let entries = 0
    for (const table of this.tablesById) {
      dirty += table.dirty.length
      entries += table.entries.length
    }
    if (dirty < FEWEST_FOR_FULL || dirty * 2 < entries) return false
    return this.bytes <= dirty * LARGEST_FOR_FULL
  }

  /** Begins the next interval; a snapshot still in progress is completed first. */
  beginSnapshot(sink: ChangeSink, full: boolean): TypedStateSnapshot {
    this.completeSnapshot()
    const changesLost = this.spill?.takeChangesLost() ?? false
    const everything = full || changesLost || this.snapshotFailed
    this.snapshotFailed = false
    if (full) this.hasEvolved = false
    if (everything) this.fullSnapshots += 1
    this.snapshot = new TypedStateSnapshot({
      context: this,
      tables: this.tablesById,
      sink,
      encoder: this.encoder,
      fullNumber: everything ? this.fullSnapshots : undefined,
      onFinished: () => this.endSnapshot(),
    })
    this.epoch += 1
    return this.snapshot
  }

  private completeSnapshot(): void {
    try {
      this.snapshot?.step(Number.POSITIVE_INFINITY)
    } catch {
      this.snapshotFailed = true
    }
    this.snapshot = undefined
  }

  private endSnapshot(): void {
    this.snapshot = undefined
    this.adjust()
  }

  settle(): void {
    if (this.bytes > this.limitBytes) this.adjust()
  }

  /** Opens a restore: until it ends, a missing key answers RESTORING. */
  beginRestore(): void {
    this.restoring = true
  }

  /** Takes one entry of a segment, unless a newer one of the key was taken before. */
  restore(
    table: StateTable,
    keyGroup: number,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): void {
    this.restored.take(table, keyGroup, key, value)
  }

  /** From now on each state expects a first value of the type that its restored ones have. */
  expectFormerTypes(): void {
    for (const table of this.tablesById) expectFormerType(table)
  }

  /** All entries have come; the work is done in steps. */
  endRestore(): Generator<void, void> {
    this.restoring = false
    return this.restored.end()
  }

  /** States with restored entries that no operator has declared, and their bytes in memory. */
  unclaimed(): readonly DroppedEntries[] {
    return this.tablesById
      .filter(({ serializer, kind, isClaimed, holdsRestored }) => {
        return holdsRestored && (kind === 'timers' ? !isClaimed : serializer === undefined)
      })
      .map((table) => ({ state: table.name, bytes: bytesOf(table) }))
  }

  /** Names of all states. */
  names(): readonly string[] {
    return [...this.tables.keys()]
  }

  /** Forgets the states that no operator has declared, and the timers of queues that none has opened; returns their names. */
  dropUndeclared(): readonly string[] {
    const dropped = [...this.tables.values()].filter(({ serializer, kind, isClaimed }) =>
      kind === 'timers' ? !isClaimed : serializer === undefined,
    )
    for (const { name } of dropped) this.tables.delete(name)
    return dropped.map(({ name }) => name)
  }

  /** Releases the store; idempotent. */
  close(): void {
    this.store?.close()
  }
}

/** Bytes of keys and encoded values. */
function bytesOf({ entries }: StateTable): number {
  let bytes = 0
  for (const { key, value } of entries) {
    bytes += key.length + (value instanceof Uint8Array ? value.length : 0)
  }
  return bytes
}
