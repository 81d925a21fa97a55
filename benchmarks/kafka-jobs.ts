import { deserializeValue } from '../src/connectors/formats/value-deserializer.ts'
import { serializeValue } from '../src/connectors/formats/value-serializer.ts'
import { KafkaSink } from '../src/connectors/kafka/kafka-sink.ts'
import { KafkaSource } from '../src/connectors/kafka/kafka-source.ts'
import { spanSerializer } from '../src/core/byte-span.ts'
import { bytesSerializer, float64Serializer, type Serializer } from '../src/core/serializer.ts'
import { defineJob, type JobDefinition } from '../src/dataflow/job-definition.ts'
import type { StreamExecutionEnvironment } from '../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../src/dataflow/watermark-strategy.ts'
import { AlsServingFunction } from '../src/jobs/als-serving-function.ts'
import { ModelRowsOperator, type ModelTopicRecord } from '../src/jobs/model-rows-operator.ts'
import { type ModelRow, ModelRowSerializer } from '../src/models/model-row.ts'
import type { Rating } from '../src/models/rating.ts'
import { ratingLineFormat } from '../src/models/rating-line-format.ts'
import type { DeliveryGuarantee } from '../src/operators/sink.ts'
import { valueState } from '../src/state/descriptors.ts'
import type { ValueState } from '../src/state/handles.ts'

/** Which of the jobs runs, and on what. */
export interface KafkaJobOptions extends Readonly<Record<string, unknown>> {
  readonly kind: 'ratings' | 'model' | 'copy'
  readonly brokers: string
  readonly topic: string
  /** Floats of a model row. */
  readonly dimension?: number
  readonly output?: string
  readonly guarantee?: DeliveryGuarantee
}

/** Uid of the operator whose `numRecordsIn` tells how far a job is. */
export const LAST_UID = 'last'

/** Ratings between slots: their numbers alone, for the key travels beside them. */
const ratingSerializer: Serializer<Rating> = {
  id: 'bench-rating/1',
  write: (rating, writer) => writer.float64(rating.rating),
  read: (reader) => ({ user: '', item: '', rating: reader.float64(), timestamp: -1 }),
}

function ratings(env: StreamExecutionEnvironment, { brokers, topic }: KafkaJobOptions): void {
  const source = new KafkaSource<Rating>({
    brokers,
    topic,
    deserialize: deserializeValue(ratingLineFormat()),
  })
  env
    .fromSource(source, noWatermarks<Rating>(), 'ratings')
    .uid('ratings')
    .returns(ratingSerializer)
    .keyBy(({ user }) => user)
    .process<never>(() => {
      let sum: ValueState<number>
      return {
        open(context) {
          sum = context.getState(valueState('sum', { serializer: float64Serializer }))
        },
        processElement: ({ rating }) => sum.update((sum.value() ?? 0) + rating),
      }
    })
    .uid(LAST_UID)
}

/** The operators of `als-serving`. */
function model(env: StreamExecutionEnvironment, options: KafkaJobOptions): void {
  const { brokers, topic, dimension = 100 } = options
  const source = new KafkaSource<ModelTopicRecord>({
    brokers,
    topic,
    // The record where it lies: a row is encoded for its owner within the same call.
    deserialize: (record) => record,
  })
  env
    .fromSource(source, noWatermarks<ModelTopicRecord>(), 'rows')
    .uid('rows')
    .transform<ModelRow>('Model rows', () => new ModelRowsOperator(dimension, 'fail'), {
      serializer: new ModelRowSerializer(),
    })
    .uid('model-rows')
    .keyBy((row) => row.key, spanSerializer)
    .process(() => new AlsServingFunction(dimension))
    .uid(LAST_UID)
    .discard()
}

function copy(env: StreamExecutionEnvironment, options: KafkaJobOptions): void {
  const { brokers, topic, output = '', guarantee = 'exactly-once' } = options
  const source = new KafkaSource<Uint8Array>({
    brokers,
    topic,
    bounded: true,
    deserialize: (record) => record.value()!,
  })
  const sink = new KafkaSink<Uint8Array>({
    brokers,
    topic: output,
    guarantee,
    serialize: serializeValue(bytesSerializer),
  })
  env
    .fromSource(source, noWatermarks<Uint8Array>(), 'values')
    .uid('values')
    .sinkTo(sink)
    .uid(LAST_UID)
}

/** The jobs of the Kafka benchmarks. */
const kafkaJobs: JobDefinition<KafkaJobOptions> = defineJob<KafkaJobOptions>({
  name: 'kafka-benchmark',
  build(env, options) {
    const builders = { ratings, model, copy }
    builders[options.kind](env, options)
  },
})

export default kafkaJobs
