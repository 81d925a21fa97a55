import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { isRefused } from '../../models/ratings/rating-fields.ts'
import type { ModelTopicRecord } from '../../models/topic/record.ts'
import { RecordReader } from '../learning/record-reader.ts'
import type { RefusalReason } from '../learning/refused.ts'

/** Reads the ratings of a topic; a record that is none, or whose ids are too long, is refused. */
export class HistoryRatingsOperator extends RecordReader<Rating> {
  private readonly format = ratingLineFormat()

  constructor(maxKeyBytes?: number) {
    super('observationsRefused', maxKeyBytes)
  }

  protected override read({
    bytes,
    valueStart,
    valueLength,
  }: ModelTopicRecord): Rating | RefusalReason {
    if (valueLength < 0) return 'unparsable'
    const rating = this.format.outcome(bytes, valueStart, valueStart + valueLength)
    if (isRefused(rating)) return rating.reason
    const isLong = (id: string): boolean => Buffer.byteLength(id) > this.maxKeyBytes
    return isLong(rating.user) || isLong(rating.item) ? 'key-too-long' : rating
  }
}
