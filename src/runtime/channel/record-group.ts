import { murmur3 } from '../../core/hash/murmur3.ts'
import type { FrequentKey } from '../../state/port/frequent-key.ts'
import type { KeysAhead } from '../../state/port/keyed-input.ts'
import type { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { FrequentKeyReader } from './frequent-key-reader.ts'

const NO_BYTES = new Uint8Array(0)

/** Records that are decoded together. */
export const GROUP_RECORDS = 16

/**
 * The next few records of a batch, decoded but not processed yet, so that the rows of their keys can
 * be fetched from memory while the first of them is processed.
 */
export class RecordGroup implements KeysAhead {
  count = 0
  /** Bytes of the batch, into which the starts point. */
  bytes: Uint8Array = NO_BYTES
  readonly keyStarts = new Int32Array(GROUP_RECORDS)
  readonly keyLengths = new Int32Array(GROUP_RECORDS)
  readonly valueStarts = new Int32Array(GROUP_RECORDS)
  readonly valueLengths = new Int32Array(GROUP_RECORDS)
  readonly timestamps = new Float64Array(GROUP_RECORDS)
  readonly offsets = new Float64Array(GROUP_RECORDS)
  /** murmur3 of the keys, as int32; only of a keyed edge. */
  readonly hashes = new Int32Array(GROUP_RECORDS)

  /** Values of records that stay in the thread; undefined for an encoded one. */
  objects: unknown[] = new Array<unknown>(GROUP_RECORDS).fill(undefined)
  /** By record, its key if it is a frequent one. */
  readonly frequent: (FrequentKey | undefined)[] = new Array<FrequentKey | undefined>(
    GROUP_RECORDS,
  ).fill(undefined)

  /**
   * Takes the next records and returns their number, 0 at the end of the batch. `keys` reads the keys of a channel
   * whose sender remembers frequent ones. Throws MALFORMED_DATA.
   */
  fill(reader: RecordBatchReader, keyed: boolean, keys: FrequentKeyReader | undefined): number {
    this.bytes = reader.bytes
    let n = 0
    while (n < GROUP_RECORDS && reader.next()) {
      this.valueStarts[n] = reader.valueStart
      this.valueLengths[n] = reader.valueLength
      this.timestamps[n] = reader.timestamp
      this.offsets[n] = reader.offset
      if (keyed) this.takeKey(n, reader, keys)
      n += 1
    }
    this.count = n
    return n
  }

  private takeKey(n: number, reader: RecordBatchReader, keys: FrequentKeyReader | undefined): void {
    const { bytes, keyStart, keyLength } = reader
    const frequent = keys?.read(bytes, keyStart, keyLength)
    this.frequent[n] = frequent
    if (frequent !== undefined) {
      this.hashes[n] = frequent.hash
      return
    }
    const skipped = keys === undefined ? 0 : 1
    const start = keyStart + skipped
    const length = keyLength - skipped
    this.keyStarts[n] = start
    this.keyLengths[n] = length
    this.hashes[n] = murmur3(bytes, start, length)
  }
}
