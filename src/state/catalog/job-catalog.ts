import type { RowTableShare } from '../rows/share.ts'
import { RowTableView } from '../rows/view.ts'
import type { TypedStateShare } from './typed-state-share.ts'

/** A row table of one attempt of its slot. */
export interface OpenTable {
  readonly share: RowTableShare
  readonly attempt: number
}

/** A change for the readers of a job's row tables. */
export type TableChange =
  /** The table is read from now on, instead of an earlier one of the same state, version and slot. */
  | { readonly kind: 'opened'; readonly share: RowTableShare }
  /** The table is not read any more, and none takes its place. */
  | { readonly kind: 'dropped'; readonly share: RowTableShare }
  /** The changes up to here are all that the running slot has opened. */
  | { readonly kind: 'complete'; readonly tables: SlotTables }

/** How many row tables a running slot has opened in an incarnation. */
export interface SlotTables {
  readonly slot: number
  /** Number of the attempt, as on the progress board. */
  readonly incarnation: number
  readonly opened: number
}

/**
 * What can be read of a job, over its attempts: of one state, version and slot the oldest open table is
 * read, because the slot still restores the rows of a newer one. Kept on the main thread; every reading
 * thread follows its changes with a `StateCatalog`.
 */
export class JobCatalog {
  /** Open tables of one state, version and slot, oldest attempt first. */
  private readonly open = new Map<string, OpenTable[]>()
  private readonly typed = new Map<string, TypedStateShare>()
  /** By slot, what its latest attempt has opened. */
  private readonly counts = new Map<number, SlotTables>()
  /** Slots of which no earlier attempt is read any more. */
  private readonly running = new Set<number>()

  /** A slot has opened a table. */
  add(table: OpenTable): TableChange[] {
    const { slot } = table.share
    const before = this.countOf(slot, table.attempt)
    this.counts.set(slot, { ...before, opened: before.opened + 1 })
    return [...this.insert(table), ...this.complete(slot)]
  }

  /** The tables of an attempt of the slot, none when it has opened none yet. */
  private countOf(slot: number, incarnation: number): SlotTables {
    const known = this.counts.get(slot)
    if (known?.incarnation === incarnation) return known
    this.running.delete(slot)
    return { slot, incarnation, opened: 0 }
  }

  private complete(slot: number): TableChange[] {
    const tables = this.counts.get(slot)
    if (tables === undefined || !this.running.has(slot)) return []
    return [{ kind: 'complete', tables }]
  }

  /** The slot runs: it has restored its tables, so those of earlier attempts are not read any more. */
  slotRuns(slot: number, attempt: number): TableChange[] {
    this.counts.set(slot, this.countOf(slot, attempt))
    this.running.add(slot)
    const changes = this.drop((table) => table.share.slot === slot && table.attempt < attempt)
    return [...changes, ...this.complete(slot)]
  }

  /** What the running slots have opened. */
  completeSlots(): SlotTables[] {
    return [...this.running].map((slot) => this.counts.get(slot)!)
  }

  private insert(table: OpenTable): TableChange[] {
    const id = idOf(table.share)
    const tables = this.open.get(id) ?? []
    const at = tables.findIndex((other) => other.attempt > table.attempt)
    tables.splice(at < 0 ? tables.length : at, 0, table)
    this.open.set(id, tables)
    return tables[0] === table ? [{ kind: 'opened', share: table.share }] : []
  }

  /** The tables that `isDropped` picks are written no longer. */
  drop(isDropped: (table: OpenTable) => boolean): TableChange[] {
    const changes: TableChange[] = []
    for (const [id, tables] of this.open) {
      const left = tables.filter((table) => !isDropped(table))
      if (left.length === tables.length) continue
      const [before] = tables
      const [after] = left
      if (after === undefined) this.open.delete(id)
      else this.open.set(id, left)
      if (after === undefined) changes.push({ kind: 'dropped', share: before!.share })
      else if (after !== before) changes.push({ kind: 'opened', share: after.share })
    }
    return changes
  }

  /** A slot holds a part of a typed state; repeated in every attempt. */
  addTyped(share: TypedStateShare): void {
    this.typed.set(`${share.slot}\n${share.queryableName}`, share)
  }

  /** The tables to read. */
  tables(): RowTableShare[] {
    return [...this.open.values()].map(([oldest]) => oldest!.share)
  }

  /**
   * Rows of a version of a queryable state, in memory and spilled; undefined while a slot restores them, and
   * for a version without tables.
   */
  rowCount(queryableName: string, version: number): number | undefined {
    const tables = this.tables()
      .filter((share) => share.queryableName === queryableName && share.version === version)
      .map((share) => new RowTableView(share))
    if (tables.length === 0 || tables.some(({ restoring }) => restoring)) return undefined
    return tables.reduce((sum, { liveRows, storeRows }) => sum + liveRows + storeRows, 0)
  }

  /** Parts of typed states. */
  typedStates(): TypedStateShare[] {
    return [...this.typed.values()]
  }
}

function idOf({ operatorUid, state, version, slot }: RowTableShare): string {
  return `${operatorUid}\n${state}\n${version}\n${slot}`
}
