import { GeneratorSource } from '../../src/connectors/memory/generator-source.ts'
import { float64Serializer, type Serializer } from '../../src/core/serializer.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job-definition.ts'
import { rawKeySerializer } from '../../src/dataflow/key-serializer.ts'
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

class SumPerKey implements KeyedProcessFunction<Uint8Array, SmallRecord, never> {
  private sum!: ValueState<number>

  open(context: KeyedFunctionContext): void {
    this.sum = context.getState(valueState<number>('sum', { serializer: float64Serializer }))
  }

  processElement(record: SmallRecord, _context: KeyedProcessContext<Uint8Array>): void {
    this.sum.update((this.sum.value() ?? 0) + record.amount)
  }
}

/** Options of the job. */
export interface ShuffleJobOptions extends Readonly<Record<string, unknown>> {
  readonly records: number
  readonly keys: number
}

/** The job of `shuffle`: generated records, one shuffle by key, one sum per key in heap state. */
const shuffleJob: JobDefinition<ShuffleJobOptions> = defineJob<ShuffleJobOptions>({
  name: 'shuffle',
  build(env, { records, keys }) {
    const source = new GeneratorSource<SmallRecord>({
      partitions: 2,
      countPerPartition: records / 2,
      generate: (index, partition) => {
        const key = new Uint8Array(8)
        const n = Math.imul(2 * index + partition, 0x9e3779b1) >>> 0
        new Uint32Array(key.buffer)[0] = n % keys
        return { key, amount: index & 1023 }
      },
    })
    env
      .fromSource(source, noWatermarks<SmallRecord>(), 'records')
      .uid('records')
      .returns(smallRecordSerializer)
      .keyBy((record) => record.key, rawKeySerializer)
      .process(() => new SumPerKey())
      .uid('sum')
  },
})

export default shuffleJob
