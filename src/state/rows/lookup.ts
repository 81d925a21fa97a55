import {
  CONTROL_EVICTING,
  CONTROL_INDEX_ADDRESS,
  CONTROL_INDEX_EPOCH,
  CONTROL_INDEX_MASK,
  CONTROL_INDEX_SHIFT,
  CONTROL_RESTORING,
  CONTROL_STORE_ROWS,
  CONTROL_WANTED,
  INDEX_MULTIPLIER,
  ROW_REFERENCE,
  ROW_STATE,
  STATE_DELETED,
  STATE_LIVE,
} from './layout.ts'
import { sameKey } from './row-table.ts'
import { MISSING, RESTORING, RowTableView, SPILLED, SPINS, STUCK } from './view.ts'

/** Number of times a read starts again because the row changed under it, before it answers STUCK. */
export const ATTEMPTS = 64

/** Index entries that `candidateAt` looks at; most keys are within a few. */
const CANDIDATE_PROBES = 8

/** Finds rows of one row table by key, in any thread. */
export class RowTableLookup extends RowTableView {
  /** Sequence word of the row that the last `find` returned. */
  foundSequence = 0

  /**
   * The live row with the key `key[start .. start + length)`, whose murmur3 hash is `hash` (as int32),
   * or MISSING, STUCK, SPILLED, RESTORING.
   */
  find(key: Uint8Array, start: number, length: number, hash: number): number {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = this.locate(key, start, length, hash)
      if (row < 0) return row
      if (this.isLiveNow(row)) return row
      if (this.unchanged(row, this.foundSequence)) return MISSING
    }
    return STUCK
  }

  /** Whether a located row is live; it is then marked as referenced. */
  private isLiveNow(row: number): boolean {
    const header = this.headerOf(row)
    if ((this.words[header + ROW_STATE]! & STATE_LIVE) === 0) return false
    if (this.words[CONTROL_EVICTING] !== 0 && this.words[header + ROW_REFERENCE] === 0) {
      this.words[header + ROW_REFERENCE] = 1
    }
    return true
  }

  /** As `find`, without a look-up if `row` (of `candidateAt`) has the key. */
  findAt(row: number, key: Uint8Array, start: number, length: number, hash: number): number {
    if (row >= 0 && this.match(row, key, start, length) === row && this.isLiveNow(row)) return row
    return this.find(key, start, length, hash)
  }

  /** As `find`, but also finds a row that was deleted and is kept for a checkpoint. */
  locate(key: Uint8Array, start: number, length: number, hash: number): number {
    for (let spin = 0; spin < SPINS; spin++) {
      const epoch = Atomics.load(this.words, CONTROL_INDEX_EPOCH)
      if ((epoch & 1) !== 0) continue
      const row = this.probe(key, start, length, hash)
      if (row !== MISSING) return row
      const restoring = Atomics.load(this.words, CONTROL_RESTORING)
      const storeRows = Atomics.load(this.words, CONTROL_STORE_ROWS)
      if (Atomics.load(this.words, CONTROL_INDEX_EPOCH) !== epoch) continue
      if (storeRows > 0) return SPILLED
      if (restoring === 0) return MISSING
      this.want(hash)
      return RESTORING
    }
    return STUCK
  }

  /** Asks the writer to restore the key's group next; another reader's request may replace it. */
  private want(hash: number): void {
    const group = (hash >>> 0) % this.share.maxParallelism
    Atomics.store(this.words, CONTROL_WANTED, group + 1)
  }

  /** Address in words of the index entry at which a look-up of this hash (as int32) begins. */
  indexSlotOf(hash: number): number {
    const address = this.words[CONTROL_INDEX_ADDRESS]!
    if (address + 2 * this.words[CONTROL_INDEX_MASK]! + 2 > this.words.length) this.refresh()
    return address + 2 * (Math.imul(hash, INDEX_MULTIPLIER) >>> this.words[CONTROL_INDEX_SHIFT]!)
  }

  /**
   * The row that a look-up from an index entry (`indexSlotOf`) would most likely find, -1 if none; a
   * guess by the hash alone, good for reading ahead.
   */
  candidateAt(slot: number, hash: number): number {
    const words = this.words
    const end = slot + 2 * CANDIDATE_PROBES
    for (let at = slot; at < end; at += 2) {
      const entry = words[at + 1]!
      if (entry === 0) return -1
      if (words[at] === hash) return this.checkedHeaderOf(entry - 1) < 0 ? -1 : entry - 1
    }
    return -1
  }

  private probe(key: Uint8Array, start: number, length: number, hash: number): number {
    const address = this.words[CONTROL_INDEX_ADDRESS]!
    const mask = this.words[CONTROL_INDEX_MASK]!
    if (address + 2 * mask + 2 > this.words.length) this.refresh()
    const words = this.words
    let slot = Math.imul(hash, INDEX_MULTIPLIER) >>> words[CONTROL_INDEX_SHIFT]!
    for (let n = 0; n <= mask; n++) {
      const entry = words[address + 2 * slot + 1]!
      if (entry === 0) return MISSING
      if (words[address + 2 * slot] === hash) {
        const outcome = this.match(entry - 1, key, start, length)
        if (outcome !== MISSING) return outcome
      }
      slot = (slot + 1) & mask
    }
    return MISSING
  }

  /** The row if it has the key, MISSING if it has another, STUCK if it stays odd. */
  private match(row: number, key: Uint8Array, start: number, length: number): number {
    const header = this.checkedHeaderOf(row)
    if (header < 0) return MISSING
    for (let spin = 0; spin < SPINS; spin++) {
      const sequence = Atomics.load(this.words, header)
      if ((sequence & 1) !== 0) continue
      if ((this.words[header + ROW_STATE]! & (STATE_LIVE | STATE_DELETED)) === 0) return MISSING
      if (!sameKey(this.words, header, key, start, length)) return MISSING
      this.foundSequence = sequence
      return row
    }
    return STUCK
  }
}
