import type { KafkaClientOptions } from '../connectors/kafka/kafka-options.ts'
import { openTopics } from '../connectors/topics/open-topics.ts'
import { spanSerializer } from '../core/byte-span.ts'
import type { DataStream } from '../dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../dataflow/job-definition.ts'
import { deltasTopic } from '../models/model-delta.ts'
import { deltaShape, type OnlineRuleOptions } from '../models/online-rules.ts'
import type { PrequentialOptions } from '../models/prequential-error.ts'
import { MODEL_ROWS_UID } from './als-serving.ts'
import type { BadRowPolicy } from './model-rows-operator.ts'
import type { OutgoingDelta } from './online-delta-sender.ts'
import type { DeltaWindowOptions } from './online-delta-window.ts'
import { DeltasOperator } from './online-deltas-operator.ts'
import { LearningErrorFunction } from './online-error-function.ts'
import { OnlineLearner } from './online-learner.ts'
import { RatingsOperator } from './online-ratings-operator.ts'
import {
  DeltaRecordSerializer,
  LEARNING_ERROR,
  type LearnerInput,
  RatingRecordSerializer,
  REFUSED,
} from './online-records.ts'
import { LearnableRowSerializer, LearnableRowsOperator } from './online-rows.ts'
import { deltaSerializer, refusedSerializer, topicSink } from './online-sinks.ts'
import { topicRecords } from './topic-records.ts'

/** Options of the `online-als` job. */
export interface OnlineAlsOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the topics. */
  readonly logDirectory?: string
  /** Or how the Kafka that holds them is reached. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: rows and version markers. Its deltas lie in `<topic>-deltas`. */
  readonly topic: string
  /** Observations, `user,item,rating[,seconds]`. */
  readonly observations: string
  /** Where refused observations go. @default they are counted and dropped */
  readonly quarantine?: string
  /** Floats of a row. */
  readonly dimension: number
  readonly rule: OnlineRuleOptions
  /** Average ratings that a row of the batch model counts as. @default as many as it was trained on, 20 where that was not published */
  readonly evidence?: number
  readonly prequential?: PrequentialOptions
  /** Ratings of one user in one second of event time. @default no limit */
  readonly ratingsPerSecond?: number
  /** @default true */
  readonly refuseOutOfRange?: boolean
  /** Sums deltas of an item before they are sent, in transactions of the checkpoints. @default none */
  readonly window?: DeltaWindowOptions
  /**
   * Ratings between their step and the fold of their delta, over all slots: more give more ratings a
   * second and steps on older rows. @default 10,000
   */
  readonly mostUnderWay?: number
  /** A delta waits for others at most this long, ms. @default 4 */
  readonly lingerMs?: number
  /** What to do with records that are no rows of this model; both are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/** Uid of the operator that owns the rows: that of `als-serving`, whose checkpoints fit. */
export const LEARNER_UID = 'als-model'
export const RATINGS_UID = 'ratings'
export const DELTAS_UID = 'deltas'

const DEFAULT_UNDER_WAY = 10_000

/**
 * Serves an ALS model as `als-serving` does and learns it from ratings. Four topics and no cycle: the
 * loop closes through the deltas topic.
 *
 *   rows ------------.
 *   observations ----+-> owner of the row: user's step, --> deltas topic
 *   deltas ----------'   fold into the item's row
 */
const onlineAls: JobDefinition<OnlineAlsOptions> = defineJob<OnlineAlsOptions>({
  name: 'online-als',
  async build(env, options) {
    await using topics = await openTopics(options)
    const { dimension, rule, lingerMs = 4, window } = options
    // Sums wait for their window; they are of old rows by intention.
    const mostUnderWay =
      window === undefined ? (options.mostUnderWay ?? DEFAULT_UNDER_WAY) : Number.POSITIVE_INFINITY
    const { kind, length } = deltaShape(rule, dimension)
    const rows = topicRecords(env, topics, {
      topic: options.topic,
      name: 'Model topic',
      uid: 'model-topic',
    })
      .transform<LearnerInput>(
        'Model rows',
        () => new LearnableRowsOperator(dimension, options.badRows ?? 'drop'),
        { serializer: new LearnableRowSerializer() },
      )
      .uid(MODEL_ROWS_UID)
    const ratings = topicRecords(env, topics, {
      topic: options.observations,
      name: 'Observations',
      uid: 'observations',
    })
      .transform<LearnerInput>('Ratings', () => new RatingsOperator(mostUnderWay), {
        serializer: new RatingRecordSerializer(),
        sideOutputs: [REFUSED.id],
      })
      .uid(RATINGS_UID)
    const deltas = topicRecords(env, topics, {
      topic: deltasTopic(options.topic),
      name: 'Deltas topic',
      uid: 'deltas-topic',
    })
      .transform<LearnerInput>('Deltas', () => new DeltasOperator(kind, length), {
        serializer: new DeltaRecordSerializer(),
      })
      .uid(DELTAS_UID)
    const learner = rows
      .union(ratings, deltas)
      .keyBy((record) => record.key, spanSerializer)
      .transform<OutgoingDelta>('ALS learner', () => new OnlineLearner(options), {
        needsKey: true,
        sideOutputs: [REFUSED.id, LEARNING_ERROR.id],
      })
      .uid(LEARNER_UID)
    const deltasSink = await topicSink<OutgoingDelta>(options, {
      topic: deltasTopic(options.topic),
      serialize: deltaSerializer(kind, length),
      // Sums cannot be told from duplicates: they must come once.
      guarantee: window === undefined ? 'at-least-once' : 'exactly-once',
      lingerMs,
    })
    learner.sinkTo(deltasSink).uid('deltas-sink').name('Deltas sink')
    learner
      .getSideOutput(LEARNING_ERROR)
      .keyBy((part) => String(part.version))
      .process(() => new LearningErrorFunction())
      .uid('learning-error')
      .name('Learning error')
      .discard()
    const refused = learner
      .getSideOutput(REFUSED)
      .union((ratings as DataStream<unknown>).getSideOutput(REFUSED))
    if (options.quarantine === undefined) return
    const quarantine = await topicSink(options, {
      topic: options.quarantine,
      serialize: refusedSerializer(),
      guarantee: 'at-least-once',
      lingerMs,
    })
    refused.sinkTo(quarantine).uid('quarantine').name('Quarantine')
  },
})

export default onlineAls
