import type { TopicStore } from '../../connectors/topics/store.ts'
import type { StreamExecutionEnvironment } from '../../dataflow/stream-execution-environment.ts'
import { topicRecords } from '../../models/topic/records.ts'
import { REFUSED } from '../learning/refused.ts'
import { TagBitsFunction, TagRowsFunction } from './tag-functions.ts'
import { type TaggedItem, TagLinesOperator } from './tag-lines-operator.ts'
import { TAG_LINES_UID } from './tag-states.ts'

/** Options of `itemTags`. */
export interface ItemTagsOptions {
  /** Topic of lines `item,tag;tag;...`. */
  readonly topic: string
  /** Longest key `<id>-I` in bytes. @default 64 */
  readonly maxKeyBytes?: number | undefined
}

/**
 * Adds the tags of items to a job that serves their rows: the queryable state `ITEM_TAGS`, for the rules of top lists.
 *
 *   lines --> one owner of the bits of all tags --> owner of the item: its bits
 */
export function itemTags(
  env: StreamExecutionEnvironment,
  topics: TopicStore,
  { topic, maxKeyBytes }: ItemTagsOptions,
): void {
  topicRecords(env, topics, { topic, name: 'Tags topic', uid: 'tags-topic' })
    .transform<TaggedItem>('Tag lines', () => new TagLinesOperator(maxKeyBytes), {
      sideOutputs: [REFUSED.id],
    })
    .uid(TAG_LINES_UID)
    .keyBy(() => '')
    .process(() => new TagBitsFunction())
    .uid('tag-bits')
    .name('Tag bits')
    .keyBy(({ key }) => key)
    .process(() => new TagRowsFunction(maxKeyBytes))
    .uid('item-tags')
    .name('Item tags')
    .discard()
}
