import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { isRefused } from '../../models/ratings/rating-fields.ts'
import { AbstractOperator } from '../../operators/port/abstract-operator.ts'
import type { OperatorContext } from '../../operators/port/operator.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { type RefusalReason, Refusals } from '../learning/refused.ts'
import type { ModelTopicRecord } from '../model-topic/record.ts'

/** Reads the ratings of a topic; a record that is none, or whose ids are too long, is refused. */
export class HistoryRatingsOperator extends AbstractOperator {
  private readonly maxKeyBytes: number
  private readonly format = ratingLineFormat()
  private refusals!: Refusals

  constructor(maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES) {
    super()
    this.maxKeyBytes = maxKeyBytes
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.refusals = new Refusals(context, 'observationsRefused')
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const record = value as ModelTopicRecord
    const rating = this.ratingOf(record)
    if (typeof rating === 'object') {
      this.context.output.collect(rating, timestamp)
      return
    }
    this.refusals.refuseRecord(record, rating, timestamp)
  }

  private ratingOf({ bytes, valueStart, valueLength }: ModelTopicRecord): Rating | RefusalReason {
    if (valueLength < 0) return 'unparsable'
    const rating = this.format.outcome(bytes, valueStart, valueStart + valueLength)
    if (isRefused(rating)) return rating.reason
    const isLong = (id: string): boolean => Buffer.byteLength(id) > this.maxKeyBytes
    return isLong(rating.user) || isLong(rating.item) ? 'key-too-long' : rating
  }
}
