import { META_LISTED } from '../rows/layout.ts'
import { RowList } from '../rows/row-list.ts'
import type { RowTable } from '../rows/row-table.ts'
import type { VectorEpochs } from './epochs.ts'

/**
 * The rows of one table that changed since the last barrier, each once: a row's `listed` word is the
 * epoch + 1 in which it was last added. A snapshot takes the whole list, so that it never looks at rows
 * that did not change.
 */
export class VectorChangedRows {
  private readonly rows: RowTable
  private readonly epochs: VectorEpochs
  private list = new RowList()

  constructor(rows: RowTable, epochs: VectorEpochs) {
    this.rows = rows
    this.epochs = epochs
  }

  get bytes(): number {
    return this.list.bytes
  }

  /** Adds a row that changes now, unless it is listed since the last barrier. */
  record(row: number): void {
    const words = this.rows.arena.words
    const listed = this.rows.metaOf(row) + META_LISTED
    const mark = this.epochs.current + 1
    if (words[listed] === mark) return
    words[listed] = mark
    // Rows that left memory stay in the list.
    if (this.list.length > 2 * this.rows.rowLimit) this.tidy(mark)
    this.list.push(row)
  }

  /** A barrier passed: returns the list and begins an empty one. */
  take(): RowList {
    const taken = this.list
    this.list = new RowList()
    return taken
  }

  private tidy(mark: number): void {
    const old = this.take()
    const seen = new Uint8Array(this.rows.rowLimit)
    for (let i = 0; i < old.length; i++) {
      const row = old.at(i)
      const listed = this.rows.arena.words[this.rows.metaOf(row) + META_LISTED] === mark
      if (listed && seen[row] === 0 && !this.rows.isImage(row)) this.list.push(row)
      seen[row] = 1
    }
  }
}
