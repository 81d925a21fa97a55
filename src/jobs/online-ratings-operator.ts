import { ByteReader } from '../core/byte-reader.ts'
import { sleep } from '../core/clock.ts'
import { isWeirError } from '../core/errors.ts'
import { keyOfEveryGroup } from '../core/key-group-keys.ts'
import type { Counter } from '../core/metrics.ts'
import { ratingLineFormat } from '../models/rating-line-format.ts'
import type { OperatorContext } from '../operators/operator.ts'
import type { ModelTopicRecord } from './model-topic-record.ts'
import type { GateOrder } from './online-coordinator.ts'
import { GatedByLearning } from './online-gate.ts'
import { LearningPlaces } from './online-places.ts'
import { emptyRating, emptySwitch, REFUSED, type RefusalReason } from './online-records.ts'

const STATE = 'learning-places'
const COMMA = 0x2c
const DASH = 0x2d
const LETTER_U = 0x55
const LETTER_I = 0x49
const POINT = 0x2e
const ZERO = 0x30
/** Longest row key of the model's states. */
const MAX_KEY_BYTES = 32

/**
 * Reads `user,item,rating[,seconds]` and hands on the row keys of user and item. What is no rating is
 * refused, not learned: it must neither stop the job nor be lost from sight. Before the first rating
 * of a partition that is learned on another version it tells all owners of users of the switch.
 */
export class RatingsOperator extends GatedByLearning {
  private readonly format = ratingLineFormat()
  private readonly record = emptyRating()
  private readonly change = emptySwitch()
  private readonly mostUnderWay: number
  private places: LearningPlaces | undefined
  private version = 0
  /** By partition, the version that the owners were told of in this attempt. */
  private readonly told: number[] = []
  private refused!: Counter

  /** `mostUnderWay`: ratings that wait for their deltas to be folded; beyond it no more are let in. */
  constructor(mostUnderWay: number) {
    super()
    this.mostUnderWay = mostUnderWay
    for (const span of [this.record.key, this.record.item]) {
      span.bytes = new Uint8Array(MAX_KEY_BYTES)
    }
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refused = context.metrics.counter('ratingsRefused')
    const { source, operatorState } = context
    if (source === undefined) return
    this.places = new LearningPlaces(source, operatorState.restored(STATE))
  }

  protected override letThrough({ version, places }: GateOrder): void {
    this.version = version
    this.places?.switchTo(version, places)
  }

  override prepareSnapshot(): void {
    if (this.places === undefined) return
    this.context.operatorState.update(STATE, 'union', this.places.snapshot())
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    const reason = this.parse(record)
    if (reason === undefined) {
      const { partition } = this.context.position()
      if (this.told[partition] !== this.version) this.tell(partition, timestamp)
      this.flow?.enter()
      this.context.output.collect(this.record, timestamp)
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

  private tell(partition: number, timestamp: number): void {
    const { change, version } = this
    this.told[partition] = version
    this.places?.learns(partition, version)
    change.version = version
    change.partition = partition
    for (const key of keyOfEveryGroup(this.context.maxParallelism)) {
      change.key.bytes = key
      change.key.length = key.length
      this.context.output.collect(change, timestamp)
    }
  }

  override ready(): boolean {
    return this.flow?.admits(this.mostUnderWay) === true
  }

  override async whenReady(): Promise<void> {
    await super.whenReady()
    while (!this.ready()) await sleep(this.context.clock, 1)
  }

  private parse({ bytes, valueStart, valueLength }: ModelTopicRecord): RefusalReason | undefined {
    const end = valueStart + valueLength
    const { record } = this
    const first = copyId(record.key, bytes, valueStart, end, LETTER_U)
    if (first <= valueStart) return 'unparsable'
    const second = copyId(record.item, bytes, first + 1, end, LETTER_I)
    if (second <= first + 1) return 'unparsable'
    if (record.key.length > MAX_KEY_BYTES || record.item.length > MAX_KEY_BYTES)
      return 'key-too-long'
    record.rating = this.ratingAt(bytes, valueStart, second + 1, end)
    return Number.isFinite(record.rating) ? undefined : 'unparsable'
  }

  /** Most ratings are one digit, or two with a point; the rest is left to the format. */
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

/**
 * Makes the row key of the id that begins at `from`, up to the next comma, whose place is returned; -1
 * when there is none. A key that is too long is cut, but its length says so.
 */
function copyId(
  key: { readonly bytes: Uint8Array; length: number },
  bytes: Uint8Array,
  from: number,
  end: number,
  letter: number,
): number {
  let at = from
  for (; at < end && bytes[at] !== COMMA; at++) key.bytes[at - from] = bytes[at]!
  if (at >= end) return -1
  const length = at - from
  key.bytes[length] = DASH
  key.bytes[length + 1] = letter
  key.length = length + 2
  return at
}
