import { latin1Of } from '../../core/text/latin1.ts'

type StoredEntry = readonly [key: Uint8Array, value: Uint8Array]

/**
 * Entries of a store as they were at a barrier, in key order. It leaves out overridden keys: their
 * value at the barrier was in memory, and the store may hold an older or a newer one.
 */
export class StoredScan {
  private entries: Iterator<StoredEntry> | undefined
  private readonly overridden = new Set<string>()

  /** `entries` must keep the state of the store as it is now. */
  constructor(entries: Iterator<StoredEntry>) {
    this.entries = entries
  }

  /** Whether entries may be left. */
  get isOpen(): boolean {
    return this.entries !== undefined
  }

  /** Leaves out a key whose entry was copied from memory and then left memory. */
  override(key: Uint8Array): void {
    if (this.entries !== undefined) this.overridden.add(latin1Of(key))
  }

  /** The next entry; undefined at the end, and where the next key is overridden. */
  next(): StoredEntry | undefined {
    const next = this.entries?.next()
    if (next === undefined || next.done === true) {
      this.close()
      return undefined
    }
    return this.overridden.has(latin1Of(next.value[0])) ? undefined : next.value
  }

  /** Ends the scan early; idempotent. */
  close(): void {
    this.entries?.return?.()
    this.entries = undefined
    this.overridden.clear()
  }
}
