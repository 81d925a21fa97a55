import type { TopicStore } from '../../connectors/topics/store.ts'
import { isWeirError } from '../../core/errors.ts'
import type { FeatureHashing } from '../../core/features/hashing.ts'
import { ExampleRecordReader } from '../linear/example-record.ts'
import type { DataRange } from '../registry/ranges/data-range.ts'
import { type BadObservation, readRecords } from './topic-ranges.ts'

/** A labelled example with its position in the topic. */
export interface ObservedExample {
  readonly label: number
  /** How many examples this one counts for, above 0. */
  readonly importance: number
  /** Feature ids, ascending, and their values. */
  readonly ids: Uint32Array
  readonly values: Float32Array
  /** Time of its record, ms since 1970. */
  readonly timestamp: number
  readonly partition: number
  readonly offset: number
}

/**
 * The examples of some ranges of one topic, one line of LIBSVM text a record, in pieces, in order within a
 * partition. Records that are not examples are reported to `onBad` and left out. `hashing`: features have names.
 */
export function readExamples(
  topics: TopicStore,
  ranges: readonly DataRange[],
  onBad: BadObservation = () => {},
  hashing?: FeatureHashing,
): AsyncGenerator<readonly ObservedExample[]> {
  const reader = new ExampleRecordReader(hashing)
  return readRecords(topics, ranges, (record, partition) => {
    const { offset, timestamp } = record
    try {
      const { label, importance, ids, values, count } = reader.read(record.value())
      const own = { ids: ids.slice(0, count), values: values.slice(0, count) }
      return { label, importance, ...own, timestamp, partition, offset }
    } catch (error) {
      if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
      onBad(partition, offset, error.message)
      return undefined
    }
  })
}
