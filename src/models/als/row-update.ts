import type { ByteReader } from '../../core/byte-reader.ts'
import { type ByteSpan, emptySpan, type MutableByteSpan } from '../../core/byte-span.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'

/*
 * Changes of the rows of an ALS model on their way from the model topic to the owners of the rows. Key
 * and floats are spans of the record's bytes, valid until the next record: nothing is copied before a
 * row is encoded for its owner, or put into its table.
 */

/** A published row. */
export interface PublishedRow {
  readonly kind: 'row'
  /** Row key without version, `12-U`; empty after a shuffle, where it is the record's key. */
  readonly key: ByteSpan
  readonly version: number
  /** float32 x dimension, little-endian. */
  readonly floats: ByteSpan
  /** Ratings that the row was trained on; undefined where that is not known or not asked for. */
  readonly ratings: number | undefined
}

/** The row of variances of a published row, which is sent after it. */
export interface PublishedVariance {
  readonly kind: 'variance'
  readonly key: ByteSpan
  readonly version: number
  /** float32 x `VARIANCE_FLOATS`, little-endian; none says that the version has variances. */
  readonly floats: ByteSpan
}

/** The row is deleted. */
export interface RemovedRow {
  readonly kind: 'remove'
  readonly key: ByteSpan
  readonly version: number
}

/** The version was retired: every owner of rows deletes its rows. */
export interface RetiredRows {
  readonly kind: 'retire'
  /** Of a key group of the owner, no row; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
}

/** The version is published: every owner of rows opens it, also without a row of it. */
export interface OpenedRows {
  readonly kind: 'open'
  /** Of a key group of the owner, no row; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
  /** Floats of its rows; undefined in what earlier builds wrote, where all versions have as many. */
  readonly dimension?: number
}

/** A change of rows. */
export type RowUpdate = PublishedRow | PublishedVariance | RemovedRow | RetiredRows | OpenedRows

/** A row that every record fills again. */
export interface MutablePublishedRow extends PublishedRow {
  readonly key: MutableByteSpan
  version: number
  readonly floats: MutableByteSpan
  ratings: number | undefined
}

/** An empty row to fill. */
export function emptyRow(): MutablePublishedRow {
  return { kind: 'row', key: emptySpan(), version: 0, floats: emptySpan(), ratings: undefined }
}

const KINDS = ['row', 'remove', 'retire', 'open', 'variance'] as const
const NO_KEY = emptySpan()

/**
 * Row updates between slots, without `ratings`. The row read is valid until the next read.
 *
 *   | kind u8 | version u32 | of a row: float32 x dimension, little-endian; of a variance: its floats
 *                           | of an opened version: floats of its rows u32; earlier builds ended before them |
 */
export class RowUpdateSerializer implements Serializer<RowUpdate> {
  readonly id = 'row-update/1'
  private readonly row = emptyRow()

  write(update: RowUpdate, writer: ByteWriter): void {
    const { kind, version } = update
    writer.uint8(KINDS.indexOf(kind))
    writer.uint32(version)
    if (kind === 'open' && update.dimension !== undefined) writer.uint32(update.dimension)
    if (kind !== 'row' && kind !== 'variance') return
    writer.copy(update.floats.bytes, update.floats.start, update.floats.length)
  }

  read(reader: ByteReader): MutablePublishedRow | Exclude<RowUpdate, PublishedRow> {
    const kind = KINDS[reader.uint8()]!
    const version = reader.uint32()
    if (kind === 'row') return this.readRow(version, reader)
    if (kind === 'open' && reader.remaining > 0) {
      return { kind, key: NO_KEY, version, dimension: reader.uint32() }
    }
    if (kind !== 'variance') return { kind, key: NO_KEY, version }
    const floats = { bytes: reader.bytes, start: reader.position, length: reader.remaining }
    return { kind, key: NO_KEY, version, floats }
  }

  /** Reads the rest of a row. */
  private readRow(version: number, reader: ByteReader): MutablePublishedRow {
    const { row } = this
    const { floats } = row
    row.version = version
    floats.bytes = reader.bytes
    floats.start = reader.position
    floats.length = reader.remaining
    return row
  }
}

/** Stands for an unknown number of ratings. */
const UNKNOWN = 2 ** 32 - 1

/** Row updates with the ratings that rows were trained on: `| ratings u32 | row update |`. */
export class LearnableRowSerializer implements Serializer<RowUpdate> {
  readonly id = 'learnable-row/2'
  private readonly updates = new RowUpdateSerializer()

  write(update: RowUpdate, writer: ByteWriter): void {
    writer.uint32(update.kind === 'row' ? (update.ratings ?? UNKNOWN) : UNKNOWN)
    this.updates.write(update, writer)
  }

  read(reader: ByteReader): RowUpdate {
    const ratings = reader.uint32()
    const update = this.updates.read(reader)
    if (update.kind === 'row') update.ratings = ratings === UNKNOWN ? undefined : ratings
    return update
  }
}
