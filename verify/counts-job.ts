import { KafkaSink } from '../src/connectors/kafka/kafka-sink.ts'
import { KafkaSource } from '../src/connectors/kafka/kafka-source.ts'
import { modelVersion } from '../src/core/identity.ts'
import { defineJob, type JobDefinition } from '../src/dataflow/job-definition.ts'
import { noWatermarks } from '../src/dataflow/watermark-strategy.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../src/operators/process-function.ts'
import type { DeliveryGuarantee } from '../src/operators/sink.ts'
import { valueState, vectorState } from '../src/state/descriptors.ts'
import type { ValueState, VectorState } from '../src/state/handles.ts'

/** Where the counts job reads and writes. */
export interface CountsJobOptions extends Readonly<Record<string, unknown>> {
  readonly brokers: string
  readonly input: string
  readonly output: string
  /** `exactly-once`, unless a mutation says otherwise. */
  readonly guarantee: DeliveryGuarantee
  readonly requestTimeoutMs: number
}

/** Queryable name of the counts as values of any type: every level but `checkpoint`. */
export const COUNTS = 'COUNTS'
/** Queryable name of the counts as vectors: every level. */
export const COUNT_ROWS = 'COUNT_ROWS'

/** One record of the input: key and amount. */
interface Operation {
  readonly key: string
  readonly amount: number
}

/** The records of a key so far: how many, and a hash of their amounts in order. */
export interface Count {
  readonly count: number
  readonly hash: number
}

const VERSION = modelVersion(1)
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Counts the records of each key, keeps the count in two kinds of state and emits it. */
class CountFunction implements KeyedProcessFunction<string, Operation, Count & Operation> {
  private counts!: ValueState<Count>
  private rows!: VectorState
  private readonly row = new Float32Array(4)

  open(context: KeyedFunctionContext): void {
    this.counts = context.getState(valueState<Count>('counts', { queryableName: COUNTS }))
    this.rows = context.getVectorState(
      vectorState('count-rows', { dimension: 4, queryableName: COUNT_ROWS }),
    )
  }

  processElement(
    operation: Operation,
    context: KeyedProcessContext<string>,
    out: Collector<Count & Operation>,
  ): void {
    const before = this.counts.value() ?? { count: 0, hash: 7 }
    const count = before.count + 1
    const hash = (before.hash * 31 + operation.amount) % 2 ** 31
    this.counts.update({ count, hash })
    // A float32 holds whole numbers up to 2^24: the hash goes in two parts.
    this.row.set([count, hash % 2 ** 16, Math.floor(hash / 2 ** 16), 0])
    const { partition, offset } = context.position
    const origin = { partition, offset, eventTime: context.timestamp }
    this.rows.put(VERSION, context.currentKeyBytes, this.row, origin)
    out.collect({ ...operation, count, hash })
  }
}

/** Counts per key: a topic in, queryable state, a topic out. */
const countsJob: JobDefinition<CountsJobOptions> = defineJob<CountsJobOptions>({
  name: 'verified-counts',
  build(env, { brokers, input, output, guarantee, requestTimeoutMs }) {
    const source = new KafkaSource<Operation>({
      brokers,
      requestTimeoutMs,
      topic: input,
      deserialize: (record) => ({
        key: decoder.decode(record.key()!),
        amount: Number(decoder.decode(record.value()!)),
      }),
    })
    const sink = new KafkaSink<Count & Operation>({
      brokers,
      requestTimeoutMs,
      topic: output,
      guarantee,
      transactionalIdPrefix: output,
      serialize(value, record) {
        record.key = encoder.encode(value.key)
        record.value = encoder.encode(`${value.count} ${value.hash}`)
      },
    })
    env
      .fromSource(source, noWatermarks<Operation>(), 'operations')
      .uid('operations')
      .keyBy((operation) => operation.key)
      .process(() => new CountFunction())
      .uid('counts')
      .sinkTo(sink)
      .uid('results')
  },
})

export default countsJob
