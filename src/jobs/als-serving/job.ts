import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import { placeIn, TOPICS_PLACE } from '../../connectors/topics/place.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { spanSerializer } from '../../core/byte-span.ts'
import { count, name, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type NamedOptions, type OptionShape } from '../../core/options/shape.ts'
import { defineJob, type JobDefinition } from '../../dataflow/job/definition.ts'
import type { StreamExecutionEnvironment } from '../../dataflow/stream-execution-environment.ts'
import { type RowUpdate, RowUpdateSerializer } from '../../models/als/row-update.ts'
import { AlsServingFunction } from '../../models/topic/als-serving-function.ts'
import { BAD_ROWS, MODEL_ROWS_UID } from '../../models/topic/operator.ts'
import { topicRecords } from '../../models/topic/records.ts'
import {
  type BadRowPolicy,
  ModelRowsOperator,
  VERSION_DIMENSIONS,
  type VersionDimensions,
} from '../../models/topic/rows-operator.ts'
import { REFUSED } from '../learning/refused.ts'
import { TagBitsFunction, TagRowsFunction } from './tag-functions.ts'
import { type TaggedItem, TagLinesOperator } from './tag-lines-operator.ts'
import { TAG_LINES_UID } from './tag-states.ts'

/** Options of the `als-serving` job. */
export interface AlsServingOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the model topic. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topic. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: rows and version markers. */
  readonly topic: string
  /** Floats of a row. */
  readonly dimension: number
  /**
   * Floats of a row of versions that have others. Markers in the topic say it, too, but compaction may have removed the one
   * that stood before the rows. @default all versions that no marker is read of have `dimension`
   */
  readonly dimensions?: VersionDimensions
  /** Longest key `<id>-U` or `<id>-I` in bytes; every row takes as much memory. @default 64 */
  readonly maxKeyBytes?: number
  /** Whether records that are no rows of this model are dropped or fail the job; they are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
  /** Topic of the tags of items, lines `item,tag;tag;...`, for rules in top lists. @default there are no rules */
  readonly tags?: string
}

const ALS_SERVING: OptionShape<NamedOptions<AlsServingOptions>> = {
  ...TOPICS_PLACE,
  topic: required(name),
  dimension: required(count),
  dimensions: VERSION_DIMENSIONS,
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
  badRows: BAD_ROWS,
  tags: name,
}

/**
 * Reads a model topic and serves it: rows by key and version as the queryable state `ALS_MODEL`
 * (`<id>-U`, `<id>-I`, `MEAN-U`, `MEAN-I`).
 */
const alsServing: JobDefinition<AlsServingOptions> = defineJob<AlsServingOptions>({
  name: 'als-serving',
  async build(env, options) {
    checkOptions('als-serving', ALS_SERVING, options)
    await using topics = await openTopics(placeIn(options))
    topicRecords(env, topics, { topic: options.topic, name: 'Model topic', uid: 'model-topic' })
      .transform<RowUpdate>(
        'Model rows',
        () =>
          new ModelRowsOperator(
            options.dimension,
            options.badRows ?? 'drop',
            false,
            options.dimensions,
          ),
        { serializer: new RowUpdateSerializer() },
      )
      .uid(MODEL_ROWS_UID)
      .keyBy((row) => row.key, spanSerializer)
      .process(() => new AlsServingFunction(options.dimension, options.maxKeyBytes))
      .uid('als-model')
      .name('ALS model')
      .discard()
    if (options.tags !== undefined) itemTags(env, topics, { ...options, topic: options.tags })
  },
})

/** Options of `itemTags`. */
interface ItemTagsOptions {
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
function itemTags(
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

export default alsServing
