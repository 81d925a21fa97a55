import { isWeirError } from '../core/errors.ts'
import type { Counter } from '../core/metrics.ts'
import { decodeLinearDelta, type LinearDelta } from '../models/linear-delta.ts'
import type { WeightUpdate } from '../models/weight-update.ts'
import type { OperatorContext } from '../operators/operator.ts'
import { blocksOf } from '../serving/block-products.ts'
import { type ModelTopicRecord, valueBytesOf } from './model-topic-record.ts'
import { GatedBySvm } from './online-svm-gate.ts'

const STATE = 'highest-offsets'
const encoder = new TextEncoder()

/**
 * Reads the deltas topic of a linear model, drops what came twice and hands each block's part to its
 * owner. Deltas of one observations partition come through one deltas partition in the order of their
 * offsets, so what is not above the highest offset seen came before: after a failure observations are
 * read again, and the first delta of each counts.
 */
export class SvmDeltasOperator extends GatedBySvm {
  private readonly range: number
  /** Highest offset by `<deltas partition>/<observations partition>`. */
  private readonly highest = new Map<string, number>()
  private duplicates!: Counter
  private dropped!: Counter

  constructor(range: number) {
    super()
    this.range = range
  }

  override open(context: OperatorContext): void {
    super.open(context)
    this.duplicates = context.metrics.counter('deltasDuplicate')
    this.dropped = context.metrics.counter('numRecordsDropped')
    for (const bytes of context.operatorState.restored(STATE)) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.raise(view.getUint32(0, true), view.getUint32(4, true), view.getFloat64(8, true))
    }
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    this.flow?.leave()
    const delta = this.deltaOf(value as ModelTopicRecord)
    if (delta === undefined) return
    const { partition } = this.context.position()
    if (!this.raise(partition, delta.partition, delta.offset)) {
      this.duplicates.increment()
      return
    }
    const { ids, values, derivative, rate, version } = delta
    for (const { key, from, to } of blocksOf(ids, this.range)) {
      const first = Number(key) * this.range
      const places = Uint16Array.from(ids.subarray(from, to), (id) => id - first)
      const weights = new Float32Array(2 + to - from)
      weights[0] = derivative
      weights[1] = rate
      weights.set(values.subarray(from, to), 2)
      const update: WeightUpdate = {
        key: encoder.encode(key),
        version,
        kind: 'step',
        places,
        weights,
      }
      this.context.output.collect(update, timestamp)
    }
  }

  /** Every subtask is given all entries; for partitions that it does not read they do no harm. */
  override prepareSnapshot(): void {
    const entries = [...this.highest].map(([key, offset]) => {
      const [deltas, observations] = key.split('/').map(Number)
      const entry = new DataView(new ArrayBuffer(16))
      entry.setUint32(0, deltas!, true)
      entry.setUint32(4, observations!, true)
      entry.setFloat64(8, offset, true)
      return new Uint8Array(entry.buffer)
    })
    this.context.operatorState.update(STATE, 'union', entries)
  }

  private deltaOf(record: ModelTopicRecord): LinearDelta | undefined {
    const bytes = valueBytesOf(record)
    try {
      if (bytes !== null) return decodeLinearDelta(bytes)
    } catch (error) {
      if (!isWeirError(error, 'UNPARSABLE_RECORD')) throw error
    }
    this.dropped.increment()
    return undefined
  }

  /** Notes an offset; false when it is not above the highest. */
  private raise(deltas: number, observations: number, offset: number): boolean {
    const key = `${deltas}/${observations}`
    if (offset <= (this.highest.get(key) ?? -1)) return false
    this.highest.set(key, offset)
    return true
  }
}
