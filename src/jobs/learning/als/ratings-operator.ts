import { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteSpan } from '../../../core/byte-span.ts'
import { keyOfEveryGroup } from '../../../core/key-group-keys.ts'
import { plainNumber } from '../../../core/text/decimal-number.ts'
import { NO_TIMESTAMP } from '../../../core/time.ts'
import { type AlsRowKind, isMeanKeyBytes, writeKeySuffix } from '../../../models/als/row-key.ts'
import { ratingLineFormat } from '../../../models/ratings/line-format.ts'
import { isRefused } from '../../../models/ratings/rating-fields.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../../state/port/key-length.ts'
import type { ModelTopicRecord } from '../../model-topic/record.ts'
import { ObservationsGate } from '../observations-gate.ts'
import { type RefusalReason, Refusals } from '../refused.ts'
import { emptyRating, emptySwitch } from './records.ts'

const COMMA = 0x2c
const SPACE = 0x20
const QUOTE = 0x22
const ASCII_END = 0x80

/**
 * Reads `user,item,rating[,seconds]` and sends the rating with the row keys of user and item. A record
 * that is no rating is refused: it must neither stop the job nor get lost. Before the first rating of a
 * partition that is learned on another version, it sends a switch to all owners of users.
 */
export class RatingsOperator extends ObservationsGate {
  private readonly format = ratingLineFormat()
  private readonly record = emptyRating()
  private readonly change = emptySwitch()
  /** By partition, the version of the switch that was sent last in this attempt. */
  private readonly switchedTo: number[] = []
  private refusals!: Refusals
  private readonly maxKeyBytes: number
  private readonly readsTime: boolean

  /** `readsTime`: a rating has the time of its text instead of that of its record. */
  constructor(
    mostInFlight?: number,
    maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
    readsTime: boolean = false,
  ) {
    super(mostInFlight)
    this.maxKeyBytes = maxKeyBytes
    this.readsTime = readsTime
    for (const span of [this.record.key, this.record.item]) {
      span.bytes = new Uint8Array(maxKeyBytes)
    }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refusals = new Refusals(context, 'ratingsRefused')
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    const reason = this.parse(record)
    if (reason === undefined) {
      const { partition } = this.context.position()
      if (this.switchedTo[partition] !== this.version) this.sendSwitch(partition, timestamp)
      this.inFlight?.enter()
      const time = this.readsTime ? this.timeOf(record, timestamp) : timestamp
      this.context.output.collect(this.record, time)
      return
    }
    this.refusals.refuseRecord(record, reason, timestamp)
  }

  /** The time in the text of a rating, ms since 1970; that of the record where the text has none. */
  private timeOf({ bytes, valueStart, valueLength }: ModelTopicRecord, otherwise: number): number {
    const { timestamp } = this.format.read(
      new ByteReader(bytes, valueStart, valueStart + valueLength),
    )
    return timestamp === NO_TIMESTAMP ? otherwise : timestamp
  }

  private sendSwitch(partition: number, timestamp: number): void {
    const { change, version } = this
    this.switchedTo[partition] = version
    this.resumeOffsets?.learns(partition, version)
    change.version = version
    change.partition = partition
    for (const key of keyOfEveryGroup(this.context.maxParallelism)) {
      change.key.bytes = key
      change.key.length = key.length
      this.context.output.collect(change, timestamp)
    }
  }

  /** Most lines are plain: their bytes are copied. The others are read as a line of a file is. */
  private parse({ bytes, valueStart, valueLength }: ModelTopicRecord): RefusalReason | undefined {
    const end = valueStart + valueLength
    if (valueLength < 0) return 'unparsable'
    const rating = this.readPlain(bytes, valueStart, end)
    if (Number.isNaN(rating)) return this.readAny(bytes, valueStart, end)
    const { record } = this
    record.rating = rating
    if (isOfMean(record.key) || isOfMean(record.item)) return 'reserved-id'
    return this.hasLongKey() ? 'key-too-long' : undefined
  }

  private hasLongKey(): boolean {
    const { record, maxKeyBytes } = this
    return record.key.length > maxKeyBytes || record.item.length > maxKeyBytes
  }

  /** Copies the ids of a plain line and returns its rating; NaN for every other line. */
  private readPlain(bytes: Uint8Array, start: number, end: number): number {
    const { record } = this
    const first = copyId(record.key, bytes, start, end, 'U')
    const second = first < 0 ? -1 : copyId(record.item, bytes, first + 1, end, 'I')
    return second < 0 ? Number.NaN : plainRating(bytes, second + 1, end)
  }

  private readAny(bytes: Uint8Array, start: number, end: number): RefusalReason | undefined {
    const rating = this.format.outcome(bytes, start, end)
    if (isRefused(rating)) return rating.reason
    const { record } = this
    encodeId(record.key, rating.user, 'U')
    encodeId(record.item, rating.item, 'I')
    record.rating = rating.rating
    return this.hasLongKey() ? 'key-too-long' : undefined
  }
}

/** The rating of a plain field, with or without plain seconds behind it; NaN otherwise. */
function plainRating(bytes: Uint8Array, at: number, end: number): number {
  let to = at
  while (to < end && bytes[to] !== COMMA) to++
  const hasTime = to < end && !Number.isNaN(plainNumber(bytes, to + 1, end))
  return to === end || hasTime ? plainNumber(bytes, at, to) : Number.NaN
}

function isOfMean({ bytes, start, length }: ByteSpan): boolean {
  return isMeanKeyBytes(bytes, start, length)
}

/** A row key that is filled again. */
interface Key {
  readonly bytes: Uint8Array
  length: number
}

const encoder = new TextEncoder()

/** Makes the row key of an id. A key that is too long is cut, but has its full length. */
function encodeId(key: Key, id: string, kind: AlsRowKind): void {
  const bytes = encoder.encode(id)
  key.bytes.set(bytes.subarray(0, key.bytes.length))
  key.length = writeKeySuffix(key.bytes, bytes.length, kind)
}

/**
 * Makes the row key of the id that begins at `from` and ends at the next comma. Returns the offset of
 * the comma, -1 where there is none or the id is empty or not plain: ASCII without blanks and quotes. A key that
 * is too long is cut, but has its full length.
 */
function copyId(key: Key, bytes: Uint8Array, from: number, end: number, kind: AlsRowKind): number {
  let at = from
  let isPlain = true
  for (; at < end && bytes[at] !== COMMA; at++) {
    const byte = bytes[at]!
    if (byte <= SPACE || byte === QUOTE || byte >= ASCII_END) isPlain = false
    key.bytes[at - from] = byte
  }
  if (at >= end || at === from || !isPlain) return -1
  key.length = writeKeySuffix(key.bytes, at - from, kind)
  return at
}
