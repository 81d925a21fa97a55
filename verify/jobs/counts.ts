import { KafkaSink } from '../../src/connectors/kafka/sink.ts'
import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { modelVersion } from '../../src/core/model-version.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import type { DeliveryGuarantee } from '../../src/operators/port/sink.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
  OnTimerContext,
} from '../../src/operators/process/function.ts'
import { valueState, vectorState } from '../../src/state/port/descriptors.ts'
import type { ValueState, VectorState } from '../../src/state/port/handles.ts'

/** Longer than all brokers need to start again on a busy machine. */
export const TRANSACTION_TIMEOUT_MS = 60_000

/** Options of the counts job. */
export interface CountsJobOptions extends Readonly<Record<string, unknown>> {
  readonly brokers: string
  readonly input: string
  readonly output: string
  /** `exactly-once`, except in a mutation. */
  readonly guarantee: DeliveryGuarantee
  readonly requestTimeoutMs: number
}

/** Queryable name of the counts as values of any type, at every level but `checkpoint`. */
export const COUNTS = 'COUNTS'
/** Queryable name of the counts as vectors, at every level. */
export const COUNT_ROWS = 'COUNT_ROWS'
/** Queryable name of the number of timers that fired, one for each record of the key. */
export const TIMER_ROWS = 'TIMER_ROWS'
/** Model versions of the count rows; the fourth float of a row is its version minus one. */
export const COUNT_VERSIONS: readonly number[] = [1, 2]
/** Time from a record to its timer, ms. */
export const TIMER_MS = 400

/** One record of the input: key and amount. */
interface Operation {
  readonly key: string
  readonly amount: number
}

/** Number of records of a key so far, and a hash of their amounts in order. */
export interface Count {
  readonly count: number
  readonly hash: number
}

const VERSIONS = COUNT_VERSIONS.map(modelVersion)
const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Time of a key's last timer, and the number that fired. */
interface Timers {
  readonly last: number
  readonly fired: number
}

/**
 * A function that counts the records of each key, stores the count in two kinds of state and emits it.
 * Each record registers a timer at its own time, and the timers that fire are counted too.
 */
class CountFunction implements KeyedProcessFunction<string, Operation, Count & Operation> {
  private counts!: ValueState<Count>
  private rows!: VectorState
  private timers!: ValueState<Timers>
  private timerRows!: VectorState
  private readonly row = new Float32Array(4)
  private readonly timerRow = new Float32Array(2)

  open(context: KeyedFunctionContext): void {
    this.counts = context.getState(valueState<Count>('counts', { queryableName: COUNTS }))
    this.rows = context.getVectorState(
      vectorState('count-rows', { dimension: 4, queryableName: COUNT_ROWS }),
    )
    this.timers = context.getState(valueState<Timers>('timers'))
    this.timerRows = context.getVectorState(
      vectorState('timer-rows', { dimension: 2, queryableName: TIMER_ROWS }),
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
    // A float32 is exact for whole numbers up to 2^24, so the hash has two parts.
    const { partition, offset } = context.position
    const origin = { partition, offset, eventTime: context.timestamp }
    for (const version of VERSIONS) {
      this.row.set([count, hash % 2 ** 16, Math.floor(hash / 2 ** 16), version - 1])
      this.rows.put(version, context.currentKeyBytes, this.row, origin)
    }
    this.registerTimer(context)
    out.collect({ ...operation, count, hash })
  }

  /** Two timers of a key at the same time would be one, so each is later than the one before. */
  private registerTimer({ timerService }: KeyedProcessContext<string>): void {
    const { last, fired } = this.timers.value() ?? { last: 0, fired: 0 }
    const next = Math.max(timerService.currentProcessingTime + TIMER_MS, last + 1)
    timerService.registerProcessingTimeTimer(next)
    this.timers.update({ last: next, fired })
  }

  onTimer(_timestamp: number, context: OnTimerContext<string>): void {
    const { last, fired } = this.timers.value()!
    this.timers.update({ last, fired: fired + 1 })
    this.timerRow[0] = fired + 1
    this.timerRows.put(VERSIONS[0]!, context.currentKeyBytes, this.timerRow, NOWHERE)
  }
}

/** The job that counts per key: an input topic, queryable state, an output topic. */
const countsJob: JobDefinition<CountsJobOptions> = defineJob<CountsJobOptions>({
  name: 'verified-counts',
  build(env, { brokers, input, output, guarantee, requestTimeoutMs }) {
    const source = new KafkaSource<Operation>({
      brokers,
      requestTimeoutMs,
      topic: input,
      discoveryIntervalMs: 500,
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
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
      // As often as the source looks for added partitions.
      metadataMaxAgeMs: 500,
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
