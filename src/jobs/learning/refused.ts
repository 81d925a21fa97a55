import type { RecordSerializer } from '../../connectors/records/outgoing-record.ts'
import type { Counter } from '../../core/metrics.ts'
import { type ModelTopicRecord, valueBytesOf } from '../../models/topic/record.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { OutputTag } from '../../operators/port/output-tag.ts'

/** An observation, a rating or an example, that a job does not take. */
export interface RefusedObservation {
  /** As it was read, or `user,item,rating`. */
  readonly value: Uint8Array
  readonly reason: RefusalReason
  readonly partition: number
  readonly offset: number
}

/** Why an observation is not taken. */
export type RefusalReason =
  /** The record is no rating, or no example. */
  | 'unparsable'
  /** An id is longer than a row key may be. */
  | 'key-too-long'
  /** An id is `MEAN`, that of the mean rows. */
  | 'reserved-id'
  /** The label is neither of the two that the version was trained on. */
  | 'unknown-label'
  /** The example has a feature that the model has no room for (`maxFeatures`). */
  | 'too-many-features'
  /** All bits of tags are taken, and a tag of the item has none. */
  | 'too-many-tags'
  /** The rating is outside the range of the model. */
  | 'out-of-range'
  /** The user has more ratings in a second than the limit. */
  | 'rate-limited'
  /** The step results in numbers that are not finite. */
  | 'not-finite'

/** Side output of refused observations. */
export const REFUSED = new OutputTag<RefusedObservation>('refused')

/** From an operator to its coordinator: how many observations it has refused in this attempt, and the latest. */
export interface RefusedReport extends Omit<RefusedObservation, 'value'> {
  readonly kind: 'refused'
  readonly count: number
}

/** What an operator does with an observation that it does not take: every job and every kind of observation alike. */
export class Refusals {
  private readonly context: OperatorContext
  private readonly refused: Counter

  /** `counter`: name of the metric. */
  constructor(
    context: OperatorContext,
    counter: 'ratingsRefused' | 'observationsRefused' | 'tagsRefused',
  ) {
    this.context = context
    this.refused = context.metrics.counter(counter)
  }

  /** Refuses a record as it was read. */
  refuseRecord(record: ModelTopicRecord, reason: RefusalReason, timestamp: number): void {
    this.refuse(valueBytesOf(record)?.slice() ?? new Uint8Array(0), reason, timestamp)
  }

  /** Counts the observation at the current position, copies it to the side output, and reports each doubling. */
  refuse(value: Uint8Array, reason: RefusalReason, timestamp: number): void {
    const { context, refused } = this
    refused.increment()
    const { partition, offset } = context.position()
    context.output.collectSide(REFUSED.id, { value, reason, partition, offset }, timestamp)
    const count = refused.value
    if (!isPowerOfTwo(count)) return
    const report: RefusedReport = { kind: 'refused', count, reason, partition, offset }
    context.sendEvent(report)
  }
}

/** A flood of bad records is some lines in the log, not one for each. */
function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count))
}

/** Writes refused observations as they were; the headers `reason`, `partition` and `offset` say where from. */
export function refusedSerializer(): RecordSerializer<RefusedObservation> {
  const encoder = new TextEncoder()
  return (refused, record) => {
    const header = (key: 'reason' | 'partition' | 'offset') => {
      return { key, value: encoder.encode(String(refused[key])) }
    }
    record.value = refused.value
    record.headers = [header('reason'), header('partition'), header('offset')]
  }
}
