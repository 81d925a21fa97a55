import { RowList, type RowTable } from './row-table.ts'
import { META_LISTED } from './row-table-layout.ts'
import type { VectorEpochs } from './vector-epochs.ts'

/**
 * The rows of one table that changed since the last barrier, each once: a row's `listed` word is the
 * epoch + 1 in which it was entered last. A snapshot takes the whole list, so that it never looks at
 * rows that did not change.
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

  /** Enters a row that changes now, unless it is listed since the last barrier. */
  note(row: number): void {
    const words = this.rows.arena.words
    const listed = this.rows.metaOf(row) + META_LISTED
    const mark = this.epochs.current + 1
    if (words[listed] === mark) return
    words[listed] = mark
    // Rows that left memory stay listed until their number is met again.
    if (this.list.length > 2 * this.rows.rowLimit) this.tidy(mark)
    this.list.push(row)
  }

  /** A barrier passed: gives the rows so far away and begins an empty list. */
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
