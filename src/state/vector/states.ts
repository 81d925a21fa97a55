import type { ByteWriter } from '../../core/byte-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { KeyGroupRange } from '../../core/key-group.ts'
import type { ChangeSink, StateDeclaration, StateSnapshot } from '../port/change.ts'
import type { VectorStateDescriptor } from '../port/descriptors.ts'
import { requireSameDeclaration, vectorDeclaration } from '../port/format.ts'
import type { VectorState } from '../port/handles.ts'
import { type KeyRange, mergeScanParts, type ScanPart } from '../port/scan-part.ts'
import type { SlotQueryAnswer } from '../port/slot-query.ts'
import type { RowTableListener } from '../rows/share.ts'
import type { StateStore } from '../store/state-store.ts'
import { type DeclaredState, RestoredStates } from './restored-states.ts'
import { VersionedRows } from './versioned-rows.ts'

/** First byte of the row tables' keys in the store, which they share with typed state. */
const STORE_PREFIX = 0x80

/** Options of `VectorStates`. */
export interface VectorStatesOptions {
  readonly operatorUid: string
  readonly slot: number
  readonly keyGroups: KeyGroupRange
  readonly maxParallelism: number
  readonly store: StateStore | undefined
  readonly clock: Clock
  readonly listener: RowTableListener
  /** Bytes that all row tables together may take now. */
  readonly budgetBytes: () => number
  readonly spillSink: () => ChangeSink
}

/** The vector states of one subtask, by name. */
export class VectorStates {
  private readonly options: VectorStatesOptions
  private readonly states = new Map<string, DeclaredState>()
  /** The restore of these states. */
  readonly restored: RestoredStates

  constructor(options: VectorStatesOptions) {
    this.options = options
    this.restored = new RestoredStates(this.states, options.operatorUid)
  }

  /** Bytes of memory that all row tables take. */
  get memoryBytes(): number {
    let bytes = 0
    for (const { tables } of this.states.values()) bytes += tables.memoryBytes
    return bytes
  }

  /** See `KeyedInput.readAhead`. */
  readAhead(hashes: Int32Array, count: number): void {
    for (const { descriptor, tables } of this.states.values()) {
      if (descriptor.isReadAhead !== false) tables.readAhead(hashes, count)
    }
  }

  has(name: string): boolean {
    return this.states.has(name)
  }

  /** The handle of a state. Throws STATE_CONFLICT when it exists with another dimension. */
  declare(descriptor: VectorStateDescriptor): VectorState {
    const existing = this.states.get(descriptor.name)
    if (existing !== undefined) {
      const known = vectorDeclaration(existing.descriptor, 0)
      requireSameDeclaration(vectorDeclaration(descriptor, 0), known, this.options.operatorUid)
      return existing.tables
    }
    const tables = new VersionedRows(this.tableOptions(descriptor))
    this.states.set(descriptor.name, { descriptor, tables })
    this.restored.declared(descriptor, tables)
    return tables
  }

  /** Whether segments have rows that only a snapshot of all rows replaces. */
  get needsFull(): boolean {
    return [...this.states.values()].some(({ tables }) => tables.needsFull)
  }

  snapshots(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot[] {
    if (full) this.restored.appendUndeclaredTo(sink)
    return [...this.states.values()].map(({ tables }) => tables.snapshot(checkpointId, sink, full))
  }

  checkpointCompleted(checkpointId: number): void {
    for (const { tables } of this.states.values()) {
      tables.checkpointCompleted(checkpointId)
      tables.maintain(1)
    }
  }

  declarations(): StateDeclaration[] {
    const declared = [...this.states.values()].flatMap(({ tables }) => tables.declarations())
    return [...declared, ...this.restored.declarations()]
  }

  answerRows(
    state: string,
    version: number,
    keys: readonly Uint8Array[],
    bring: boolean,
  ): SlotQueryAnswer[] {
    const declared = this.states.get(state)
    if (declared === undefined) return keys.map((key) => ({ kind: 'unknown-state', key }))
    return declared.tables.answerRows(version, keys, bring)
  }

  /** Rows of a state that its store has an entry of, see `VersionedRows.storedPage`. */
  storedPage(state: string, version: number, from: Uint8Array, limit: number): SlotQueryAnswer[] {
    const declared = this.states.get(state)
    if (declared === undefined) return [{ kind: 'unknown-state', key: from }]
    return declared.tables.storedPage(version, from, limit)
  }

  /** Rows of all states of a queryable name, in key order; undefined when there is no such name. */
  *scan(
    queryableName: string,
    version: number,
    range: KeyRange,
    arena: ByteWriter,
  ): Generator<void, ScanPart | undefined> {
    const parts: ScanPart[] = []
    for (const { descriptor, tables } of [...this.states.values()]) {
      if (descriptor.queryableName !== queryableName) continue
      parts.push(yield* tables.scan(version, range, arena))
    }
    return parts.length === 0 ? undefined : mergeScanParts(parts, range.limit)
  }

  close(): void {
    for (const { tables } of this.states.values()) tables.close()
    this.restored.close()
  }

  private tableOptions(
    descriptor: VectorStateDescriptor,
  ): ConstructorParameters<typeof VersionedRows>[0] {
    const { operatorUid, slot, keyGroups, maxParallelism, store, clock, listener, spillSink } =
      this.options
    const budgetOf = (): number => this.budgetOf(descriptor.name)
    return {
      operatorUid,
      descriptor,
      keyGroups,
      maxParallelism,
      slot,
      ...(store === undefined || descriptor.isResident === true ? {} : { store }),
      storePrefix: Uint8Array.of(STORE_PREFIX, this.states.size),
      listener,
      spillSink,
      clock,
      get memoryBudgetBytes() {
        return budgetOf()
      },
    }
  }

  /**
   * The budget of one state: what the others leave. A quarter of an even share is kept for each of them
   * from the first row on, so that all together stay within the budget whichever is filled first.
   */
  private budgetOf(name: string): number {
    const total = this.options.budgetBytes()
    const kept = total / (4 * Math.max(1, this.states.size))
    let budget = total
    for (const [other, { tables }] of this.states) {
      if (other !== name) budget -= Math.max(kept, tables.memoryBytes)
    }
    return Math.max(kept, budget)
  }
}

/** STATE_CONFLICT: a name is used for a vector state and for another one at the same time. */
export function conflictWithVector(name: string, operatorUid: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `state "${name}" of operator "${operatorUid}" is declared both as vector and otherwise; use two names`,
    { details: { state: name, operator: operatorUid } },
  )
}
