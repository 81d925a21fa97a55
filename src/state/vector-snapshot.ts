import { keyGroupOf } from '../core/key-group.ts'
import type { RowList } from './row-table.ts'
import {
  META_LISTED,
  META_THROUGH,
  META_WRITE_EPOCH,
  ROW_STATE,
  STATE_CLEAN,
  STATE_IMAGE,
  STATE_LIVE,
  STATE_STORED,
} from './row-table-layout.ts'
import type { ChangeSink, StateSnapshot } from './state-change.ts'
import { latin1, VECTOR_ROW_DELETED, vectorRowBytes } from './vector-row-codec.ts'
import type { VectorTable } from './vector-table.ts'

/** Rows copied out between two looks at the clock. */
const ROWS_PER_LOOK = 32

/** What is left to do for one version. */
interface Part {
  readonly table: VectorTable
  readonly changed: RowList
  next: number
  /** Store entries still to be copied (full snapshots only). */
  stored: IterableIterator<readonly [Uint8Array, Uint8Array]> | undefined
  /** Keys whose store entry was out of date when their row was copied and left memory. */
  readonly outdated: Set<string>
}

/**
 * Copies out what one vector state held when a barrier passed. Incremental: the rows listed as
 * changed in the interval that the barrier ended. Full: the store's entries, then every row in
 * memory. A row that is about to change or to leave memory before its turn is copied first, so the
 * cut stays exact; nothing is done at the barrier itself but taking the lists.
 */
export class VectorSnapshot implements StateSnapshot {
  entries = 0
  private readonly sink: ChangeSink
  private readonly full: boolean
  private readonly barrier: number
  /** Value of META_LISTED of rows that changed in the interval before the barrier. */
  private readonly mark: number
  private readonly parts: Part[]
  private readonly nowMs: () => number
  private current = 0

  /** To be made at the barrier: `barrier` is its id, `previous` that of the one before. */
  constructor(
    tables: Iterable<VectorTable>,
    barrier: number,
    previous: number,
    options: { readonly sink: ChangeSink; readonly full: boolean; readonly nowMs: () => number },
  ) {
    this.sink = options.sink
    this.full = options.full
    this.nowMs = options.nowMs
    this.barrier = barrier
    this.mark = previous + 1
    this.parts = []
    for (const table of tables) {
      this.parts.push({
        table,
        changed: table.takeChanged(),
        next: 0,
        stored: this.full ? table.spill?.entries(new Uint8Array(0)) : undefined,
        outdated: new Set(),
      })
    }
  }

  step(budgetMs: number): boolean {
    const end = this.nowMs() + budgetMs
    while (this.current < this.parts.length) {
      const part = this.parts[this.current]!
      for (let n = 0; n < ROWS_PER_LOOK; n++) {
        if (this.advance(part)) continue
        this.current++
        break
      }
      if (this.nowMs() >= end) break
    }
    return this.current >= this.parts.length
  }

  get done(): boolean {
    return this.current >= this.parts.length
  }

  /** Leaves out a version that was dropped. */
  forget(table: VectorTable): void {
    for (const part of this.parts) {
      if (part.table !== table) continue
      part.stored?.return?.()
      part.stored = undefined
      part.next = Number.MAX_SAFE_INTEGER
    }
  }

  /** Copies one more entry of a part; false when it has none left. */
  private advance(part: Part): boolean {
    if (part.stored !== undefined) return this.advanceStored(part)
    const rows = part.table.rows
    if (this.full) {
      if (part.next >= rows.rowLimit) return false
      this.copyIfPending(part.table, part.next++)
      return true
    }
    if (part.next >= part.changed.length) return false
    this.copyIfPending(part.table, part.changed.at(part.next++))
    return true
  }

  private copyIfPending(table: VectorTable, row: number): void {
    if (!this.isPending(table, row)) return
    this.entries++
    table.emit(row, this.sink)
    const words = table.rows.arena.words
    const meta = table.rows.metaOf(row)
    if (this.full) words[meta + META_THROUGH] = this.barrier
    else words[meta + META_LISTED] = 0
  }

  private isPending(table: VectorTable, row: number): boolean {
    const words = table.rows.arena.words
    const meta = table.rows.metaOf(row)
    const state = words[table.rows.headerOf(row) + ROW_STATE]!
    // A listed row may have left memory and its number may be an image's now.
    if ((state & STATE_IMAGE) !== 0) return false
    if (!this.full) return words[meta + META_LISTED] === this.mark
    return (
      (state & STATE_LIVE) !== 0 &&
      words[meta + META_WRITE_EPOCH]! < this.barrier &&
      words[meta + META_THROUGH] !== this.barrier
    )
  }

  /** A row is about to change: copies it out if this snapshot still needs it as it is. */
  beforeWrite(table: VectorTable, row: number): void {
    if (!this.done) this.copyIfPending(table, row)
  }

  /** A row leaves memory; a full snapshot must not take an older entry of it from the store. */
  beforeEviction(table: VectorTable, row: number): void {
    if (!this.full) return
    const state = table.rows.stateOf(row)
    if ((state & STATE_STORED) === 0 || (state & STATE_CLEAN) !== 0) return
    const part = this.parts.find((one) => one.table === table)
    if (part?.stored !== undefined) part.outdated.add(latin1(table.scratch.keyOf(row)))
  }

  private advanceStored(part: Part): boolean {
    const next = part.stored!.next()
    if (next.done) {
      part.stored = undefined
      part.outdated.clear()
      return true
    }
    const [key, value] = next.value
    const { table } = part
    if ((value[1]! & VECTOR_ROW_DELETED) !== 0 || part.outdated.has(latin1(key))) return true
    const group = keyGroupOf(key, table.context.maxParallelism)
    if (table.isInMemory(key)) return true
    this.entries++
    const size = vectorRowBytes(table.context.layout.dimension)
    this.sink.append(group, table.stateName, key, value.subarray(0, size))
    return true
  }
}
