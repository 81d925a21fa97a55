import type { KafkaClientOptions } from '../connectors/kafka/kafka-options.ts'
import { openTopics } from '../connectors/topics/open-topics.ts'
import { spanSerializer } from '../core/byte-span.ts'
import { defineJob, type JobDefinition } from '../dataflow/job-definition.ts'
import { type ModelRow, ModelRowSerializer } from '../models/model-row.ts'
import { AlsServingFunction } from './als-serving-function.ts'
import { type BadRowPolicy, ModelRowsOperator } from './model-rows-operator.ts'
import { topicRecords } from './topic-records.ts'

/** Options of the `als-serving` job. */
export interface AlsServingOptions extends Readonly<Record<string, unknown>> {
  /** Folder of the embedded log that holds the model topic. */
  readonly logDirectory?: string
  /** Or how the Kafka that holds it is reached. */
  readonly kafka?: KafkaClientOptions
  /** Model topic: rows and version markers. */
  readonly topic: string
  /** Floats of a row. */
  readonly dimension: number
  /** What to do with records that are no rows of this model; both are counted. @default 'drop' */
  readonly badRows?: BadRowPolicy
}

/** Uid of the operator that reports version markers to the job's version coordinator. */
export const MODEL_ROWS_UID = 'model-rows'

/**
 * Reads a model topic and serves it: rows by key and version as the queryable state `ALS_MODEL`
 * (`<id>-U`, `<id>-I`, `MEAN-U`, `MEAN-I`).
 */
const alsServing: JobDefinition<AlsServingOptions> = defineJob<AlsServingOptions>({
  name: 'als-serving',
  async build(env, options) {
    await using topics = await openTopics(options)
    topicRecords(env, topics, { topic: options.topic, name: 'Model topic', uid: 'model-topic' })
      .transform<ModelRow>(
        'Model rows',
        () => new ModelRowsOperator(options.dimension, options.badRows ?? 'drop'),
        { serializer: new ModelRowSerializer() },
      )
      .uid(MODEL_ROWS_UID)
      .keyBy((row) => row.key, spanSerializer)
      .process(() => new AlsServingFunction(options.dimension))
      .uid('als-model')
      .name('ALS model')
      .discard()
  },
})

export default alsServing
