import { keyOfEveryGroup } from '../../../core/key-group-keys.ts'
import { NO_TIMESTAMP } from '../../../core/time.ts'
import { type AlsRowKind, writeKeySuffix } from '../../../models/als/row-key.ts'
import { ratingLineFormat } from '../../../models/ratings/line-format.ts'
import { isRefused } from '../../../models/ratings/rating-fields.ts'
import type { ModelTopicRecord } from '../../../models/topic/record.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../../state/port/key-length.ts'
import { type GateOrder, phaseIn } from '../messages.ts'
import { ObservationsGate } from '../observations-gate.ts'
import { type RefusalReason, Refusals } from '../refused.ts'
import type { SameEventOptions } from '../seen-events.ts'
import { emptyRating, emptySwitch } from './records.ts'

/**
 * Reads `user,item,rating[,seconds]` and sends the rating with the row keys of user and item. A record
 * that is no rating is refused: it must neither stop the job nor get lost. Before the first rating of a
 * partition that is learned on another version, it sends a switch to all owners of users.
 */
export class RatingsOperator extends ObservationsGate {
  private readonly lines = ratingLineFormat()
  private readonly record = emptyRating()
  private readonly change = emptySwitch()
  /** By partition, the version of the switch that was sent last in this attempt, if its phase of learning goes on. */
  private switchedTo: number[] = []
  private phase = 0
  private refusals!: Refusals
  private readonly maxKeyBytes: number
  private readonly readsTime: boolean
  /** Time in the text of the last rating; -1 where it has none. */
  private time = NO_TIMESTAMP
  /** The newest time of a rating, ms: that of its text, or of its record. */
  private newestMs = Number.NaN

  /** `readsTime`: a rating has the time of its text instead of that of its record. */
  constructor(
    mostInFlight?: number,
    maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
    readsTime: boolean = false,
    sameEvent: SameEventOptions = {},
  ) {
    super(mostInFlight, sameEvent)
    this.maxKeyBytes = maxKeyBytes
    this.readsTime = readsTime
    for (const span of [this.record.key, this.record.item]) {
      span.bytes = new Uint8Array(maxKeyBytes)
    }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refusals = new Refusals(context, 'ratingsRefused')
    context.metrics.gauge('freshnessMs', () => context.clock.nowMs() - this.newestMs)
  }

  protected override letThrough(order: GateOrder): void {
    super.letThrough(order)
    const phase = phaseIn(order, order.version)
    if (phase !== this.phase) this.switchedTo = []
    this.phase = phase
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    // A user who is forgotten: the topic of rows says so, too, and there it drops the rows.
    if (record.valueLength < 0 && record.keyLength >= 0) {
      this.forgetUser(record)
      return
    }
    const reason = this.parse(record)
    if (reason === undefined) {
      if (this.isRepeated(record)) return
      const { partition } = this.context.position()
      if (this.switchedTo[partition] !== this.version) this.sendSwitch(partition, timestamp)
      this.inFlight?.enter()
      const rated = this.time === NO_TIMESTAMP ? timestamp : this.time
      if (!(rated <= this.newestMs)) this.newestMs = rated
      this.context.output.collect(this.record, this.readsTime ? rated : timestamp)
      return
    }
    this.refusals.refuseRecord(record, reason, timestamp)
  }

  private forgetUser({ bytes, keyStart, keyLength }: ModelTopicRecord): void {
    const user = Buffer.from(bytes.subarray(keyStart, keyStart + keyLength)).toString()
    this.forgetEvents((line) => {
      const rating = this.lines.outcome(line, 0, line.length)
      return !isRefused(rating) && rating.user === user
    })
  }

  private sendSwitch(partition: number, timestamp: number): void {
    const { change, version, phase } = this
    this.switchedTo[partition] = version
    this.resumeOffsets?.learns(partition, version)
    change.version = version
    change.phase = phase
    change.partition = partition
    for (const key of keyOfEveryGroup(this.context.maxParallelism)) {
      change.key.bytes = key
      change.key.length = key.length
      this.context.output.collect(change, timestamp)
    }
  }

  /** Most lines are plain: the bytes of their ids are copied, without making texts of them. */
  private parse({ bytes, valueStart, valueLength }: ModelTopicRecord): RefusalReason | undefined {
    if (valueLength < 0) return 'unparsable'
    const end = valueStart + valueLength
    const { lines, record } = this
    if (lines.readPlain(bytes, valueStart, end)) {
      copyId(record.key, bytes, lines.userStart, lines.userEnd, 'U')
      copyId(record.item, bytes, lines.itemStart, lines.itemEnd, 'I')
      record.rating = lines.rating
      this.time = lines.timestamp
    } else {
      const rating = lines.outcome(bytes, valueStart, end)
      if (isRefused(rating)) return rating.reason
      encodeId(record.key, rating.user, 'U')
      encodeId(record.item, rating.item, 'I')
      record.rating = rating.rating
      this.time = rating.timestamp
    }
    const { maxKeyBytes } = this
    const isLong = record.key.length > maxKeyBytes || record.item.length > maxKeyBytes
    return isLong ? 'key-too-long' : undefined
  }
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

/** Makes the row key of the id between two positions. A key that is too long is cut, but has its full length. */
function copyId(key: Key, bytes: Uint8Array, from: number, to: number, kind: AlsRowKind): void {
  const most = Math.min(to, from + key.bytes.length)
  for (let at = from; at < most; at++) key.bytes[at - from] = bytes[at]!
  key.length = writeKeySuffix(key.bytes, to - from, kind)
}
