import { ChunkedList } from './chunked-list.ts'
import type { KeyedEntry } from './keyed-entry.ts'

/** The entries of a table that changed since the last snapshot began. */
export class DirtyEntries {
  private entries = new ChunkedList<KeyedEntry>()
  /** Has room for those of the next interval. */
  private spare: ChunkedList<KeyedEntry> | undefined

  get length(): number {
    return this.entries.length
  }

  /** Adds an entry that is not dirty. */
  add(entry: KeyedEntry): void {
    entry.dirtyIndex = this.entries.length
    this.entries.push(entry)
  }

  /** Removes a dirty entry; the last one takes its position. */
  remove({ dirtyIndex }: KeyedEntry): void {
    const last = this.entries.pop()
    if (dirtyIndex >= this.entries.length) return
    this.entries.set(dirtyIndex, last)
    last.dirtyIndex = dirtyIndex
  }

  /** Removes and returns all entries, for a snapshot. The list is to be returned with `reuse`. */
  take(): ChunkedList<KeyedEntry> {
    const { entries } = this
    this.entries = this.spare ?? new ChunkedList()
    this.spare = undefined
    return entries
  }

  /** Empties a list that `take` returned, for a later interval. */
  reuse(entries: ChunkedList<KeyedEntry>): void {
    entries.clear()
    this.spare = entries
  }
}
