import { LogSink } from '../../../src/connectors/log/sink.ts'
import { LogSource } from '../../../src/connectors/log/source.ts'
import { defineJob, type JobDefinition } from '../../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../../src/dataflow/watermark-strategy.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../../src/operators/process/function.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import type { ValueState } from '../../../src/state/port/handles.ts'

/** Options of the job. */
export interface FoldJobOptions extends Readonly<Record<string, unknown>> {
  readonly input: string
  readonly output: string
  /** Whether it ends at the offsets that exist at the start. */
  readonly bounded: boolean
  /** Time that the fold takes for a record. @default none */
  readonly slowMs?: number
}

/** One record of topic `ops`: key and amount. */
export interface Operation {
  readonly key: string
  readonly amount: number
}

/** One record of topic `results`: the fold of a key after each of its records. */
export interface Folded {
  readonly key: string
  /** Number of records of the key so far, from 1. A gap is a loss, a repetition a duplicate. */
  readonly count: number
  /** `hash = hash * 31 + amount` modulo 2^31, which depends on the order, too. */
  readonly hash: number
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The next fold of a key. */
export function fold(previous: Folded | undefined, { key, amount }: Operation): Folded {
  const { count, hash } = previous ?? { count: 0, hash: 7 }
  return { key, count: count + 1, hash: (hash * 31 + amount) % 2 ** 31 }
}

class FoldFunction implements KeyedProcessFunction<string, Operation, Folded> {
  private state!: ValueState<Folded>
  private readonly slowMs: number
  private readonly never = new Int32Array(new SharedArrayBuffer(4))

  constructor(slowMs: number) {
    this.slowMs = slowMs
  }

  open(context: KeyedFunctionContext): void {
    this.state = context.getState(valueState<Folded>('fold'))
  }

  processElement(
    operation: Operation,
    _context: KeyedProcessContext<string>,
    out: Collector<Folded>,
  ): void {
    if (this.slowMs > 0) Atomics.wait(this.never, 0, 0, this.slowMs)
    const next = fold(this.state.value(), operation)
    this.state.update(next)
    out.collect(next)
  }
}

const foldJob: JobDefinition<FoldJobOptions> = defineJob<FoldJobOptions>({
  name: 'fold',
  build(env, options) {
    const source = new LogSource<Operation>({
      directory: options.input,
      topic: 'ops',
      bounded: options.bounded,
      deserialize: (record) => ({
        key: decoder.decode(record.key()!),
        amount: Number(decoder.decode(record.value()!)),
      }),
    })
    const sink = new LogSink<Folded>({
      directory: options.output,
      topic: 'results',
      guarantee: 'exactly-once',
      serialize(value, record) {
        record.key = encoder.encode(value.key)
        record.value = encoder.encode(JSON.stringify(value))
      },
    })
    env
      .fromSource(source, noWatermarks<Operation>(), 'ops')
      .uid('ops')
      .keyBy((operation) => operation.key)
      .process(() => new FoldFunction(options.slowMs ?? 0))
      .uid('fold')
      .sinkTo(sink)
      .uid('results')
  },
})

export default foldJob
