import type { ByteReader } from '../core/byte-reader.ts'
import { type ByteSpan, emptySpan, type MutableByteSpan } from '../core/byte-span.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'
import type { ModelRow } from '../models/model-row.ts'
import { OutputTag } from '../operators/output-tag.ts'

/*
 * What travels through the learning job. Records are reused: each is valid until the next of its
 * kind is read. The key of a record is the row key of its owner.
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

/** The ratings of a partition that follow are learned on this version: for every owner of users. */
export interface SwitchRecord {
  readonly kind: 'switch'
  /** Of a key group of the owner, no row; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
  readonly partition: number
}

/** A delta on its way to the owner of its item. */
export interface DeltaRecord {
  readonly kind: 'delta'
  /** `<id>-I`; empty after a shuffle. */
  readonly key: ByteSpan
  readonly version: number
  /** Where the rating stood. */
  readonly partition: number
  readonly offset: number
  /** [deltaLength of the rule] */
  readonly values: Float32Array
}

/** What the learner takes. */
export type LearnerInput = ModelRow | RatingRecord | SwitchRecord | DeltaRecord

/** An observation that is not learned, and why. */
export interface RefusedRating {
  /** As it was read, or `user,item,rating`. */
  readonly value: Uint8Array
  readonly reason: RefusalReason
  readonly partition: number
  readonly offset: number
}

/** Why a rating is not learned. */
export type RefusalReason =
  /** It is no rating. */
  | 'unparsable'
  /** An id is longer than a row key may be. */
  | 'key-too-long'
  /** It lies outside the model's range. */
  | 'out-of-range'
  /** The user rates faster than the limit. */
  | 'rate-limited'
  /** The step would have given numbers that are not finite. */
  | 'not-finite'

export const REFUSED = new OutputTag<RefusedRating>('refused-ratings')

/** How far off the live model's predictions are, as one slot sees it. */
export interface LearningErrorPart {
  readonly version: number
  readonly slot: number
  readonly ratings: number
  readonly mse: number
  readonly windowMse: number
  readonly fadedMse: number
  readonly coverage: number
}

export const LEARNING_ERROR = new OutputTag<LearningErrorPart>('learning-error')

/** A rating that is filled anew for every record. */
export interface MutableRating extends RatingRecord {
  readonly key: MutableByteSpan
  readonly item: MutableByteSpan
  rating: number
}

/** An empty rating to fill. */
export function emptyRating(): MutableRating {
  return { kind: 'rating', key: emptySpan(), item: emptySpan(), rating: 0 }
}

/** A switch that is filled anew for every record. */
export interface MutableSwitch extends SwitchRecord {
  readonly key: MutableByteSpan
  version: number
  partition: number
}

/** An empty switch to fill. */
export function emptySwitch(): MutableSwitch {
  return { kind: 'switch', key: emptySpan(), version: 0, partition: 0 }
}

/**
 * A rating, or a switch, whose rating is NaN.
 *
 *   | rating float64 | item's key ... |
 *   | NaN float64 | version u32 | partition u32 |
 */
export class RatingRecordSerializer implements Serializer<RatingRecord | SwitchRecord> {
  readonly id = 'learning-rating/2'
  private readonly record = emptyRating()
  private readonly change = emptySwitch()

  write(record: RatingRecord | SwitchRecord, writer: ByteWriter): void {
    if (record.kind === 'switch') {
      writer.float64(Number.NaN)
      writer.uint32(record.version)
      writer.uint32(record.partition)
      return
    }
    writer.float64(record.rating)
    const { bytes, start, length } = record.item
    writer.copy(bytes, start, length)
  }

  read(reader: ByteReader): RatingRecord | SwitchRecord {
    const { record } = this
    record.rating = reader.float64()
    if (Number.isNaN(record.rating)) return this.readSwitch(reader)
    const { item } = record
    item.bytes = reader.bytes
    item.start = reader.position
    item.length = reader.remaining
    return record
  }

  private readSwitch(reader: ByteReader): SwitchRecord {
    const { change } = this
    change.version = reader.uint32()
    change.partition = reader.uint32()
    return change
  }
}

/** A delta that is filled anew for every record. */
export interface MutableDelta extends DeltaRecord {
  readonly key: MutableByteSpan
  version: number
  partition: number
  offset: number
  values: Float32Array
}

/** `| version u32 | partition u32 | offset i53 | float32 x n |` */
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
