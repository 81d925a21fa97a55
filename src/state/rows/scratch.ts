import {
  checkVectorRow,
  VECTOR_ROW_DELETED,
  VECTOR_ROW_HEADER_BYTES,
  VECTOR_ROW_VERSION,
  vectorRowBytes,
} from './codec.ts'
import {
  META_EVENT_TIME,
  META_OFFSET,
  META_PARTITION,
  META_UPDATE_COUNT,
  META_WRITE_EPOCH,
  ROW_STATE,
  STATE_DELETED,
} from './layout.ts'
import type { RowTable } from './row-table.ts'

/**
 * Encodes rows of a table and decodes them back (format in `codec.ts`) without an allocation per row: the
 * results of `encode` and `keyOf` are valid until the next call.
 */
export class VectorRowScratch {
  private readonly rows: RowTable
  private readonly words: Int32Array
  private readonly doubles: Float64Array
  private readonly floats: Float32Array
  private readonly bytes: Uint8Array
  private readonly encoded: Uint8Array
  private readonly key: Uint8Array
  private readonly keys: Uint8Array[]

  constructor(rows: RowTable) {
    this.rows = rows
    const size = vectorRowBytes(rows.layout.dimension)
    const buffer = new ArrayBuffer((size + 7) & ~7)
    this.words = new Int32Array(buffer)
    this.doubles = new Float64Array(buffer, 0, VECTOR_ROW_HEADER_BYTES / 8)
    this.floats = new Float32Array(buffer, VECTOR_ROW_HEADER_BYTES, rows.layout.dimension)
    this.bytes = new Uint8Array(buffer)
    this.encoded = this.bytes.subarray(0, size)
    this.key = new Uint8Array(rows.layout.maxKeyBytes)
    this.keys = Array.from({ length: rows.layout.maxKeyBytes + 1 }, (_, length) =>
      this.key.subarray(0, length),
    )
  }

  /** The row's key. */
  keyOf(row: number): Uint8Array {
    return this.keys[this.rows.keyInto(row, this.key)]!
  }

  /** The row (or image) as bytes, without images. */
  encode(row: number, images = 0): Uint8Array {
    const { words, doubles, floats } = this.rows.arena
    const meta = this.rows.metaOf(row)
    const state = words[this.rows.headerOf(row) + ROW_STATE]!
    const flags = (state & STATE_DELETED) === 0 ? 0 : VECTOR_ROW_DELETED
    this.words[0] = VECTOR_ROW_VERSION | (flags << 8) | (images << 16)
    this.words[1] = words[meta + META_UPDATE_COUNT]!
    this.words[2] = words[meta + META_PARTITION]!
    this.words[3] = words[meta + META_WRITE_EPOCH]!
    this.doubles[2] = doubles[(meta + META_OFFSET) >> 1]!
    this.doubles[3] = doubles[(meta + META_EVENT_TIME) >> 1]!
    const from = this.rows.floatsOf(row)
    const target = this.floats
    for (let i = 0; i < target.length; i++) target[i] = floats[from + i]!
    return this.encoded
  }

  /**
   * Writes meta and floats of the encoded row at `at` into a row, between begin and end of its write;
   * the row's flags are the caller's. Throws as `checkVectorRow`.
   */
  decodeInto(value: Uint8Array, at: number, row: number): void {
    const size = this.encoded.length
    const source = at === 0 && value.length === size ? value : value.subarray(at, at + size)
    checkVectorRow(source, this.floats.length)
    // Through unshared memory: a copy between unaligned places of shared memory goes byte by byte.
    this.encoded.set(source)
    const { words, doubles, floats } = this.rows.arena
    const meta = this.rows.metaOf(row)
    words[meta + META_UPDATE_COUNT] = this.words[1]!
    words[meta + META_PARTITION] = this.words[2]!
    words[meta + META_WRITE_EPOCH] = this.words[3]!
    doubles[(meta + META_OFFSET) >> 1] = this.doubles[2]!
    doubles[(meta + META_EVENT_TIME) >> 1] = this.doubles[3]!
    const to = this.rows.floatsOf(row)
    const from = this.floats
    for (let i = 0; i < from.length; i++) floats[to + i] = from[i]!
  }
}
