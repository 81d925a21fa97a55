import type { Clock } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { ModelVersion } from '../core/identity.ts'
import type { KeyGroupRange } from '../core/key-group.ts'
import type { VectorStateDescriptor } from './descriptors.ts'
import type { VectorState } from './handles.ts'
import type { RowTableListener } from './row-table-share.ts'
import type { SlotQueryAnswer } from './slot-query.ts'
import type {
  ChangeSink,
  EntrySpan,
  StateDeclaration,
  StateName,
  StateSnapshot,
} from './state-change.ts'
import { requireSameDeclaration } from './state-format.ts'
import type { StateStore } from './state-store.ts'
import { VectorStateTables } from './vector-state-table.ts'
import type { VectorTable } from './vector-table.ts'

/** First byte of the row tables' keys in the store they share with typed state. */
const STORE_PREFIX = 0x80

/** What the vector states of a backend are made of. */
export interface KeyedVectorStatesOptions {
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

/** A row of a state that no operator has declared yet. */
interface UndeclaredRow {
  readonly keyGroup: number
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** A restored version of such a state. */
interface UndeclaredVersion {
  readonly declaration: StateDeclaration
  readonly rows: UndeclaredRow[]
}

/** One declared vector state. */
interface DeclaredState {
  readonly descriptor: VectorStateDescriptor
  readonly tables: VectorStateTables
}

/**
 * The vector states of one subtask, by name. Rows that are restored before the operator declares
 * their state wait here as bytes and are handed over when it does.
 */
export class KeyedVectorStates {
  private readonly options: KeyedVectorStatesOptions
  private readonly states = new Map<string, DeclaredState>()
  private readonly undeclared = new Map<StateName, UndeclaredVersion>()
  private restoring = false
  private restoredCheckpoint = 0
  /** Table of the state of the last span, undefined when it is not declared. */
  private spanState: StateName | undefined
  private spanTable: VectorTable | undefined

  constructor(options: KeyedVectorStatesOptions) {
    this.options = options
  }

  get isEmpty(): boolean {
    return this.states.size === 0
  }

  /** Bytes of memory that all row tables take. */
  get memoryBytes(): number {
    let bytes = 0
    for (const { tables } of this.states.values()) bytes += tables.memoryBytes
    return bytes
  }

  /** See `KeyedStateBackend.readAhead`. */
  readAhead(hashes: Int32Array, count: number): void {
    for (const { tables } of this.states.values()) tables.readAhead(hashes, count)
  }

  has(name: string): boolean {
    return this.states.has(name)
  }

  /** The handle of a state. Throws STATE_CONFLICT when it is known with another dimension. */
  declare(descriptor: VectorStateDescriptor): VectorState {
    const existing = this.states.get(descriptor.name)
    if (existing !== undefined) {
      const same = (state: VectorStateDescriptor): StateDeclaration => declarationFor(state, 0)
      requireSameDeclaration(same(descriptor), same(existing.descriptor), this.options.operatorUid)
      return existing.tables
    }
    const tables = new VectorStateTables(this.tableOptions(descriptor))
    this.states.set(descriptor.name, { descriptor, tables })
    this.forgetSpans()
    this.handOver(descriptor, tables)
    return tables
  }

  snapshots(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot[] {
    if (full) this.appendUndeclared(sink)
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
    return [...declared, ...[...this.undeclared.values()].map(({ declaration }) => declaration)]
  }

  beginRestore(declarations: readonly StateDeclaration[]): void {
    this.restoring = true
    for (const { tables } of this.states.values()) tables.beginRestore()
    for (const declaration of declarations) {
      if (declaration.kind === 'vector') this.expect(declaration)
    }
  }

  /** See `KeyedStateBackend.expectEntries`: the versions that are open share them evenly. */
  expectEntries(entries: number): void {
    let versions = 0
    for (const { tables } of this.states.values()) versions += tables.versionsOpen
    for (const { tables } of this.states.values()) tables.expectRows(Math.ceil(entries / versions))
  }

  /** Takes one row, or says that it belongs to no vector state. */
  restore(
    keyGroup: number,
    state: StateName,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): boolean {
    const waiting = this.undeclared.get(state)
    if (waiting !== undefined) {
      waiting.rows.push({ keyGroup, key: key.slice(), value: value?.slice() })
      return true
    }
    const { name, version } = splitName(state)
    const declared = this.states.get(name)
    if (declared === undefined || version === undefined) return false
    declared.tables.restoreRow(version, key, value)
    return true
  }

  /** Takes one row of a declared state where it lies; false when it is for `restore`. */
  restoreSpan(state: StateName, entry: EntrySpan): boolean {
    if (state !== this.spanState) {
      this.spanState = state
      this.spanTable = this.tableOf(state)
    }
    if (this.spanTable === undefined) return false
    this.spanTable.restoring.take(entry)
    return true
  }

  private tableOf(state: StateName): VectorTable | undefined {
    if (this.undeclared.has(state)) return undefined
    const { name, version } = splitName(state)
    return version === undefined ? undefined : this.states.get(name)?.tables.openVersion(version)
  }

  /** See `KeyedStateBackend.wantedKeyGroup`. */
  wantedKeyGroup(): number {
    for (const { tables } of this.states.values()) {
      const group = tables.wantedKeyGroup()
      if (group >= 0) return group
    }
    return -1
  }

  endRestore(checkpointId: number): void {
    this.restoring = false
    this.forgetSpans()
    this.restoredCheckpoint = checkpointId
    for (const { tables } of this.states.values()) tables.endRestore(checkpointId)
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

  /** Rows of a state that its store has an entry of, see `VectorStateTables.storedPage`. */
  storedPage(state: string, version: number, from: Uint8Array, limit: number): SlotQueryAnswer[] {
    const declared = this.states.get(state)
    if (declared === undefined) return [{ kind: 'unknown-state', key: from }]
    return declared.tables.storedPage(version, from, limit)
  }

  /** Rows of all states of a queryable name, in key order; undefined when there is no such name. */
  scan(
    queryableName: string,
    version: number,
    from: Uint8Array,
    to: Uint8Array,
    limit: number,
  ): SlotQueryAnswer[] | undefined {
    const states = [...this.states.values()].filter(
      ({ descriptor }) => descriptor.queryableName === queryableName,
    )
    if (states.length === 0) return undefined
    const answers = states.flatMap(({ tables }) => tables.scan(version, from, to, limit))
    return answers.sort((a, b) => Buffer.compare(a.key, b.key)).slice(0, limit)
  }

  close(): void {
    this.forgetSpans()
    for (const { tables } of this.states.values()) tables.close()
    this.undeclared.clear()
  }

  private tableOptions(
    descriptor: VectorStateDescriptor,
  ): ConstructorParameters<typeof VectorStateTables>[0] {
    const { operatorUid, slot, keyGroups, maxParallelism, store, clock, listener, spillSink } =
      this.options
    const budgetOf = (): number => this.budgetOf(descriptor.name)
    return {
      operatorUid,
      descriptor,
      keyGroups,
      maxParallelism,
      slot,
      ...(store === undefined ? {} : { store }),
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
   * What the others leave. A quarter of an even share is kept for each of them from the first row on,
   * so that states together stay within the budget whichever is filled first.
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

  /** Prepares for the rows of a restored version. */
  private expect(declaration: StateDeclaration): void {
    const { name, version } = splitName(declaration.name)
    const declared = this.states.get(name)
    if (declared === undefined) {
      this.undeclared.set(declaration.name, { declaration, rows: [] })
    } else if (version !== undefined) {
      const own = declarationFor(declared.descriptor, version)
      requireSameDeclaration(own, declaration, this.options.operatorUid)
      declared.tables.openVersion(version)
    }
  }

  private handOver(descriptor: VectorStateDescriptor, tables: VectorStateTables): void {
    const waiting = [...this.undeclared].filter(
      ([name]) => splitName(name).name === descriptor.name,
    )
    if (!this.restoring && this.restoredCheckpoint === 0) return
    tables.beginRestore()
    for (const [name, { declaration, rows }] of waiting) {
      const version = splitName(name).version!
      requireSameDeclaration(
        declarationFor(descriptor, version),
        declaration,
        this.options.operatorUid,
      )
      tables.openVersion(version)
      for (const row of rows) tables.restoreRow(version, row.key, row.value)
      this.undeclared.delete(name)
    }
    if (!this.restoring) tables.endRestore(this.restoredCheckpoint)
  }

  private forgetSpans(): void {
    this.spanState = undefined
    this.spanTable = undefined
  }

  /** State that the job no longer uses still belongs to a full snapshot. */
  private appendUndeclared(sink: ChangeSink): void {
    for (const [name, { rows }] of this.undeclared) {
      const seen = new Set<string>()
      for (const { keyGroup, key, value } of rows) {
        const text = Buffer.from(key).toString('latin1')
        if (!seen.has(text) && value !== undefined) sink.append(keyGroup, name, key, value)
        seen.add(text)
      }
    }
  }
}

function declarationFor(descriptor: VectorStateDescriptor, version: number): StateDeclaration {
  const format = `float32[${descriptor.dimension}]`
  return { name: `${descriptor.name}@${version}`, kind: 'vector', format }
}

/** `<name>@<version>`; the version is missing when the name has none. */
function splitName(state: StateName): {
  readonly name: string
  readonly version: ModelVersion | undefined
} {
  const at = state.lastIndexOf('@')
  const version = at < 0 ? Number.NaN : Number(state.slice(at + 1))
  if (!Number.isInteger(version)) return { name: state, version: undefined }
  return { name: state.slice(0, at), version: version as ModelVersion }
}

/** STATE_CONFLICT: a name stands for a vector state and another one at the same time. */
export function conflictWithVector(name: string, operatorUid: string): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `state "${name}" of operator "${operatorUid}" is declared both as vector and otherwise; use two names`,
    { details: { state: name, operator: operatorUid } },
  )
}
