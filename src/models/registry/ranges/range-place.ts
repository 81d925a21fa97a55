import type { DataRange } from './data-range.ts'

/** A topic that is here, with its id; the id is empty where it is not known. */
export interface PresentTopic {
  readonly topic: string
  readonly id: string
}

/** Where the records of a range are. */
export type RangePlace =
  /** In the topic that is here. */
  | 'here'
  /** In the topic of this name that is here, by assumption: one of the two has no id. */
  | 'taken-for-here'
  /** In another topic, which may have the same name: in another log, or one that was deleted. */
  | 'elsewhere'

/** Decides whether a range is one of the topic that is here: only then its offsets mean records of it. */
export function placeOfRange(
  { topic, topicId }: Pick<DataRange, 'topic' | 'topicId'>,
  present: PresentTopic,
): RangePlace {
  if (topicId === '') return 'elsewhere'
  if (topicId !== undefined && present.id !== '') {
    return topicId === present.id ? 'here' : 'elsewhere'
  }
  return topic === present.topic ? 'taken-for-here' : 'elsewhere'
}

/** The ranges of the topic that is here, also those that are taken for it. */
export function rangesHere<R extends Pick<DataRange, 'topic' | 'topicId'>>(
  ranges: readonly R[],
  present: PresentTopic,
): readonly R[] {
  return ranges.filter((range) => placeOfRange(range, present) !== 'elsewhere')
}

/** Whether two ranges are of one topic, as far as their ids and names say. */
export function areOfOneTopic(
  left: Pick<DataRange, 'topic' | 'topicId'>,
  { topic, topicId = '' }: Pick<DataRange, 'topic' | 'topicId'>,
): boolean {
  return placeOfRange(left, { topic, id: topicId }) !== 'elsewhere'
}
