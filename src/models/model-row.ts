import type { ByteReader } from '../core/byte-reader.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'

/** A model row on its way from the topic to the state of its owner. */
export interface ModelRow {
  /** Row key without version, `12-U`; empty after a shuffle, where it is the record's key. */
  readonly key: Uint8Array
  readonly version: number
  /** [dimension]; undefined deletes the row. */
  readonly vector: Float32Array | undefined
}

const NO_KEY = new Uint8Array(0)

/**
 * Model rows between slots. The row read is valid until the next read: its vector is one buffer
 * that every read fills anew, because a row is copied into its table at once.
 *
 *   | version u32 | float32 x dimension, little-endian (none: delete) |
 */
export class ModelRowSerializer implements Serializer<ModelRow> {
  readonly id = 'model-row/1'
  private vector = new Float32Array(0)
  private bytes = new Uint8Array(0)
  /** The vector written last and its bytes: writers that reuse a vector cost no view per row. */
  private written: Float32Array = this.vector
  private writtenBytes: Uint8Array = this.bytes

  write(row: ModelRow, writer: ByteWriter): void {
    writer.uint32(row.version)
    const vector = row.vector
    if (vector === undefined) return
    if (vector !== this.written) {
      this.written = vector
      this.writtenBytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
    }
    writer.raw(this.writtenBytes)
  }

  read(reader: ByteReader): ModelRow {
    const version = reader.uint32()
    if (reader.remaining === 0) return { key: NO_KEY, version, vector: undefined }
    if (this.bytes.length !== reader.remaining) {
      this.vector = new Float32Array(reader.remaining >> 2)
      this.bytes = new Uint8Array(this.vector.buffer)
    }
    this.bytes.set(reader.raw(this.bytes.length))
    return { key: NO_KEY, version, vector: this.vector }
  }
}
