import type { RecordBatchReader } from '../batch/record-batch-reader.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { KeysAhead } from '../state/keyed-state-backend.ts'

const NO_BYTES = new Uint8Array(0)

/** Records that are looked at together. */
export const GROUP_RECORDS = 16

/**
 * The next few records of a batch, found but not processed yet: what their keys' hashes ask for can
 * be on its way from memory while the first of them is processed.
 */
export class RecordGroup implements KeysAhead {
  count = 0
  /** What the starts index. */
  bytes: Uint8Array = NO_BYTES
  readonly keyStarts = new Int32Array(GROUP_RECORDS)
  readonly keyLengths = new Int32Array(GROUP_RECORDS)
  readonly valueStarts = new Int32Array(GROUP_RECORDS)
  readonly valueLengths = new Int32Array(GROUP_RECORDS)
  readonly timestamps = new Float64Array(GROUP_RECORDS)
  readonly offsets = new Float64Array(GROUP_RECORDS)
  /** murmur3 of the keys, as int32; only of a keyed edge. */
  readonly hashes = new Int32Array(GROUP_RECORDS)

  /** Takes the next records; their number, 0 at the end of the batch. Throws MALFORMED_DATA. */
  fill(reader: RecordBatchReader, keyed: boolean): number {
    this.bytes = reader.bytes
    let n = 0
    while (n < GROUP_RECORDS && reader.next()) {
      this.keyStarts[n] = reader.keyStart
      this.keyLengths[n] = reader.keyLength
      this.valueStarts[n] = reader.valueStart
      this.valueLengths[n] = reader.valueLength
      this.timestamps[n] = reader.timestamp
      this.offsets[n] = reader.offset
      if (keyed) this.hashes[n] = murmur3(reader.bytes, reader.keyStart, reader.keyLength)
      n += 1
    }
    this.count = n
    return n
  }
}
