import { isWeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { type ModelVersion, modelVersion } from '../../core/model-version.ts'
import { count, flag } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../operators/process/function.ts'
import { type VectorStateDescriptor, vectorState } from '../../state/port/descriptors.ts'
import type { VectorRow, VectorState, WriteOrigin } from '../../state/port/handles.ts'
import { foldLinearStep } from '../linear/online-rule.ts'
import type { LinearStep } from '../linear/step.ts'
import { dropSums, LINEAR_MEMORY } from '../linear/weight-memory.ts'
import type { WeightUpdate } from '../linear/weight-update.ts'

/** Name under which clients query the weights of a linear model, as the ancestor named it. */
export const SVM_MODEL = 'SVM_MODEL'

/** Name of the state of the blocks. */
export const WEIGHTS_STATE = 'weights'

/** Blocks of `range` weights, keys `<block>`. */
function weightBlocks(range: number): VectorStateDescriptor {
  return vectorState(WEIGHTS_STATE, { dimension: range, queryableName: SVM_MODEL })
}

/** What learning keeps beside each weight (`models/linear/weight-memory.ts`). */
function weightMemory(range: number): VectorStateDescriptor {
  return vectorState('weight-memory', { dimension: LINEAR_MEMORY * range })
}

/** Keeps the weights of a linear model as keyed state, in blocks, by version. */
export class LinearServingFunction
  implements KeyedProcessFunction<Uint8Array, WeightUpdate, never>
{
  protected readonly range: number
  private readonly learns: boolean
  protected blocks!: VectorState
  protected memory: VectorState | undefined
  private refused!: Counter
  private folded!: Counter

  /** `learns`: steps come too. */
  constructor(range: number, learns = false) {
    checkArgument('new LinearServingFunction', 'range', count, range)
    checkArgument('new LinearServingFunction', 'learns', flag, learns)
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
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    switch (update.kind) {
      case 'step':
        this.fold(update, version, key, origin)
        return
      case 'row':
        this.put(version, key, update.weights, origin)
        // What was learned of the block before is replaced.
        if (update.memory === undefined) this.memory?.remove(version, key)
        else this.memory?.replace(version, key, update.memory, origin)
        return
      case 'some':
        this.put(version, key, this.changed(update, version, key), origin)
        this.dropSumsOf(update.indices, version, key, origin)
        return
      case 'remove':
        this.blocks.remove(version, key)
        this.memory?.remove(version, key)
        return
      case 'open':
        this.blocks.openVersion(version)
        return
      case 'retire':
        this.drop(version)
    }
  }

  /** Folds a step into a copy of a block and of what is kept beside it; false where it is refused. */
  protected foldStep(
    _key: Uint8Array,
    step: LinearStep,
    block: Float32Array,
    memory: Float32Array,
  ): boolean {
    return foldLinearStep(step, block, memory)
  }

  /** Called with what is kept of a block before a step changes it. */
  protected beforeStep(
    _version: ModelVersion,
    _key: Uint8Array,
    _block: Float32Array,
    _memory: VectorRow | undefined,
  ): void {}

  private put(
    version: ModelVersion,
    key: Uint8Array,
    weights: Float32Array,
    origin: WriteOrigin,
  ): void {
    try {
      this.blocks.put(version, key, weights, origin)
    } catch (error) {
      // A block with NaN must neither be served nor stop the job forever: it is counted.
      if (!isWeirError(error, 'NOT_FINITE')) throw error
      this.refused.increment()
    }
  }

  private fold(
    step: LinearStep,
    version: ModelVersion,
    key: Uint8Array,
    origin: WriteOrigin,
  ): void {
    const block = this.block(version, key)
    const kept = this.memory?.get(version, key)
    this.beforeStep(version, key, block, kept)
    const memory = kept?.vector ?? new Float32Array(LINEAR_MEMORY * this.range)
    if (!this.foldStep(key, step, block, memory)) {
      this.refused.increment()
      return
    }
    this.put(version, key, block, origin)
    this.memory?.put(version, key, memory, origin)
    this.folded.increment()
  }

  /** Lets weights that were published alone go on from what was published. */
  private dropSumsOf(
    indices: Uint16Array,
    version: ModelVersion,
    key: Uint8Array,
    origin: WriteOrigin,
  ): void {
    const memory = this.memory?.get(version, key)?.vector
    if (memory !== undefined && dropSums(memory, indices))
      this.memory?.put(version, key, memory, origin)
  }

  /** The block with some of its weights replaced. */
  private changed(
    { indices, weights }: Extract<WeightUpdate, { kind: 'some' }>,
    version: ModelVersion,
    key: Uint8Array,
  ): Float32Array {
    const block = this.block(version, key)
    for (let i = 0; i < indices.length; i++) block[indices[i]!] = weights[i]!
    return block
  }

  /** A copy of a block; zeros where there is none. */
  private block(version: ModelVersion, key: Uint8Array): Float32Array {
    return this.blocks.get(version, key)?.vector ?? new Float32Array(this.range)
  }

  private drop(version: ModelVersion): void {
    this.blocks.dropVersion(version)
    this.memory?.dropVersion(version)
  }
}
