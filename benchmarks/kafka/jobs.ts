import { KafkaSink } from '../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../src/connectors/records/value-deserializer.ts'
import { serializeValue } from '../../src/connectors/records/value-serializer.ts'
import { spanSerializer } from '../../src/core/byte-span.ts'
import { bytesSerializer, float64Serializer, type Serializer } from '../../src/core/serializer.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import type { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import { type RowUpdate, RowUpdateSerializer } from '../../src/models/als/row-update.ts'
import { ratingLineFormat } from '../../src/models/ratings/line-format.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import { AlsServingFunction } from '../../src/models/topic/als-serving-function.ts'
import { ModelRowsOperator, type ModelTopicRecord } from '../../src/models/topic/rows-operator.ts'
import type { DeliveryGuarantee } from '../../src/operators/port/sink.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

/** Options of the job: which one it is, and its topics. */
export interface KafkaJobOptions extends Readonly<Record<string, unknown>> {
  readonly kind: 'ratings' | 'model' | 'copy'
  readonly brokers: string
  readonly topic: string
  /** Floats of a model row. */
  readonly dimension?: number
  readonly output?: string
  readonly guarantee?: DeliveryGuarantee
}

/** Uid of the operator whose `numRecordsIn` is the progress of a job. */
export const LAST_UID = 'last'

/** Ratings between slots: only the number, because the key is sent beside it. */
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
    // No copy of the record: its row is encoded for its slot within the same call.
    deserialize: (record) => record,
  })
  env
    .fromSource(source, noWatermarks<ModelTopicRecord>(), 'rows')
    .uid('rows')
    .transform<RowUpdate>('Model rows', () => new ModelRowsOperator(dimension, 'fail'), {
      serializer: new RowUpdateSerializer(),
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
