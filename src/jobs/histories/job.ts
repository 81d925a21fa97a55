import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import { placeIn, TOPICS_PLACE } from '../../connectors/topics/place.ts'
import { name, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, type NamedOptions, type OptionShape } from '../../core/options/shape.ts'
import { defineJob, type JobDefinition } from '../../dataflow/job/definition.ts'
import { topicRecords } from '../../models/topic/records.ts'
import { quarantine } from '../learning/quarantine.ts'
import { REFUSED } from '../learning/refused.ts'
import { type HistoryInput, ItemCountsFunction, KnownItemsFunction } from './functions.ts'
import { HistoryRatingsOperator } from './ratings-operator.ts'
import { KNOWN_ITEMS_UID } from './states.ts'

/** Options of the `histories` job. */
export interface HistoriesOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the observations. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topic. */
  readonly kafka?: KafkaClientOptions
  /** Observations, `user,item,rating[,seconds]`. */
  readonly observations: string
  /** Topic of refused observations. @default they are counted and dropped */
  readonly quarantine?: string
  /** Longest id of a user or an item in bytes; ratings with longer ones are refused. @default 64 */
  readonly maxKeyBytes?: number
}

const HISTORIES: OptionShape<NamedOptions<HistoriesOptions>> = {
  ...TOPICS_PLACE,
  observations: required(name),
  quarantine: name,
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
}

/** Uid of the operator that reads ratings. */
export const HISTORY_RATINGS_UID = 'ratings'

/**
 * Keeps the history of each user: the queryable states `KNOWN_ITEMS`, `USER_COUNTS` and `ITEM_COUNTS`
 * (`states.ts`). A second rating of an item replaces the first and counts no more. A record without a value forgets the
 * user whose id is its key.
 */
const histories: JobDefinition<HistoriesOptions> = defineJob<HistoriesOptions>({
  name: 'histories',
  async build(env, options) {
    checkOptions('histories', HISTORIES, options)
    await using topics = await openTopics(placeIn(options))
    const ratings = topicRecords(env, topics, {
      topic: options.observations,
      name: 'Observations',
      uid: 'observations',
    })
      .transform<HistoryInput>('Ratings', () => new HistoryRatingsOperator(options.maxKeyBytes), {
        sideOutputs: [REFUSED.id],
      })
      .uid(HISTORY_RATINGS_UID)
    await quarantine(ratings.getSideOutput(REFUSED), placeIn(options), options.quarantine)
    ratings
      .keyBy(({ user }) => user)
      .process(() => new KnownItemsFunction(options.maxKeyBytes))
      .uid(KNOWN_ITEMS_UID)
      .name('Known items')
      .keyBy(({ item }) => item)
      .process(() => new ItemCountsFunction(options.maxKeyBytes))
      .uid('item-counts')
      .name('Item counts')
      .discard()
  },
})

export default histories
