import { BIAS_FEATURE } from '../../../core/feature.ts'
import type { Counter } from '../../../core/metrics.ts'
import { type ModelVersion, modelVersion } from '../../../core/model-version.ts'
import { type FtrlOptions, ftrlFold } from '../../../models/linear/ftrl.ts'
import { foldLinearStep } from '../../../models/linear/online-rule.ts'
import type { LinearFold, LinearStep } from '../../../models/linear/step.ts'
import { dropSums, LINEAR_MEMORY } from '../../../models/linear/weight-memory.ts'
import type { WeightUpdate } from '../../../models/linear/weight-update.ts'
import { LinearServingFunction } from '../../../models/topic/linear-serving-function.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
} from '../../../operators/process/function.ts'
import { vectorState } from '../../../state/port/descriptors.ts'
import type { VectorRow, VectorState } from '../../../state/port/handles.ts'

/** Name of the state of blocks as they were published. */
export const FROZEN_WEIGHTS_STATE = 'frozen-weights'
const FROZEN_MEMORY_STATE = 'frozen-weight-memory'
/** Writes of the memory of a block that was folded once at most: one, of its publication or of the fold. */
const FOLDED_AT_MOST_ONCE = 1
const NOWHERE = { partition: -1, offset: 0, eventTime: -1 }
/** Not the model topic, which is the first source: the topic may have what was learned. */
const PUT_BACK = { source: 1, partition: 0, offset: 0, eventTime: -1 }

/** How the blocks are guarded. */
export interface LearnedWeightsOptions {
  /** Features of one block. */
  readonly range: number
  /** Steps are folded by FTRL-proximal. @default by the normalised adaptive gradient */
  readonly ftrl?: FtrlOptions | undefined
  /** No copies are made. */
  readonly neverStop: boolean
  /** Whether learning on a version is stopped, so that its steps are dropped. */
  isStopped(version: number): boolean
}

/**
 * The blocks of a linear model that learns. Of each block that is learned a copy is kept, with what learning keeps beside it,
 * made before its first change: for the predictions without learning, and for the block where learning has made predictions
 * worse.
 */
export class LearnedWeights extends LinearServingFunction {
  private readonly guard: LearnedWeightsOptions
  private readonly folds: BlockFolds
  private frozen!: VectorState
  private frozenMemory!: VectorState
  private stepsLeft!: Counter

  constructor(options: LearnedWeightsOptions) {
    super(options.range, true)
    this.guard = options
    this.folds = blockFolds(options)
  }

  override open(context: KeyedFunctionContext): void {
    super.open(context)
    const state = (name: string, dimension: number): VectorState =>
      context.getVectorState(vectorState(name, { dimension, isReadAhead: false }))
    this.frozen = state(FROZEN_WEIGHTS_STATE, this.range)
    this.frozenMemory = state(FROZEN_MEMORY_STATE, LINEAR_MEMORY * this.range)
    this.stepsLeft = context.metrics.counter('numRecordsDropped')
  }

  override processElement(update: WeightUpdate, context: KeyedProcessContext<Uint8Array>): void {
    // What was learned before learning was stopped is forgotten, also what is still on its way.
    if (update.kind === 'step' && this.guard.isStopped(update.version)) {
      this.stepsLeft.increment()
      return
    }
    super.processElement(update, context)
    if (update.kind !== 'step') this.follow(update, context.currentKeyBytes)
  }

  /** Puts every block of a version in this slot back to what it was before it was learned. A step is a block. */
  *beginAgain(version: number): Generator<void, void> {
    const id = modelVersion(version)
    for (const key of this.frozen.keys(id)) {
      const copy = this.frozen.get(id, key)
      if (copy !== undefined) this.putBack(id, key, copy.vector)
      yield
    }
  }

  private putBack(version: ModelVersion, key: Uint8Array, weights: Float32Array): void {
    const memory = this.frozenMemory.get(version, key)
    if (memory === undefined) this.memory?.remove(version, key)
    else this.memory?.replace(version, key, memory.vector, PUT_BACK)
    this.blocks.replace(version, key, weights, PUT_BACK)
  }

  protected override foldStep(
    key: Uint8Array,
    step: LinearStep,
    block: Float32Array,
    memory: Float32Array,
  ): boolean {
    const { ofIntercept, ofOthers, interceptKey } = this.folds
    const fold = isEqual(key, interceptKey) ? ofIntercept : ofOthers
    return fold(step, block, memory)
  }

  protected override beforeStep(
    version: ModelVersion,
    key: Uint8Array,
    block: Float32Array,
    memory: VectorRow | undefined,
  ): void {
    if (this.guard.neverStop || (memory?.updateCount ?? 0) > FOLDED_AT_MOST_ONCE) return
    if (this.frozen.get(version, key) !== undefined) return
    if (memory !== undefined) this.frozenMemory.put(version, key, memory.vector, NOWHERE)
    this.frozen.put(version, key, block, NOWHERE)
  }

  /** Lets the copies follow what is published. */
  private follow(update: PublishedUpdate, key: Uint8Array): void {
    const version = modelVersion(update.version)
    const copies = [this.frozen, this.frozenMemory]
    switch (update.kind) {
      case 'open':
        // The other slots know the copies before the first one is read.
        for (const state of copies) state.openVersion(version)
        return
      case 'retire':
        for (const state of copies) state.dropVersion(version)
        return
      case 'some':
        this.change(update, version, key)
        return
      default:
        if (this.frozen.size(version) === 0 || !isStored(update)) return
        for (const state of copies) state.remove(version, key)
    }
  }

  /** Some weights of a block were published: those of its copy change alike. */
  private change(
    update: Extract<WeightUpdate, { kind: 'some' }>,
    version: ModelVersion,
    key: Uint8Array,
  ): void {
    if (this.frozen.size(version) === 0 || !isStored(update)) return
    const copy = this.frozen.get(version, key)?.vector
    if (copy === undefined) return
    const { indices, weights } = update
    for (let i = 0; i < indices.length; i++) copy[indices[i]!] = weights[i]!
    this.frozen.put(version, key, copy, NOWHERE)
    const memory = this.frozenMemory.get(version, key)?.vector
    if (memory !== undefined && dropSums(memory, indices))
      this.frozenMemory.put(version, key, memory, NOWHERE)
  }
}

/** How steps are folded into the block of the intercept, and into others. */
interface BlockFolds {
  readonly interceptKey: Uint8Array
  readonly ofIntercept: LinearFold
  readonly ofOthers: LinearFold
}

function blockFolds({ range, ftrl }: LearnedWeightsOptions): BlockFolds {
  const block = Math.floor(BIAS_FEATURE / range)
  const interceptKey = new TextEncoder().encode(String(block))
  if (ftrl === undefined) {
    return { interceptKey, ofIntercept: foldLinearStep, ofOthers: foldLinearStep }
  }
  const ofIntercept = ftrlFold(ftrl, BIAS_FEATURE - block * range)
  return { interceptKey, ofIntercept, ofOthers: ftrlFold(ftrl, -1) }
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

/** An update of the model topic. */
type PublishedUpdate = Exclude<WeightUpdate, { kind: 'step' }>

/** Whether the update was taken: a weight that is no number is refused. */
function isStored(update: PublishedUpdate): boolean {
  return !('weights' in update) || update.weights.every(Number.isFinite)
}
