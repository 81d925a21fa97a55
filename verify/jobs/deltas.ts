import { KafkaSource } from '../../src/connectors/kafka/source.ts'
import { rawKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import { modelVersion } from '../../src/core/model-version.ts'
import { defineJob, type JobDefinition } from '../../src/dataflow/job/definition.ts'
import { noWatermarks } from '../../src/dataflow/watermark-strategy.ts'
import { ModelDeltaBuffer } from '../../src/models/als/online/model-delta.ts'
import { decodeFactors } from '../../src/models/als/row.ts'
import { keyLengthWithoutVersion } from '../../src/models/versioned-key.ts'
import type {
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
} from '../../src/operators/process/function.ts'
import { mapState, vectorState } from '../../src/state/port/descriptors.ts'
import type { MapState, VectorState } from '../../src/state/port/handles.ts'

/** Options of the deltas job. */
export interface DeltasJobOptions extends Readonly<Record<string, unknown>> {
  readonly brokers: string
  readonly rows: string
  readonly deltas: string
  /** Floats of a row. */
  readonly dimension: number
  /** Whether repeated deltas are dropped; true, except in a mutation. */
  readonly dropRepeated: boolean
  readonly requestTimeoutMs: number
}

/** Queryable name of the rows. */
export const ITEM_ROWS = 'ITEM_ROWS'

/** A delta of a row. */
interface ModelDelta {
  /** Position of its rating in the observations topic. */
  readonly partition: number
  readonly offset: number
  readonly values: Float32Array
}

interface Keyed<T> {
  readonly key: Uint8Array
  readonly value: T
}

const VERSION = modelVersion(1)
const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }

/** A function that folds each delta into its row once, by the highest offset of each source partition. */
class DeltaFunction
  implements KeyedCoProcessFunction<Uint8Array, Keyed<ModelDelta>, Keyed<Float32Array>, never>
{
  private readonly dimension: number
  private readonly dropRepeated: boolean
  private rows!: VectorState
  private folded!: MapState<number, number>

  constructor({ dimension, dropRepeated }: DeltasJobOptions) {
    this.dimension = dimension
    this.dropRepeated = dropRepeated
  }

  open(context: KeyedFunctionContext): void {
    const { dimension } = this
    this.rows = context.getVectorState(
      vectorState('item-rows', { dimension, queryableName: ITEM_ROWS }),
    )
    this.folded = context.getMapState(mapState<number, number>('folded'))
  }

  processElement1(delta: Keyed<ModelDelta>, context: KeyedProcessContext<Uint8Array>): void {
    const { partition: source, offset: rating, values } = delta.value
    const highest = this.folded.get(source) ?? -1
    if (rating <= highest && this.dropRepeated) return
    this.folded.put(source, Math.max(rating, highest))
    const { partition, offset } = context.position
    const origin = { partition, offset, eventTime: context.timestamp }
    this.rows.add(VERSION, context.currentKeyBytes, values, origin)
  }

  processElement2(row: Keyed<Float32Array>, context: KeyedProcessContext<Uint8Array>): void {
    this.rows.put(VERSION, context.currentKeyBytes, row.value, NOWHERE)
  }
}

/** The job that folds model rows and their deltas, each from a topic, into vector state. */
const deltasJob: JobDefinition<DeltasJobOptions> = defineJob<DeltasJobOptions>({
  name: 'verified-deltas',
  build(env, options) {
    const { brokers, rows, deltas, dimension, requestTimeoutMs } = options
    // Deltas are the first source, because positions of `at-least` are those of the job's first source.
    const deltaSource = new KafkaSource<Keyed<ModelDelta>>({
      brokers,
      requestTimeoutMs,
      topic: deltas,
      deserialize: (record) => ({
        key: rowKey(record.key()!),
        value: deltaOf(record.value()!, dimension),
      }),
    })
    const rowSource = new KafkaSource<Keyed<Float32Array>>({
      brokers,
      requestTimeoutMs,
      topic: rows,
      deserialize: (record) => ({
        key: rowKey(record.key()!),
        value: decodeFactors(record.value()!, dimension),
      }),
    })
    env
      .fromSource(deltaSource, noWatermarks<Keyed<ModelDelta>>(), 'deltas')
      .uid('deltas')
      .connect(env.fromSource(rowSource, noWatermarks<Keyed<Float32Array>>(), 'rows').uid('rows'))
      .keyBy(
        (delta) => delta.key,
        (row) => row.key,
        rawKeySerializer,
      )
      .process(() => new DeltaFunction(options))
      .uid('items')
      .discard()
  },
})

function deltaOf(bytes: Uint8Array, dimension: number): ModelDelta {
  // The last float is the newness of the user, which a sum does not use.
  const buffer = new ModelDeltaBuffer('step', dimension + 1)
  buffer.load(bytes, 0, bytes.length)
  const { partition, offset, values } = buffer
  return { partition, offset, values: values.slice(0, dimension) }
}

/** A copy of the record's key without `@<version>`: the row's key. */
function rowKey(recordKey: Uint8Array): Uint8Array {
  return recordKey.slice(0, keyLengthWithoutVersion(recordKey))
}

export default deltasJob
