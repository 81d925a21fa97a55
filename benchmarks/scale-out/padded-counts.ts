import { KafkaSink } from '../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { float64Serializer, stringSerializer } from '../../src/core/serializer.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

/** Characters of a row beside its count. */
const PADDING = 'x'.repeat(400)

const encoder = new TextEncoder()

/** Counts the records of each key in rows of 400 bytes, behind an exchange, and writes the key for each, exactly once. */
const paddedCounts: JobDefinition<Record<string, string>> = defineJob<Record<string, string>>({
  name: 'padded-counts',
  options: {
    brokers: { type: 'string', help: 'Kafka.' },
    input: { type: 'string', help: 'Topic of the keys, as text.' },
    output: { type: 'string', help: 'Topic of the keys that were counted.' },
  },
  build(env, { brokers, input, output }) {
    const source = new KafkaSource<number>({
      ...{ brokers: brokers!, topic: input! },
      deserialize: (record) => Number(Buffer.from(record.value()!).toString('latin1')),
    })
    const sink = new KafkaSink<number>({
      ...{ brokers: brokers!, topic: output! },
      guarantee: 'exactly-once',
      transactionTimeoutMs: 600_000,
      serialize: (key, record) => {
        record.value = encoder.encode(String(key))
      },
    })
    env
      .fromSource(source, noWatermarks<number>(), 'keys')
      .uid('keys')
      .returns(float64Serializer)
      .keyBy((key) => key, float64Serializer)
      .process<number>(() => {
        let row: ValueState<string>
        return {
          open(context) {
            row = context.getState(valueState('row', { serializer: stringSerializer }))
          },
          processElement(key, _context, out) {
            const count = Number((row.value() ?? '0').split(' ', 1)[0])
            row.update(`${count + 1} ${PADDING}`)
            out.collect(key)
          },
        }
      })
      .uid('counts')
      .returns(float64Serializer)
      .sinkTo(sink)
      .uid('counted')
  },
})

export default paddedCounts
