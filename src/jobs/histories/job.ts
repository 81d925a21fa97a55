import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import type { RecordDeserializer } from '../../connectors/records/topic-record.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import { ByteReader } from '../../core/byte-reader.ts'
import { isWeirError } from '../../core/errors.ts'
import { defineJob, type JobDefinition } from '../../dataflow/job-definition.ts'
import { noWatermarks } from '../../dataflow/watermark-strategy.ts'
import { ratingLineFormat } from '../../models/ratings/line-format.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import { ItemCountsFunction, KnownItemsFunction } from './functions.ts'

/** Options of the `histories` job. */
export interface HistoriesOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the observations. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topic. */
  readonly kafka?: KafkaClientOptions
  /** Observations, `user,item,rating[,seconds]`. */
  readonly observations: string
  /** Longest id of a user or an item in bytes; ratings with longer ones are dropped and counted. @default 64 */
  readonly maxKeyBytes?: number
}

/** Time between two looks for new partitions. */
const DISCOVERY_MS = 10_000

/**
 * Keeps the history of each user: the queryable states `KNOWN_ITEMS`, `USER_COUNTS` and `ITEM_COUNTS`
 * (`states.ts`). A second rating of an item replaces the first and counts no more.
 */
const histories: JobDefinition<HistoriesOptions> = defineJob<HistoriesOptions>({
  name: 'histories',
  async build(env, options) {
    await using topics = await openTopics(options)
    const source = topics.source<Rating>({
      topic: options.observations,
      discoveryIntervalMs: DISCOVERY_MS,
      deserialize: ratingOf(),
    })
    env
      .fromSource(source, noWatermarks<Rating>(), 'Observations')
      .uid('observations')
      .keyBy(({ user }) => user)
      .process(() => new KnownItemsFunction(options.maxKeyBytes))
      .uid('known-items')
      .name('Known items')
      .keyBy((item) => item)
      .process(() => new ItemCountsFunction(options.maxKeyBytes))
      .uid('item-counts')
      .name('Item counts')
      .discard()
  },
})

/** The rating of a record; a record that is none is skipped and counted. */
function ratingOf(): RecordDeserializer<Rating> {
  const format = ratingLineFormat()
  return ({ bytes, valueStart, valueLength }) => {
    if (valueLength < 0) return undefined
    try {
      return format.read(new ByteReader(bytes, valueStart, valueStart + valueLength))
    } catch (error) {
      if (isWeirError(error, 'UNPARSABLE_RECORD')) return undefined
      throw error
    }
  }
}

export default histories
