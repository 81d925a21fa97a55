import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { float64Serializer, type Serializer } from '../../src/core/serializer.ts'
import type { DataStream } from '../../src/dataflow/data-stream.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job-definition.ts'
import { rawKeySerializer } from '../../src/dataflow/key-serializer.ts'
import type { StreamExecutionEnvironment } from '../../src/dataflow/stream-execution-environment.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'

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
    amount: n & 1023,
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

  open(context: KeyedFunctionContext): void {
    this.sum = context.getState(valueState<number>('sum', { serializer: float64Serializer }))
  }

  processElement(record: T, _context: KeyedProcessContext<K>): void {
    this.sum.update((this.sum.value() ?? 0) + record.amount)
  }
}

/** Options of the job. */
export interface ShuffleJobOptions extends Readonly<Record<string, unknown>> {
  readonly records: number
  readonly keys: number
  readonly kind: 'bytes' | 'objects'
}

/** The number of the key of a record, spread over all keys. */
function keyOf(index: number, partition: number, keys: number): number {
  return (Math.imul(2 * index + partition, 0x9e3779b1) >>> 0) % keys
}

/** Keys of eight bytes, made before the clock starts: making one takes longer than sending it. */
function keysOfBytes(keys: number): Uint8Array[] {
  const numbers = new BigUint64Array(keys)
  for (let key = 0; key < keys; key++) numbers[key] = BigInt(key)
  return Array.from({ length: keys }, (_, key) => new Uint8Array(numbers.buffer, 8 * key, 8))
}

function shuffleBytes(
  env: StreamExecutionEnvironment,
  { records, keys }: ShuffleJobOptions,
): DataStream<never> {
  const drawn = keysOfBytes(keys)
  const source = new GeneratorSource<SmallRecord>({
    partitions: 2,
    countPerPartition: records / 2,
    generate: (index, partition) => ({
      key: drawn[keyOf(index, partition, keys)]!,
      amount: index & 1023,
    }),
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
  { records, keys }: ShuffleJobOptions,
): DataStream<never> {
  const source = new GeneratorSource<Payment>({
    partitions: 2,
    countPerPartition: records / 2,
    generate: (index, partition) => paymentOf(keyOf(index, partition, keys), index),
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
