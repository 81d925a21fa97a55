import { KafkaSink } from '../../../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../../../src/connectors/kafka/source.ts'
import { deserializeValue } from '../../../../src/connectors/records/value-deserializer.ts'
import { serializeValue } from '../../../../src/connectors/records/value-serializer.ts'
import { csvFormat } from '../../../../src/core/formats/csv.ts'
import { jsonFormat } from '../../../../src/core/formats/json.ts'
import { defineJob, type JobDefinition } from '../../../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../../../src/dataflow/watermark-strategy.ts'
import { valueState } from '../../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../../src/state/port/handles.ts'
import { type Folded, fold, type Operation } from '../../../recovery/fold/job.ts'

/** Topics of the job. */
export interface KafkaFoldOptions extends Readonly<Record<string, unknown>> {
  readonly brokers: string
  readonly input: string
  readonly output: string
  /** Group whose offsets are committed, for lag tools. */
  readonly groupId?: string
  readonly discoveryIntervalMs?: number
  /** @default 60,000 */
  readonly transactionTimeoutMs?: number
  /** End at the offsets that exist at the start. */
  readonly bounded?: boolean
}

/** Operations are CSV rows, `key,amount`. */
export const operationFormat = csvFormat({ columns: { key: 'string', amount: 'integer' } })

/** Folds operations by key and writes every result exactly once, as JSON. */
const kafkaFoldJob: JobDefinition<KafkaFoldOptions> = defineJob<KafkaFoldOptions>({
  name: 'kafka-fold',
  build(env, { brokers, input, output, transactionTimeoutMs = 60_000, ...options }) {
    const source = new KafkaSource<Operation>({
      ...options,
      brokers,
      topic: input,
      deserialize: deserializeValue(operationFormat),
    })
    const sink = new KafkaSink<Folded>({
      brokers,
      topic: output,
      guarantee: 'exactly-once',
      transactionTimeoutMs,
      serialize: serializeValue(jsonFormat<Folded>(), { keyOf: ({ key }) => key }),
    })
    env
      .fromSource(source, noWatermarks<Operation>(), 'operations')
      .uid('operations')
      .keyBy(({ key }) => key)
      .process<Folded>(() => {
        let state: ValueState<Folded>
        return {
          open(context) {
            state = context.getState(valueState<Folded>('fold', { queryableName: 'FOLDS' }))
          },
          processElement(operation, _context, out) {
            const next = fold(state.value(), operation)
            state.update(next)
            out.collect(next)
          },
        }
      })
      .uid('fold')
      .sinkTo(sink)
      .uid('results')
  },
})

export default kafkaFoldJob
