import { murmur3 } from '../core/murmur3.ts'
import { MISSING, type RowTableReader } from '../state/row-table-reader.ts'
import type { LocalVersion } from './local-catalog.ts'

/** Blocks whose rows are remembered; a model of 3.2 M features in blocks of 1,024 has 3,157. */
const REMEMBERED = 1 << 14
const NO_BLOCK = -1
/** Longest decimal number of a block. */
const MAX_DIGITS = 10

/**
 * Finds the rows of weight blocks of one version, whose keys are the blocks' numbers in decimal. Where
 * a block's row was found is remembered, with the row's sequence word: as long as that stands, the row
 * is the block's and has not changed, and no key is hashed or compared. One instance per thread.
 */
export class WeightBlocks {
  /** The tables of the version that what is remembered lies in; another list makes all of it stale. */
  private readers: readonly RowTableReader[]
  private readonly version: LocalVersion
  private readonly blocks = new Float64Array(REMEMBERED).fill(NO_BLOCK)
  private readonly rows = new Int32Array(REMEMBERED)
  private readonly sequences = new Int32Array(REMEMBERED)
  private readonly readerNumbers = new Uint16Array(REMEMBERED)
  private readonly digits = new Uint8Array(MAX_DIGITS)
  private keyLength = 0
  /** Hash of the key of the block that was looked up last. */
  hash = 0
  /** What the last `find` found. */
  reader: RowTableReader | undefined = undefined
  sequence = 0

  constructor(version: LocalVersion) {
    this.version = version
    this.readers = version.readers
  }

  /** The row of a block, into `reader` and `sequence`, or what `RowTableReader.find` says. */
  find(block: number): number {
    if (this.readers !== this.version.readers) this.forget()
    const at = block & (REMEMBERED - 1)
    if (this.blocks[at] === block) {
      const reader = this.readers[this.readerNumbers[at]!]!
      const row = this.rows[at]!
      const sequence = this.sequences[at]!
      if (reader.isAsFound(row, sequence)) {
        this.reader = reader
        this.sequence = sequence
        return row
      }
    }
    return this.lookUp(block, at)
  }

  private lookUp(block: number, at: number): number {
    this.writeKey(block)
    this.hash = murmur3(this.digits, 0, this.keyLength) | 0
    const reader = this.version.readerOf(this.hash)
    this.reader = reader
    if (reader === undefined) return MISSING
    const row = reader.find(this.digits, 0, this.keyLength, this.hash)
    if (row < 0) return row
    this.sequence = reader.foundSequence
    this.blocks[at] = block
    this.rows[at] = row
    this.sequences[at] = this.sequence
    this.readerNumbers[at] = this.readers.indexOf(reader)
    return row
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

  private forget(): void {
    this.readers = this.version.readers
    this.blocks.fill(NO_BLOCK)
  }
}
