import { murmur3 } from '../core/murmur3.ts'
import type { RowTableDirectory, RowTableReaders } from '../state/row-table-directory.ts'
import { MISSING, STUCK } from '../state/row-table-reader.ts'

/** What a look at a row of another slot found. */
export type RowFound =
  | 'found'
  | 'missing'
  /** Its slot has it in its store, or is in the middle of writing it for too long. */
  | 'out-of-reach'

/** Attempts to read a row that its writer is changing. */
const ATTEMPTS = 256

/**
 * Reads rows of one state in place, whichever slot they belong to: nothing is asked and nothing waits.
 */
export class OnlineRowReader {
  private readonly directory: RowTableDirectory
  private readonly uid: string
  private readonly state: string
  private version = -1
  private changes = -1
  private readers: RowTableReaders | undefined
  private readonly meta = { updateCount: 0, partition: 0, offset: 0, eventTime: 0 }

  constructor(directory: RowTableDirectory, uid: string, state: string) {
    this.directory = directory
    this.uid = uid
    this.state = state
  }

  /** Updates of the row that was read last. */
  get updateCount(): number {
    return this.meta.updateCount
  }

  /** Copies the row of the key `bytes[start .. start + length)` into `target`, [dimension]. */
  read(
    version: number,
    bytes: Uint8Array,
    start: number,
    length: number,
    target: Float32Array,
  ): RowFound {
    const hash = murmur3(bytes, start, length) | 0
    const reader = this.at(version).of(hash)
    if (reader === undefined) return 'missing'
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = reader.find(bytes, start, length, hash)
      if (row === MISSING) return 'missing'
      if (row === STUCK) continue
      if (row < 0) return 'out-of-reach'
      const sequence = reader.foundSequence
      if (!reader.metaInto(row, sequence, this.meta)) continue
      if (reader.readInto(row, sequence, target, 0)) return 'found'
    }
    return 'out-of-reach'
  }

  /** Open tables of a version. */
  at(version: number): RowTableReaders {
    const { directory } = this
    if (this.version !== version || this.changes !== directory.changes || !this.readers) {
      this.version = version
      this.changes = directory.changes
      this.readers = directory.readers(this.uid, this.state, version)
    }
    return this.readers
  }
}
