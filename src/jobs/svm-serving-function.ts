import { isWeirError } from '../core/errors.ts'
import { type ModelVersion, modelVersion } from '../core/identity.ts'
import type { Counter } from '../core/metrics.ts'
import type { WeightUpdate } from '../models/weight-update.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../operators/process-function.ts'
import { type VectorStateDescriptor, vectorState } from '../state/descriptors.ts'
import type { VectorState, WriteOrigin } from '../state/handles.ts'

/** Name under which clients query the weights of a linear model, as the ancestor named it. */
export const SVM_MODEL = 'SVM_MODEL'

/** Blocks of `range` weights, keys `<block>`. */
export function weightBlocks(range: number): VectorStateDescriptor {
  return vectorState('weights', { dimension: range, queryableName: SVM_MODEL })
}

/** Keeps the weights of a linear model as keyed state, in blocks, by version. */
export class SvmServingFunction implements KeyedProcessFunction<Uint8Array, WeightUpdate, never> {
  private readonly range: number
  private readonly opened = new Set<ModelVersion>()
  private blocks!: VectorState
  private refused!: Counter

  constructor(range: number) {
    this.range = range
  }

  open(context: KeyedFunctionContext): void {
    this.blocks = context.getVectorState(weightBlocks(this.range))
    this.refused = context.metrics.counter('numRecordsDropped')
  }

  processElement(update: WeightUpdate, context: KeyedProcessContext<Uint8Array>): void {
    const key = context.currentKeyBytes
    const version = modelVersion(update.version)
    const { partition, offset } = context.position
    const origin = { partition, offset, eventTime: context.timestamp }
    if (update.kind === 'remove') this.blocks.remove(version, key)
    else if (update.kind === 'open') this.openVersion(version, key, origin)
    else this.put(version, key, this.weightsOf(update, version, key), origin)
  }

  private put(
    version: ModelVersion,
    key: Uint8Array,
    weights: Float32Array,
    origin: WriteOrigin,
  ): void {
    try {
      this.blocks.put(version, key, weights, origin)
    } catch (error) {
      // A block with NaN must neither be served nor stop the job for ever: it is counted.
      if (!isWeirError(error, 'NOT_FINITE')) throw error
      this.refused.increment()
    }
  }

  /** The block as it is after the update. */
  private weightsOf(
    { kind, places, weights }: WeightUpdate,
    version: ModelVersion,
    key: Uint8Array,
  ): Float32Array {
    if (kind === 'row') return weights
    const block = this.blocks.get(version, key)?.vector ?? new Float32Array(this.range)
    for (let i = 0; i < places.length; i++) block[places[i]!] = weights[i]!
    return block
  }

  /** A table opens with its first row; queries then know that a block it lacks does not exist. */
  private openVersion(version: ModelVersion, key: Uint8Array, origin: WriteOrigin): void {
    if (this.opened.has(version)) return
    this.opened.add(version)
    if (this.blocks.size(version) > 0) return
    this.blocks.put(version, key, new Float32Array(this.range), origin)
    this.blocks.remove(version, key)
  }
}
