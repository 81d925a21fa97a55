import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import { isRefused } from '../../models/ratings/rating-fields.ts'
import type { ModelTopicRecord } from '../../models/topic/record.ts'
import { RecordReader } from '../learning/record-reader.ts'
import type { RefusalReason } from '../learning/refused.ts'
import type { HistoryInput } from './functions.ts'

const decoder = new TextDecoder()

/**
 * Reads the ratings of a topic, and records without a value, which forget the user of their key (`weir forget`). A record
 * that is neither, or whose ids are too long, is refused.
 */
export class HistoryRatingsOperator extends RecordReader<HistoryInput> {
  private readonly format = ratingLineFormat()

  constructor(maxKeyBytes?: number) {
    super('observationsRefused', maxKeyBytes)
  }

  protected override read(record: ModelTopicRecord): HistoryInput | RefusalReason {
    const { bytes, valueStart, valueLength } = record
    if (valueLength < 0) return this.forgottenIn(record)
    const rating = this.format.outcome(bytes, valueStart, valueStart + valueLength)
    if (isRefused(rating)) return rating.reason
    const isLong = (id: string): boolean => Buffer.byteLength(id) > this.maxKeyBytes
    return isLong(rating.user) || isLong(rating.item) ? 'key-too-long' : rating
  }

  private forgottenIn({
    bytes,
    keyStart,
    keyLength,
  }: ModelTopicRecord): HistoryInput | RefusalReason {
    if (keyLength < 0) return 'unparsable'
    if (keyLength > this.maxKeyBytes) return 'key-too-long'
    return { user: decoder.decode(bytes.subarray(keyStart, keyStart + keyLength)) }
  }
}
