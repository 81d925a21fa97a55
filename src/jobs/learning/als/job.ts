import type { KafkaClientOptions } from '../../../connectors/kafka/client/options.ts'
import { openTopics } from '../../../connectors/topics/open.ts'
import { placeIn, TOPICS_PLACE } from '../../../connectors/topics/place.ts'
import { spanSerializer } from '../../../core/byte-span.ts'
import {
  count,
  flag,
  listOf,
  milliseconds,
  name,
  numberIn,
  positiveMilliseconds,
  required,
  wholeNumber,
} from '../../../core/options/kinds.ts'
import {
  checkOptions,
  type NamedOptions,
  nested,
  type OptionShape,
} from '../../../core/options/shape.ts'
import type { DataStream } from '../../../dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../../../dataflow/job/definition.ts'
import {
  LEARNER_RULE,
  type LearnerRuleOptions,
  learnerDeltas,
} from '../../../kinds/learner-rules.ts'
import { LearnableRowSerializer } from '../../../models/als/row-update.ts'
import { PREQUENTIAL, type PrequentialOptions } from '../../../models/quality/prequential-error.ts'
import { BAD_ROWS, MODEL_ROWS_UID } from '../../../models/topic/operator.ts'
import { topicRecords } from '../../../models/topic/records.ts'
import {
  type BadRowPolicy,
  ModelRowsOperator,
  VERSION_DIMENSIONS,
  type VersionDimensions,
} from '../../../models/topic/rows-operator.ts'
import { deltasTopic } from '../../../models/topic/topics.ts'
import { LearningErrorFunction } from '../error/learning-error.ts'
import { joinedRatingError } from '../error/rating-error.ts'
import { quarantine } from '../quarantine.ts'
import { REFUSED } from '../refused.ts'
import { SAME_EVENT, type SameEventOptions, sameEventOf } from '../seen-events.ts'
import { topicSink } from '../topic-sink.ts'
import type { OutgoingDelta } from './delta-sender.ts'
import type { DeltaWindowOptions } from './delta-window.ts'
import { DeltasOperator } from './deltas-operator.ts'
import { OnlineLearner } from './learner.ts'
import { RatingsOperator } from './ratings-operator.ts'
import {
  DeltaRecordSerializer,
  LEARNING_ERROR,
  type LearnerInput,
  RatingRecordSerializer,
} from './records.ts'
import { deltaSerializer } from './topic-serializers.ts'

/** Options of the `online-als` job. */
export interface OnlineAlsOptions extends SameEventOptions, Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the topics. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topics. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: rows and version markers. Its deltas are in `<topic>-deltas`. */
  readonly topic: string
  /** Observations, `user,item,rating[,seconds]`. */
  readonly observations: string
  /** Topic of refused observations. @default they are counted and dropped */
  readonly quarantine?: string
  /** Floats of a row. */
  readonly dimension: number
  /**
   * Floats of a row of versions that have others. Markers in the topic say it, too, but compaction may have removed the one
   * that stood before the rows. @default all versions that no marker is read of have `dimension`
   */
  readonly dimensions?: VersionDimensions
  /** Longest key `<id>-U` or `<id>-I` in bytes; every row takes as much memory. @default 64 */
  readonly maxKeyBytes?: number
  readonly rule: LearnerRuleOptions
  /**
   * Average ratings that a row of the batch model counts as. @default as many as it was trained on, 20 where that was
   * not published
   */
  readonly evidence?: number
  readonly prequential?: PrequentialOptions
  /** Ratings of one user in one second of event time; more are refused. @default no limit */
  readonly ratingsPerSecond?: number
  /**
   * Ratings of one item in one second of event time, by the users of one slot; more are refused.
   * @default no limit
   */
  readonly itemRatingsPerSecond?: number
  /** Ratings outside the range that the version was trained on are refused. @default true */
  readonly refuseOutOfRange?: boolean
  /**
   * Learning goes on also while it has certainly made the predictions worse than those of the version as it was published;
   * the job then keeps copies of few rows. @default false: it stops, and the version is served as it was published
   */
  readonly neverStop?: boolean
  /** Sums the deltas of an item before they are sent, in transactions of the checkpoints. @default none */
  readonly window?: DeltaWindowOptions
  /**
   * Ratings in flight from their step to the fold of their delta, over all slots: a higher limit gives
   * more ratings a second, with steps on older rows. @default 10,000
   */
  readonly mostUnderWay?: number
  /**
   * By partition of the deltas topic, where a job without a checkpoint begins: before are deltas of other observations.
   * @default its start
   */
  readonly deltasFrom?: readonly number[]
  /** A delta waits for others at most this long, ms. @default 4 */
  readonly lingerMs?: number
  /** Whether records that are no rows of this model are dropped or fail the job; they are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/** The options of the `online-als` job. */
export const ONLINE_ALS: OptionShape<NamedOptions<OnlineAlsOptions>> = {
  ...TOPICS_PLACE,
  ...SAME_EVENT,
  topic: required(name),
  observations: required(name),
  quarantine: name,
  dimension: required(count),
  dimensions: VERSION_DIMENSIONS,
  maxKeyBytes: wholeNumber({ min: 1, max: 1024 }),
  rule: required(LEARNER_RULE),
  evidence: numberIn({ min: 0 }),
  prequential: nested(PREQUENTIAL),
  ratingsPerSecond: numberIn({ above: 0, orInfinity: true }),
  itemRatingsPerSecond: numberIn({ above: 0, orInfinity: true }),
  refuseOutOfRange: flag,
  neverStop: flag,
  window: nested<DeltaWindowOptions>({
    count: required(count),
    intervalMs: required(positiveMilliseconds),
  }),
  mostUnderWay: wholeNumber({ min: 1, orInfinity: true }),
  deltasFrom: listOf(wholeNumber({ min: 0 })),
  lingerMs: milliseconds,
  badRows: BAD_ROWS,
}

/** Uid of the operator that owns the rows: that of `als-serving`, so that the checkpoints of both jobs fit. */
export const LEARNER_UID = 'als-model'
/** Uid of the operator that reads ratings. */
export const RATINGS_UID = 'ratings'
/** Uid of the operator that reads deltas. */
export const DELTAS_UID = 'deltas'

const DEFAULT_IN_FLIGHT = 10_000

/**
 * Serves an ALS model as `als-serving` does and learns it from ratings. The graph has no cycle: deltas
 * come back through their topic.
 *
 *   rows ------------.
 *   observations ----+-> owner of the row: user's step, --> deltas topic
 *   deltas ----------'   fold into the item's row
 */
const onlineAls: JobDefinition<OnlineAlsOptions> = defineJob<OnlineAlsOptions>({
  name: 'online-als',
  async build(env, options) {
    checkOptions('online-als', ONLINE_ALS, options)
    await using topics = await openTopics(placeIn(options))
    const { dimension, rule, lingerMs = 4, window } = options
    // Sums wait for their window: the limit must not wait for them.
    const mostInFlight =
      window === undefined ? (options.mostUnderWay ?? DEFAULT_IN_FLIGHT) : Number.POSITIVE_INFINITY
    const { kind, length } = learnerDeltas(rule, dimension)
    const rows = topicRecords(env, topics, {
      topic: options.topic,
      name: 'Model topic',
      uid: 'model-topic',
    })
      .transform<LearnerInput>(
        'Model rows',
        () => new ModelRowsOperator(dimension, options.badRows ?? 'drop', true, options.dimensions),
        { serializer: new LearnableRowSerializer() },
      )
      .uid(MODEL_ROWS_UID)
    const ratings = topicRecords(env, topics, {
      topic: options.observations,
      name: 'Observations',
      uid: 'observations',
      returnsThrough: window === undefined ? { source: 'deltas-topic' } : 'checkpoints',
    })
      .transform<LearnerInput>(
        'Ratings',
        // The limits of ratings count them by event time.
        () =>
          new RatingsOperator(
            mostInFlight,
            options.maxKeyBytes,
            options.ratingsPerSecond !== undefined || options.itemRatingsPerSecond !== undefined,
            sameEventOf(options),
          ),
        {
          serializer: new RatingRecordSerializer(),
          sideOutputs: [REFUSED.id],
        },
      )
      .uid(RATINGS_UID)
    const deltas = topicRecords(env, topics, {
      topic: deltasTopic(options.topic),
      name: 'Deltas topic',
      uid: 'deltas-topic',
      from: options.deltasFrom,
    })
      .transform<LearnerInput>(
        'Deltas',
        () => new DeltasOperator(kind, length, window !== undefined),
        {
          serializer: new DeltaRecordSerializer(),
        },
      )
      .uid(DELTAS_UID)
    const learner = rows
      .union(ratings, deltas)
      .keyBy((record) => record.key, spanSerializer)
      .transform<OutgoingDelta>('ALS learner', () => new OnlineLearner(options), {
        needsKey: true,
        sideOutputs: [REFUSED.id, LEARNING_ERROR.id],
      })
      .uid(LEARNER_UID)
    const deltasSink = await topicSink<OutgoingDelta>(placeIn(options), {
      topic: deltasTopic(options.topic),
      serialize: deltaSerializer(kind, length),
      // Duplicates of sums cannot be recognized: sums must come once.
      guarantee: window === undefined ? 'at-least-once' : 'exactly-once',
      lingerMs,
    })
    learner.sinkTo(deltasSink).uid('deltas-sink').name('Deltas sink')
    learner
      .getSideOutput(LEARNING_ERROR)
      .keyBy((part) => String(part.version))
      .process(() => new LearningErrorFunction(joinedRatingError))
      .uid('learning-error')
      .name('Learning error')
      .discard()
    const refused = learner
      .getSideOutput(REFUSED)
      .union((ratings as DataStream<unknown>).getSideOutput(REFUSED))
    await quarantine(refused, placeIn(options), options.quarantine)
  },
})

export default onlineAls
