import { murmur3 } from '../../core/hash/murmur3.ts'
import { MISSING, type RowTableReader } from '../../state/rows/reader.ts'

/** The tables with the weight blocks of one version, one for each slot. */
export interface WeightTables {
  /** Another list after a table was opened or dropped. */
  readonly readers: readonly RowTableReader[]
  /** The table that has the key with this murmur3 hash (as int32), if it is open. */
  readerOf(hash: number): RowTableReader | undefined
}

/** Cached blocks; a model of 3.2 M features in blocks of 1,024 has 3,157. */
const CACHED = 1 << 14
/** Longest decimal number of a block. */
const MAX_DIGITS = 10

/*
 * A cache entry takes half a cache line:
 *
 *   0 block | 1 number of its reader + 1, 0: nothing | 2 address of the row's header, in words
 *   3 address of its weights | 4 sequence word | 5 number of the row | 6, 7 unused
 */
const ENTRY_WORDS = 8
/** Words of an entry. */
export const ENTRY = { block: 0, reader: 1, header: 2, weights: 3, sequence: 4, row: 5 } as const

/**
 * Finds the rows of weight blocks of one version; a block's key is its number in decimal. The row of a
 * block is cached with its sequence word: while the word is the same, the row is still the block's and
 * has not changed, so that no key is hashed or compared. One instance per thread.
 */
export class WeightBlocks {
  /** The tables that entries name by number. All entries are cleared when the version gets other tables. */
  readers: readonly RowTableReader[]
  readonly entries = new Int32Array(CACHED * ENTRY_WORDS)
  /** Table of the row that the last `recall` or `lookUp` found, and its sequence word. */
  reader: RowTableReader | undefined = undefined
  sequence = 0
  /** Hash of the key of the block that was looked up last. */
  hash = 0
  private readonly tables: WeightTables
  private readonly digits = new Uint8Array(MAX_DIGITS)
  private keyLength = 0

  constructor(tables: WeightTables) {
    this.tables = tables
    this.readers = tables.readers
  }

  /** Clears the cache if the version has other tables now. */
  refresh(): this {
    if (this.readers === this.tables.readers) return this
    this.readers = this.tables.readers
    this.entries.fill(0)
    return this
  }

  /** First word of the entry for a block, which may hold another block. */
  private entryOf(block: number): number {
    return (block & (CACHED - 1)) * ENTRY_WORDS
  }

  /**
   * First word of a block's entry, after a look-up where the block was not cached; or else the negative
   * status of `RowTableReader.find`. The row may have changed since the entry was made.
   */
  entryFor(block: number): number {
    const at = this.entryOf(block)
    const { entries } = this
    if (entries[at + ENTRY.reader] !== 0 && entries[at + ENTRY.block] === (block | 0)) return at
    const row = this.lookUp(block)
    return row < 0 ? row : at
  }

  /** As `lookUp`, from the cache when the block's row has not changed. */
  recall(block: number): number {
    const at = this.entryOf(block)
    const { entries } = this
    const reader = this.readers[entries[at + ENTRY.reader]! - 1]
    if (reader === undefined || entries[at + ENTRY.block] !== (block | 0)) return this.lookUp(block)
    const sequence = entries[at + ENTRY.sequence]!
    if (reader.sequenceOf(entries[at + ENTRY.header]!) !== sequence) return this.lookUp(block)
    this.reader = reader
    this.sequence = sequence
    return entries[at + ENTRY.row]!
  }

  /** The row of a block by its key, with `reader` and `sequence`; or the status of `RowTableReader.find`. */
  lookUp(block: number): number {
    this.writeKey(block)
    this.hash = murmur3(this.digits, 0, this.keyLength) | 0
    const reader = this.tables.readerOf(this.hash)
    this.reader = reader
    if (reader === undefined) return MISSING
    const row = reader.find(this.digits, 0, this.keyLength, this.hash)
    if (row < 0) return row
    this.sequence = reader.foundSequence
    this.cache(block, reader, row)
    return row
  }

  private cache(block: number, reader: RowTableReader, row: number): void {
    const at = this.entryOf(block)
    const { entries } = this
    entries[at + ENTRY.block] = block
    entries[at + ENTRY.reader] = this.readers.indexOf(reader) + 1
    entries[at + ENTRY.header] = reader.headerOf(row)
    entries[at + ENTRY.weights] = reader.floatsOf(row)
    entries[at + ENTRY.sequence] = this.sequence
    entries[at + ENTRY.row] = row
  }

  private writeKey(block: number): void {
    let length = 1
    for (let rest = block; rest >= 10; rest = Math.floor(rest / 10)) length++
    let rest = block
    for (let i = length - 1; i >= 0; i--) {
      const tenth = Math.floor(rest / 10)
      this.digits[i] = 0x30 + rest - tenth * 10
      rest = tenth
    }
    this.keyLength = length
  }
}
