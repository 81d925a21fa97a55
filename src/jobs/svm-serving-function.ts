import { isWeirError } from '../core/errors.ts'
import { type ModelVersion, modelVersion } from '../core/identity.ts'
import type { Counter } from '../core/metrics.ts'
import { foldLinearStep, LINEAR_MEMORY } from '../models/online-linear.ts'
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

/** What learning keeps beside each weight (`models/online-linear.ts`). */
export function weightMemory(range: number): VectorStateDescriptor {
  return vectorState('weight-memory', { dimension: LINEAR_MEMORY * range })
}

/** Keeps the weights of a linear model as keyed state, in blocks, by version. */
export class SvmServingFunction implements KeyedProcessFunction<Uint8Array, WeightUpdate, never> {
  private readonly range: number
  private readonly learns: boolean
  private readonly opened = new Set<ModelVersion>()
  private blocks!: VectorState
  private memory: VectorState | undefined
  private refused!: Counter
  private folded!: Counter

  /** `learns`: steps come too. */
  constructor(range: number, learns = false) {
    this.range = range
    this.learns = learns
  }

  open(context: KeyedFunctionContext): void {
    this.blocks = context.getVectorState(weightBlocks(this.range))
    if (this.learns) this.memory = context.getVectorState(weightMemory(this.range))
    this.folded = context.metrics.counter('stepsFolded')
    this.refused = context.metrics.counter('numRecordsDropped')
  }

  processElement(update: WeightUpdate, context: KeyedProcessContext<Uint8Array>): void {
    const key = context.currentKeyBytes
    const version = modelVersion(update.version)
    const { partition, offset } = context.position
    const origin = { partition, offset, eventTime: context.timestamp }
    if (update.kind === 'step') this.fold(update, version, key, origin)
    else if (update.kind === 'remove') this.blocks.remove(version, key)
    else if (update.kind === 'drop') this.drop(version)
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

  private fold(
    { places, weights: numbers }: WeightUpdate,
    version: ModelVersion,
    key: Uint8Array,
    origin: WriteOrigin,
  ): void {
    const block = this.blocks.get(version, key)?.vector ?? new Float32Array(this.range)
    const memory =
      this.memory?.get(version, key)?.vector ?? new Float32Array(LINEAR_MEMORY * this.range)
    const [derivative, rate] = numbers as unknown as [number, number]
    const step = { derivative, rate, places, values: numbers, valuesFrom: 2 }
    if (!foldLinearStep(step, block, memory)) {
      this.refused.increment()
      return
    }
    this.put(version, key, block, origin)
    this.memory?.put(version, key, memory, origin)
    this.folded.increment()
  }

  /** The block as it is after the update. */
  private weightsOf(
    { kind, places, weights }: WeightUpdate,
    version: ModelVersion,
    key: Uint8Array,
  ): Float32Array {
    if (kind === 'row') {
      // What was learned of the block before is gone.
      this.memory?.remove(version, key)
      return weights
    }
    const block = this.blocks.get(version, key)?.vector ?? new Float32Array(this.range)
    for (let i = 0; i < places.length; i++) block[places[i]!] = weights[i]!
    return block
  }

  private drop(version: ModelVersion): void {
    this.opened.delete(version)
    this.blocks.dropVersion(version)
    this.memory?.dropVersion(version)
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
