import type { ByteReader } from '../../../core/byte-reader.ts'
import { type ByteSpan, emptySpan, type MutableByteSpan } from '../../../core/byte-span.ts'
import type { ByteWriter } from '../../../core/byte-writer.ts'
import type { Serializer } from '../../../core/serializer.ts'
import type { RowUpdate } from '../../../models/als/row-update.ts'
import { OutputTag } from '../../../operators/port/output-tag.ts'
import type { RatingErrorPart } from '../error/rating-error.ts'

/*
 * The records of the learning job, distinguished by `kind`. Records are reused: each is valid until the
 * next of its kind is read. The key of a record is a row key of its owner.
 */

/** A rating on its way to the owner of its user. */
export interface RatingRecord {
  readonly kind: 'rating'
  /** `<id>-U`; empty after a shuffle, where it is the record's key. */
  readonly key: ByteSpan
  /** `<id>-I` */
  readonly item: ByteSpan
  readonly rating: number
}

/** Sent to every owner of users: ratings of the partition are learned on this version from here on. */
export interface SwitchRecord {
  readonly kind: 'switch'
  /** Of a key group of the owner, no row; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
  /** Phase of learning that the ratings belong to (`LearningPhase`). */
  readonly phase: number
  readonly partition: number
}

/** A delta on its way to the owner of its item. */
export interface DeltaRecord {
  readonly kind: 'delta'
  /** `<id>-I`; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
  /** Partition and offset of the rating. */
  readonly partition: number
  readonly offset: number
  /** [deltaLength of the rule] */
  readonly values: Float32Array
}

/** Input of the learner. */
export type LearnerInput = RowUpdate | RatingRecord | SwitchRecord | DeltaRecord

/** Side output of the errors of slots. */
export const LEARNING_ERROR = new OutputTag<RatingErrorPart>('learning-error')

/** A rating that every record fills again. */
export interface MutableRating extends RatingRecord {
  readonly key: MutableByteSpan
  readonly item: MutableByteSpan
  rating: number
}

/** An empty rating to fill. */
export function emptyRating(): MutableRating {
  return { kind: 'rating', key: emptySpan(), item: emptySpan(), rating: 0 }
}

/** A switch that every record fills again. */
export interface MutableSwitch extends SwitchRecord {
  readonly key: MutableByteSpan
  version: number
  phase: number
  partition: number
}

/** An empty switch to fill. */
export function emptySwitch(): MutableSwitch {
  return { kind: 'switch', key: emptySpan(), version: 0, phase: 0, partition: 0 }
}

const RATING = 0
const SWITCH = 1

/**
 * Ratings and switches between slots. The record read is valid until the next read of its kind.
 *
 *   | 0 u8 | rating float64 | item's key ... |
 *   | 1 u8 | version u32 | partition u32 | phase u32 |
 *
 * Switches of earlier builds, which checkpoints may hold, end before the phase.
 */
export class RatingRecordSerializer implements Serializer<RatingRecord | SwitchRecord> {
  readonly id = 'learning-rating/3'
  private readonly rating = emptyRating()
  private readonly change = emptySwitch()

  write(record: RatingRecord | SwitchRecord, writer: ByteWriter): void {
    if (record.kind === 'switch') {
      writer.uint8(SWITCH)
      writer.uint32(record.version)
      writer.uint32(record.partition)
      writer.uint32(record.phase)
      return
    }
    writer.uint8(RATING)
    writer.float64(record.rating)
    const { bytes, start, length } = record.item
    writer.copy(bytes, start, length)
  }

  read(reader: ByteReader): RatingRecord | SwitchRecord {
    return reader.uint8() === SWITCH ? this.readSwitch(reader) : this.readRating(reader)
  }

  private readRating(reader: ByteReader): RatingRecord {
    const { rating } = this
    const { item } = rating
    rating.rating = reader.float64()
    item.bytes = reader.bytes
    item.start = reader.position
    item.length = reader.remaining
    return rating
  }

  private readSwitch(reader: ByteReader): SwitchRecord {
    const { change } = this
    change.version = reader.uint32()
    change.partition = reader.uint32()
    change.phase = reader.remaining > 0 ? reader.uint32() : 0
    return change
  }
}

/** A delta that every record fills again. */
export interface MutableDelta extends DeltaRecord {
  readonly key: MutableByteSpan
  version: number
  partition: number
  offset: number
  values: Float32Array
}

/** Deltas between slots: `| version u32 | partition u32 | offset i53 | float32 x n |`. */
export class DeltaRecordSerializer implements Serializer<DeltaRecord> {
  readonly id = 'learning-delta/1'
  private bytes = new Uint8Array(0)
  private readonly record: MutableDelta = {
    kind: 'delta',
    key: emptySpan(),
    version: 0,
    partition: 0,
    offset: 0,
    values: new Float32Array(0),
  }
  private written = new Float32Array(0)
  private writtenBytes = new Uint8Array(0)

  write(record: DeltaRecord, writer: ByteWriter): void {
    writer.uint32(record.version)
    writer.uint32(record.partition)
    writer.int53(record.offset)
    const { values } = record
    if (values !== this.written) {
      this.written = values as Float32Array<ArrayBuffer>
      this.writtenBytes = new Uint8Array(
        values.buffer as ArrayBuffer,
        values.byteOffset,
        values.byteLength,
      )
    }
    writer.raw(this.writtenBytes)
  }

  read(reader: ByteReader): DeltaRecord {
    const { record } = this
    record.version = reader.uint32()
    record.partition = reader.uint32()
    record.offset = reader.int53()
    if (this.bytes.length !== reader.remaining) {
      record.values = new Float32Array(reader.remaining >> 2)
      this.bytes = new Uint8Array(record.values.buffer as ArrayBuffer)
    }
    this.bytes.set(reader.raw(this.bytes.length))
    return record
  }
}
