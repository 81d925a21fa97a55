import { ByteReader } from '../../../core/byte-reader.ts'
import type { ByteSpan } from '../../../core/byte-span.ts'
import { isWeirError } from '../../../core/errors.ts'
import { keyOfEveryGroup } from '../../../core/key-group-keys.ts'
import type { Counter } from '../../../core/metrics.ts'
import { NO_TIMESTAMP } from '../../../core/time.ts'
import { type AlsRowKind, isMeanKeyBytes, writeKeySuffix } from '../../../models/als/row-key.ts'
import { ratingLineFormat } from '../../../models/ratings/line-format.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../../state/port/key-length.ts'
import type { ModelTopicRecord } from '../../model-topic/record.ts'
import { ObservationsGate } from '../observations-gate.ts'
import { emptyRating, emptySwitch, REFUSED, type RefusalReason } from './records.ts'

const COMMA = 0x2c
const POINT = 0x2e
const ZERO = 0x30

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
  private refused!: Counter
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
    this.refused = context.metrics.counter('ratingsRefused')
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
    this.refused.increment()
    const { partition, offset } = this.context.position()
    const { bytes, valueStart, valueLength } = record
    const line = bytes.slice(valueStart, valueStart + Math.max(0, valueLength))
    this.context.output.collectSide(
      REFUSED.id,
      { value: line, reason, partition, offset },
      timestamp,
    )
  }

  /** The time in the text of a rating, ms since 1970; that of the record where the text has none. */
  private timeOf({ bytes, valueStart, valueLength }: ModelTopicRecord, otherwise: number): number {
    try {
      const reader = new ByteReader(bytes, valueStart, valueStart + valueLength)
      const { timestamp } = this.format.read(reader)
      return timestamp === NO_TIMESTAMP ? otherwise : timestamp
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return otherwise
      throw error
    }
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

  private parse({ bytes, valueStart, valueLength }: ModelTopicRecord): RefusalReason | undefined {
    const end = valueStart + valueLength
    const { record, maxKeyBytes } = this
    const first = copyId(record.key, bytes, valueStart, end, 'U')
    if (first <= valueStart) return 'unparsable'
    const second = copyId(record.item, bytes, first + 1, end, 'I')
    if (second <= first + 1) return 'unparsable'
    if (record.key.length > maxKeyBytes || record.item.length > maxKeyBytes) return 'key-too-long'
    if (isOfMean(record.key) || isOfMean(record.item)) return 'reserved-id'
    record.rating = this.ratingAt(bytes, valueStart, second + 1, end)
    return Number.isFinite(record.rating) ? undefined : 'unparsable'
  }

  /** Most ratings are one digit, or two with a point; the format reads the others. NaN: not a rating. */
  private ratingAt(bytes: Uint8Array, start: number, at: number, end: number): number {
    const whole = bytes[at]! - ZERO
    const isWhole = at < end && whole >= 0 && whole <= 9
    if (isWhole && (at + 1 === end || bytes[at + 1] === COMMA)) return whole
    const tenth = bytes[at + 2]! - ZERO
    const isShort = at + 3 === end || (at + 3 < end && bytes[at + 3] === COMMA)
    if (isWhole && isShort && bytes[at + 1] === POINT && tenth >= 0 && tenth <= 9) {
      return (whole * 10 + tenth) / 10
    }
    try {
      return this.format.read(new ByteReader(bytes, start, end)).rating
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return Number.NaN
      throw error
    }
  }
}

function isOfMean({ bytes, start, length }: ByteSpan): boolean {
  return isMeanKeyBytes(bytes, start, length)
}

/**
 * Makes the row key of the id that begins at `from` and ends at the next comma. Returns the offset of
 * the comma, -1 where there is none. A key that is too long is cut, but has its full length.
 */
function copyId(
  key: { readonly bytes: Uint8Array; length: number },
  bytes: Uint8Array,
  from: number,
  end: number,
  kind: AlsRowKind,
): number {
  let at = from
  for (; at < end && bytes[at] !== COMMA; at++) key.bytes[at - from] = bytes[at]!
  if (at >= end) return -1
  key.length = writeKeySuffix(key.bytes, at - from, kind)
  return at
}
