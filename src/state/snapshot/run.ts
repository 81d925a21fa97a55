import type { Clock } from '../../core/clock.ts'
import type { StoredScan } from './stored-scan.ts'

/** Entries copied between two looks at the clock. */
const ENTRIES_PER_LOOK = 32

/** One part of a snapshot: a table's entries in the store, then those in memory. */
export interface SnapshotPart {
  /** Undefined when nothing is copied from the store. */
  readonly stored: StoredScan | undefined
  /** Copies one entry of `stored`, unless memory holds the key. */
  copyStored(key: Uint8Array, value: Uint8Array): void
  /** Deals with the next entry in memory; false when none is left. */
  copyNext(): boolean
}

/** The run of a snapshot over its parts, in steps that each keep to a time budget. */
export class SnapshotRun {
  private readonly parts: readonly SnapshotPart[]
  private readonly clock: Clock
  private current = 0

  constructor(parts: readonly SnapshotPart[], clock: Clock) {
    this.parts = parts
    this.clock = clock
  }

  /** Whether nothing is left to copy. */
  get done(): boolean {
    return this.current >= this.parts.length
  }

  /** Copies for about `budgetMs`; true when nothing is left. */
  step(budgetMs: number): boolean {
    const end = this.clock.monotonicMs() + budgetMs
    for (let n = 1; !this.done; n++) {
      this.advance(this.parts[this.current]!)
      if (n % ENTRIES_PER_LOOK === 0 && this.clock.monotonicMs() >= end) break
    }
    return this.done
  }

  private advance(part: SnapshotPart): void {
    if (part.stored?.isOpen) {
      const entry = part.stored.next()
      if (entry !== undefined) part.copyStored(entry[0], entry[1])
    } else if (!part.copyNext()) this.current += 1
  }
}
