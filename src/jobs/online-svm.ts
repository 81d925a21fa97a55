import type { KafkaClientOptions } from '../connectors/kafka/kafka-options.ts'
import { openTopics } from '../connectors/topics/open-topics.ts'
import { defineJob, type JobDefinition } from '../dataflow/job-definition.ts'
import { rawKeySerializer } from '../dataflow/key-serializer.ts'
import { encodeLinearDelta, type LinearDelta } from '../models/linear-delta.ts'
import { deltasTopic } from '../models/model-delta.ts'
import type { OnlineLinearOptions } from '../models/online-linear.ts'
import { type WeightUpdate, WeightUpdateSerializer } from '../models/weight-update.ts'
import { MODEL_ROWS_UID } from './als-serving.ts'
import type { BadRowPolicy } from './model-topic-operator.ts'
import { topicSink } from './online-sinks.ts'
import { SVM_DELTAS_UID, SVM_OBSERVATIONS_UID } from './online-svm-coordinator.ts'
import { SvmDeltasOperator } from './online-svm-deltas.ts'
import { SvmObservationsOperator } from './online-svm-observations.ts'
import { SvmServingFunction } from './svm-serving-function.ts'
import { topicRecords } from './topic-records.ts'
import { WeightRowsOperator } from './weight-rows-operator.ts'

/** Options of the `online-svm` job. */
export interface OnlineSvmOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the topics. */
  readonly logDirectory?: string
  /** Or how the Kafka that holds them is reached. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: weights and version markers. Its deltas lie in `<topic>-deltas`. */
  readonly topic: string
  /** Labelled examples, one line of LIBSVM's text a record. */
  readonly observations: string
  /** Features of one block. */
  readonly range: number
  readonly rule: OnlineLinearOptions
  /**
   * Observations between their prediction and the fold of their deltas, over all slots: more give more
   * observations a second and steps on older weights. @default 64
   */
  readonly mostUnderWay?: number
  /** A delta waits for others at most this long, ms. @default 2 */
  readonly lingerMs?: number
  /** What to do with records that are no weights of this model; both are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/** Uid of the operator that owns the weights: that of `svm-serving`, whose checkpoints fit. */
export const SVM_MODEL_UID = 'svm-model'

/**
 * Serves a linear model as `svm-serving` does and learns it from observations. No cycle: the loop
 * closes through the deltas topic.
 *
 *   observations --> predicted where the weights lie, derivative of the loss --> deltas topic
 *   deltas -------> split by block ---.
 *   rows --------------------------- -+-> owner of the block: folds its part
 */
const onlineSvm: JobDefinition<OnlineSvmOptions> = defineJob<OnlineSvmOptions>({
  name: 'online-svm',
  async build(env, options) {
    await using topics = await openTopics(options)
    const { range, rule, lingerMs = 2, mostUnderWay = 64 } = options
    const rows = topicRecords(env, topics, {
      topic: options.topic,
      name: options.topic,
      uid: 'model-topic',
    })
      .transform<WeightUpdate>(
        'Weights',
        () => new WeightRowsOperator(range, options.badRows ?? 'drop'),
        { serializer: new WeightUpdateSerializer() },
      )
      .uid(MODEL_ROWS_UID)
    const deltas = topicRecords(env, topics, {
      topic: deltasTopic(options.topic),
      name: deltasTopic(options.topic),
      uid: 'deltas-topic',
    })
      .transform<WeightUpdate>('Deltas', () => new SvmDeltasOperator(range), {
        serializer: new WeightUpdateSerializer(),
      })
      .uid(SVM_DELTAS_UID)
    rows
      .union(deltas)
      .keyBy((update) => update.key, rawKeySerializer)
      .process(() => new SvmServingFunction(range, true))
      .uid(SVM_MODEL_UID)
      .name('Linear model')
      .discard()
    const sink = await topicSink<LinearDelta>(options, {
      topic: deltasTopic(options.topic),
      serialize: (delta, record) => {
        // One partition for all deltas of an observations partition keeps their order.
        record.key = new TextEncoder().encode(String(delta.partition))
        record.value = encodeLinearDelta(delta)
      },
      guarantee: 'at-least-once',
      lingerMs,
    })
    topicRecords(env, topics, {
      topic: options.observations,
      name: options.observations,
      uid: 'observations',
    })
      .transform<LinearDelta>(
        'Observations',
        () => new SvmObservationsOperator(range, rule, SVM_MODEL_UID, mostUnderWay),
      )
      .uid(SVM_OBSERVATIONS_UID)
      .sinkTo(sink)
      .uid('deltas-sink')
      .name('Deltas sink')
  },
})

export default onlineSvm
