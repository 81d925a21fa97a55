import type { KafkaClientOptions } from '../../connectors/kafka/client/options.ts'
import { openTopics } from '../../connectors/topics/open.ts'
import { placeIn } from '../../connectors/topics/place.ts'
import { rawKeySerializer } from '../../core/formats/plain-key-serializer.ts'
import { defineJob, type JobDefinition } from '../../dataflow/job/definition.ts'
import { type WeightUpdate, WeightUpdateSerializer } from '../linear/weight-update.ts'
import { LinearServingFunction } from './linear-serving-function.ts'
import { type BadRowPolicy, MODEL_ROWS_UID } from './operator.ts'
import { topicRecords } from './records.ts'
import { WeightRowsOperator } from './weight-rows-operator.ts'

/** Options of the `svm-serving` job. */
export interface SvmServingOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the model topic. */
  readonly logDirectory?: string
  /** Or the Kafka that holds the topic. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: weights and version markers. */
  readonly topic: string
  /** Features of one block. */
  readonly range: number
  /** Whether records that are no weights of this model are dropped or fail the job; they are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/**
 * Reads the model topic of a linear model and serves it: blocks of weights by number and version as
 * the queryable state `SVM_MODEL`.
 */
const svmServing: JobDefinition<SvmServingOptions> = defineJob<SvmServingOptions>({
  name: 'svm-serving',
  async build(env, options) {
    await using topics = await openTopics(placeIn(options))
    topicRecords(env, topics, { topic: options.topic, name: 'Model topic', uid: 'model-topic' })
      .transform<WeightUpdate>(
        'Weights',
        () => new WeightRowsOperator(options.range, options.badRows ?? 'drop'),
        { serializer: new WeightUpdateSerializer() },
      )
      .uid(MODEL_ROWS_UID)
      .keyBy((update) => update.key, rawKeySerializer)
      .process(() => new LinearServingFunction(options.range))
      .uid('svm-model')
      .name('Linear model')
      .discard()
  },
})

export default svmServing
