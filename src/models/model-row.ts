import type { ByteReader } from '../core/byte-reader.ts'
import { type ByteSpan, emptySpan } from '../core/byte-span.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'

/**
 * A model row on its way from the topic to the state of its owner. Key and floats lie where the
 * record lies, until the next one: nothing is made or copied for a row before it is encoded for its
 * owner, or put into its table.
 */
export interface ModelRow {
  /** Row key without version, `12-U`; empty after a shuffle, where it is the record's key. */
  readonly key: ByteSpan
  readonly version: number
  /** float32 x dimension, little-endian; undefined deletes the row. */
  readonly floats: ByteSpan | undefined
  /** The row is none: all rows of the version go, and its memory with them. */
  readonly retires?: boolean | undefined
  /** Ratings that it was trained on, where they are known and somebody asks. */
  readonly ratings?: number | undefined
}

/** A row that is filled anew for every record. */
export interface MutableModelRow extends ModelRow {
  version: number
  floats: ByteSpan | undefined
  retires?: boolean | undefined
  ratings?: number | undefined
}

/**
 * Model rows between slots. The row read is valid until the next read.
 *
 *   | version u32 | float32 x dimension, little-endian (none: delete; one byte: drop the version) |
 */
export class ModelRowSerializer implements Serializer<ModelRow> {
  readonly id = 'model-row/1'
  private readonly floats = emptySpan()
  private readonly row: MutableModelRow = { key: emptySpan(), version: 0, floats: undefined }

  write({ version, floats, retires }: ModelRow, writer: ByteWriter): void {
    writer.uint32(version)
    if (retires === true) writer.uint8(1)
    if (floats !== undefined) writer.copy(floats.bytes, floats.start, floats.length)
  }

  read(reader: ByteReader): ModelRow {
    const { floats, row } = this
    row.version = reader.uint32()
    floats.bytes = reader.bytes
    floats.start = reader.position
    floats.length = reader.remaining
    row.retires = floats.length === 1
    row.floats = floats.length <= 1 ? undefined : floats
    return row
  }
}
