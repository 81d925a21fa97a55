import { latin1Of } from '../../core/text/latin1.ts'
import type { ChangeSink, EntrySpan, StateDeclaration, StateName } from '../port/change.ts'
import type { VectorStateDescriptor } from '../port/descriptors.ts'
import {
  declaredDimension,
  requireSameDeclaration,
  splitVectorName,
  vectorDeclaration,
} from '../port/format.ts'
import type { DroppedEntries } from '../port/restorable-state.ts'
import type { VersionRows } from './version-rows.ts'
import type { VersionedRows } from './versioned-rows.ts'

/** A vector state that an operator has declared. */
export interface DeclaredState {
  readonly descriptor: VectorStateDescriptor
  readonly tables: VersionedRows
}

/**
 * The restore of one subtask's vector states. Rows that are restored before an operator declares their
 * state are kept as bytes until it does.
 */
export class RestoredStates {
  private readonly states: ReadonlyMap<string, DeclaredState>
  private readonly operatorUid: string
  private readonly undeclared = new UndeclaredRows()
  private restoring = false
  /** States that no operator has declared and the checkpoint does not have, but its segments do. */
  private readonly stale = new Set<StateName>()
  /** Names of the states that the checkpoint declares. */
  private known: ReadonlySet<StateName> = new Set()
  private restoredCheckpoint = 0
  /** State of the last span, and its rows: undefined when it is not declared. */
  private spanState: StateName | undefined
  private spanRows: VersionRows | undefined

  /** `states`: the declared ones by name, which may be added later. */
  constructor(states: ReadonlyMap<string, DeclaredState>, operatorUid: string) {
    this.states = states
    this.operatorUid = operatorUid
  }

  /** Moves the rows that were restored before the state was declared into its tables. */
  declared(descriptor: VectorStateDescriptor, tables: VersionedRows): void {
    this.forgetSpans()
    if (!this.restoring && this.restoredCheckpoint === 0) return
    for (const state of this.stale) {
      const { name, version } = splitVectorName(state)
      if (name === descriptor.name && version !== undefined) tables.foundInSegments(version)
    }
    tables.beginRestore()
    for (const { name: state } of this.undeclared.declarations()) {
      const { name, version } = splitVectorName(state)
      if (name !== descriptor.name || version === undefined) continue
      const { declaration, rows } = this.undeclared.remove(state)!
      tables.openVersion(version, this.dimensionOf(declaration, descriptor, version))
      for (const row of rows) tables.restoreRow(version, row.key, row.value)
    }
    if (!this.restoring) tables.endRestore(this.restoredCheckpoint)
  }

  /** Opens a restore: prepares the versions of declared states, and keeps the rows of others as bytes. */
  begin(declarations: readonly StateDeclaration[]): void {
    this.restoring = true
    this.known = new Set(declarations.map(({ name }) => name))
    for (const { tables } of this.states.values()) tables.beginRestore()
    for (const declaration of declarations) {
      if (declaration.kind === 'vector') this.expect(declaration)
    }
  }

  /** See `RestorableState.expectEntries`: the open versions share them evenly. */
  expectEntries(entries: number): void {
    let versions = 0
    for (const { tables } of this.states.values()) versions += tables.versionsOpen
    for (const { tables } of this.states.values()) tables.expectRows(Math.ceil(entries / versions))
  }

  /**
   * Takes one row; false when it belongs to no vector state. A row of a version that the checkpoint does
   * not declare is left out: the version was dropped, and an old segment still has it.
   */
  take(
    keyGroup: number,
    state: StateName,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): boolean {
    if (this.undeclared.take(keyGroup, state, key, value)) return true
    const { name, version } = splitVectorName(state)
    if (version === undefined) return false
    const declared = this.states.get(name)
    if (!this.known.has(state)) {
      if (declared === undefined) this.stale.add(state)
      else declared.tables.foundInSegments(version)
      return true
    }
    if (declared === undefined) return false
    if (declared.tables.leavesOut(version)) return true
    declared.tables.restoreRow(version, key, value)
    return true
  }

  /** Takes one row of a declared state from its segment's block; false when it is for `take`. */
  takeSpan(state: StateName, entry: EntrySpan): boolean {
    if (state !== this.spanState) {
      this.spanState = state
      this.spanRows = this.tableOf(state)
    }
    if (this.spanRows === undefined) return false
    this.spanRows.restore.take(entry)
    return true
  }

  /** See `RestorableState.unclaimedStates`. */
  unclaimed(): readonly DroppedEntries[] {
    const sums = new Map<string, number>()
    for (const { state, bytes } of this.undeclared.sizes()) {
      const { name } = splitVectorName(state)
      sums.set(name, bytes + (sums.get(name) ?? 0))
    }
    return [...sums].map(([state, bytes]) => ({ state, bytes }))
  }

  /** Forgets the restored versions of states that no operator has declared, and returns their names. */
  dropUndeclared(): readonly StateName[] {
    const names = this.undeclared.declarations().map(({ name }) => name)
    this.undeclared.clear()
    return names
  }

  /** See `RestorableState.wantedKeyGroup`. */
  wantedKeyGroup(): number {
    for (const { tables } of this.states.values()) {
      const group = tables.wantedKeyGroup()
      if (group >= 0) return group
    }
    return -1
  }

  /** Ends the restore: a missing key does not exist from now on. */
  end(checkpointId: number): void {
    this.restoring = false
    this.forgetSpans()
    this.restoredCheckpoint = checkpointId
    for (const { tables } of this.states.values()) tables.endRestore(checkpointId)
  }

  /** The restored versions that no operator has declared. */
  declarations(): StateDeclaration[] {
    return this.undeclared.declarations()
  }

  /** Writes the rows of states that no operator has declared: a full snapshot holds them, too. */
  appendUndeclaredTo(sink: ChangeSink): void {
    this.undeclared.appendTo(sink)
  }

  close(): void {
    this.forgetSpans()
    this.undeclared.clear()
  }

  private tableOf(state: StateName): VersionRows | undefined {
    if (this.undeclared.has(state) || !this.known.has(state)) return undefined
    const { name, version } = splitVectorName(state)
    const tables = this.states.get(name)?.tables
    if (version === undefined || tables?.leavesOut(version) === true) return undefined
    return tables?.openVersion(version)
  }

  /** Prepares for the rows of a restored version. */
  private expect(declaration: StateDeclaration): void {
    const { name, version } = splitVectorName(declaration.name)
    const declared = this.states.get(name)
    if (declared === undefined) {
      this.undeclared.expect(declaration)
    } else if (version !== undefined) {
      const dimension = this.dimensionOf(declaration, declared.descriptor, version)
      declared.tables.openVersion(version, dimension)
    }
  }

  /** Floats of a restored version's rows. Throws STATE_CONFLICT unless they are those of the state, or it allows others. */
  private dimensionOf(
    declaration: StateDeclaration,
    descriptor: VectorStateDescriptor,
    version: number,
  ): number {
    const dimension = declaredDimension(declaration)
    if (descriptor.dimensionByVersion === true && dimension !== undefined) return dimension
    requireSameDeclaration(vectorDeclaration(descriptor, version), declaration, this.operatorUid)
    return descriptor.dimension
  }

  private forgetSpans(): void {
    this.spanState = undefined
    this.spanRows = undefined
  }
}

/** A restored row of a state that no operator has declared yet. */
interface UndeclaredRow {
  readonly keyGroup: number
  readonly key: Uint8Array
  readonly value: Uint8Array | undefined
}

/** A restored version of such a state: its rows, newest segment first. */
interface UndeclaredVersion {
  readonly declaration: StateDeclaration
  readonly rows: UndeclaredRow[]
}

/** Restored rows, as bytes, of vector states that no operator has declared yet. */
class UndeclaredRows {
  private readonly versions = new Map<StateName, UndeclaredVersion>()

  /** Prepares for the rows of a version. */
  expect(declaration: StateDeclaration): void {
    this.versions.set(declaration.name, { declaration, rows: [] })
  }

  has(state: StateName): boolean {
    return this.versions.has(state)
  }

  /** Keeps a copy of one row; false when its version is not expected here. */
  take(
    keyGroup: number,
    state: StateName,
    key: Uint8Array,
    value: Uint8Array | undefined,
  ): boolean {
    const version = this.versions.get(state)
    if (version === undefined) return false
    version.rows.push({ keyGroup, key: key.slice(), value: value?.slice() })
    return true
  }

  /** Removes and returns a version that an operator declared. */
  remove(state: StateName): UndeclaredVersion | undefined {
    const version = this.versions.get(state)
    this.versions.delete(state)
    return version
  }

  /** Versions that have rows, and the bytes of these. */
  sizes(): DroppedEntries[] {
    return [...this.versions].flatMap(([state, { rows }]) => {
      const bytes = rows.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
      return rows.length > 0 ? [{ state, bytes }] : []
    })
  }

  declarations(): StateDeclaration[] {
    return [...this.versions.values()].map(({ declaration }) => declaration)
  }

  /** Writes the newest row of each key: state that the job no longer uses belongs to a full snapshot. */
  appendTo(sink: ChangeSink): void {
    for (const [name, { rows }] of this.versions) {
      const seen = new Set<string>()
      for (const { keyGroup, key, value } of rows) {
        const text = latin1Of(key)
        if (!seen.has(text) && value !== undefined) sink.append(keyGroup, name, key, value)
        seen.add(text)
      }
    }
  }

  clear(): void {
    this.versions.clear()
  }
}
