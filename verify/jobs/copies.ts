import type { OutOfRangePolicy } from '../../src/connectors/kafka/fetcher.ts'
import { KafkaSink } from '../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../src/connectors/records/value-deserializer.ts'
import { stringSerializer } from '../../src/core/serializer.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import type { DeliveryGuarantee } from '../../src/operators/port/sink.ts'

/** Options of the copies job. */
export interface CopiesJobOptions extends Readonly<Record<string, unknown>> {
  readonly brokers: string
  readonly input: string
  /** Topic of the copies that are written exactly once. */
  readonly once: string
  /** Topic of the copies that are written at least once. */
  readonly atLeastOnce: string
  readonly outOfRange: OutOfRangePolicy
  readonly transactionTimeoutMs?: number
  readonly requestTimeoutMs: number
}

const encoder = new TextEncoder()

/** The job that copies an input topic to two topics, one with each guarantee. */
const copiesJob: JobDefinition<CopiesJobOptions> = defineJob<CopiesJobOptions>({
  name: 'verified-copies',
  build(env, { input, once, atLeastOnce, outOfRange, brokers, requestTimeoutMs, ...options }) {
    const { transactionTimeoutMs = 60_000 } = options
    const client = { brokers, requestTimeoutMs }
    const deserialize = deserializeValue(stringSerializer)
    const source = new KafkaSource({ ...client, topic: input, outOfRange, deserialize })
    const records = env.fromSource(source, noWatermarks<string>(), 'records').uid('records')
    const copyTo = (topic: string, guarantee: DeliveryGuarantee): KafkaSink<string> =>
      new KafkaSink<string>({
        ...{ ...client, topic, guarantee, transactionTimeoutMs, transactionalIdPrefix: topic },
        serialize(value, record) {
          record.value = encoder.encode(value)
        },
      })
    records.sinkTo(copyTo(once, 'exactly-once')).uid('once')
    records.sinkTo(copyTo(atLeastOnce, 'at-least-once')).uid('at-least-once')
  },
})

export default copiesJob
