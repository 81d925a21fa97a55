import { appendFileSync } from 'node:fs'
import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { systemClock } from '../../src/core/clock.ts'
import { rawKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import { float64Serializer, type Serializer } from '../../src/core/serializer.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import type { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import { DoubleCounter } from '../../src/operators/accumulators/counters.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

/** Partitions of the source. */
export const PARTITIONS = 2

/** A 16-byte record: 8 bytes of key, 8 bytes of value. */
export interface SmallRecord {
  key: Uint8Array
  amount: number
}

const smallRecordSerializer: Serializer<SmallRecord> = {
  id: 'small-record/1',
  write: (record, writer) => writer.float64(record.amount),
  read: (reader) => ({ key: NO_KEY, amount: reader.float64() }),
}
const NO_KEY = new Uint8Array(0)

/** A record as a program has it, with ten fields. */
export interface Payment {
  readonly account: number
  readonly payee: number
  readonly amount: number
  readonly currency: string
  readonly channel: string
  readonly city: string
  readonly dateTime: number
  readonly isCard: boolean
  readonly fee: number
  readonly note: string
}

const CURRENCIES = ['EUR', 'USD', 'CHF'] as const
const CHANNELS = ['web', 'phone', 'branch'] as const
const CITIES = ['Bonn', 'Lyon', 'Turin', 'Gent', 'Porto'] as const

function paymentOf(account: number, n: number): Payment {
  return {
    account,
    payee: n & 0xffff,
    amount: amountOf(n),
    currency: CURRENCIES[n % 3]!,
    channel: CHANNELS[(n >> 2) % 3]!,
    city: CITIES[n % 5]!,
    dateTime: 1_700_000_000_000 + n,
    isCard: (n & 1) === 1,
    fee: (n & 255) / 100,
    note: 'rent of this month',
  }
}

class SumPerKey<K, T extends { readonly amount: number }>
  implements KeyedProcessFunction<K, T, never>
{
  private sum!: ValueState<number>
  private readonly total = new DoubleCounter()

  open(context: KeyedFunctionContext): void {
    this.sum = context.getState(valueState<number>('sum', { serializer: float64Serializer }))
    context.addAccumulator(TOTAL, this.total)
  }

  processElement(record: T, _context: KeyedProcessContext<K>): void {
    this.sum.update((this.sum.value() ?? 0) + record.amount)
    this.total.add(record.amount)
  }
}

/** Name of the accumulator of all amounts that were summed. */
export const TOTAL = 'total'

/** Options of the job. */
export interface ShuffleJobOptions extends Readonly<Record<string, unknown>> {
  /** Of a partition, those before the clock starts included. */
  readonly recordsPerPartition: number
  /** Records of a partition before the clock starts. */
  readonly warmUp: number
  readonly keys: number
  readonly kind: 'bytes' | 'objects'
  /** File to which a partition writes a line with the monotonic time, ms, when it has read `warmUp` records. */
  readonly starts: string
}

/** The amount of the record at an index of a partition. */
export function amountOf(index: number): number {
  return index & 1023
}

/** The number of the key of a record, spread over all keys. */
function keyOf(index: number, partition: number, keys: number): number {
  return (Math.imul(2 * index + partition, 0x9e3779b1) >>> 0) % keys
}

/** Notes the time when a partition has read its first records. */
function noteStart({ warmUp, starts }: ShuffleJobOptions, index: number): void {
  if (index === warmUp) appendFileSync(starts, `${systemClock.monotonicMs()}\n`)
}

/** Writes the number of a key into its eight bytes, little-endian. */
function writeKey(key: Uint8Array, number: number): void {
  for (let i = 0; i < 4; i++) key[i] = number >>> (8 * i)
}

/**
 * A partition fills the same eight bytes for each record, as a parser does: a record is encoded as soon as its key is
 * selected. Keys made before would be read from memory at random, which took a third of the time.
 */
function shuffleBytes(
  env: StreamExecutionEnvironment,
  options: ShuffleJobOptions,
): DataStream<never> {
  const drawn = Array.from({ length: PARTITIONS }, () => new Uint8Array(8))
  const source = new GeneratorSource<SmallRecord>({
    partitions: PARTITIONS,
    countPerPartition: options.recordsPerPartition,
    generate: (index, partition) => {
      noteStart(options, index)
      const key = drawn[partition]!
      writeKey(key, keyOf(index, partition, options.keys))
      return { key, amount: amountOf(index) }
    },
  })
  return env
    .fromSource(source, noWatermarks<SmallRecord>(), 'records')
    .uid('records')
    .returns(smallRecordSerializer)
    .keyBy((record) => record.key, rawKeySerializer)
    .process(() => new SumPerKey<Uint8Array, SmallRecord>())
}

function shuffleObjects(
  env: StreamExecutionEnvironment,
  options: ShuffleJobOptions,
): DataStream<never> {
  const source = new GeneratorSource<Payment>({
    partitions: PARTITIONS,
    countPerPartition: options.recordsPerPartition,
    generate: (index, partition) => {
      noteStart(options, index)
      return paymentOf(keyOf(index, partition, options.keys), index)
    },
  })
  return env
    .fromSource(source, noWatermarks<Payment>(), 'records')
    .uid('records')
    .keyBy(({ account }) => account)
    .process(() => new SumPerKey<number, Payment>())
}

/** The job of `shuffle`: generated records, one shuffle by key, one sum per key in heap state. */
const shuffleJob: JobDefinition<ShuffleJobOptions> = defineJob<ShuffleJobOptions>({
  name: 'shuffle',
  build(env, options) {
    const sums =
      options.kind === 'bytes' ? shuffleBytes(env, options) : shuffleObjects(env, options)
    sums.uid('sum')
  },
})

export default shuffleJob
