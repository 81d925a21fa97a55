import { requireArgument } from '../../../core/errors.ts'
import { GramRule } from './gram.ts'
import type { ModelMoments } from './prior.ts'
import {
  constantColumn,
  type LearnedRow,
  newRow,
  type OnlineRule,
  type RowShape,
  type StepOutcome,
  scoreOf,
} from './rule.ts'
import { SgdRule } from './sgd.ts'
import { StackWeights } from './stack-weights.ts'

/** Options of stacking. */
export interface StackOptions {
  /** Factor on the weight of past ratings in the ridge with each new one, 0 < f <= 1. @default 0.9995 */
  readonly stackForgetting?: number
  /** Ratings that the start counts for in the ridge, above 0: no constant, and as high as equal weights. @default 100 */
  readonly stackPrior?: number
  /** Mean rating, for the rule with gradient steps and for the level of the weights. @default 0 */
  readonly globalMean?: number
}

/**
 * Stacking of three rules (Wolpert, "Stacked generalization", 1992). Each keeps a separate row of the user:
 * Gram matrices with a long memory, Gram matrices with a short one, and gradient steps. The item has one row,
 * that of the first rule. A ridge regression with forgetting learns, from every rating of the slot before
 * the rules learn it, how much each prediction counts and which constant to add. The served row of the
 * user is the weighted sum of the three rows,
 *
 *   (sum w_k p_k) . q + w_c  =  sum w_k (p_k . q) + w_c
 *
 * so a prediction stays an inner product. The constant needs biases: it is added to the column in which
 * the item has 1. Memory of a user: `| 1 after the first rating | rows | memories of the rules |`.
 */
export class StackRule implements OnlineRule {
  readonly kind = 'gram'
  readonly shape: RowShape
  readonly userMemory: number
  readonly itemMemory: number
  readonly deltaLength: number
  readonly shared: Float64Array
  private readonly first: GramRule
  private readonly rules: readonly OnlineRule[]
  private readonly weights: StackWeights
  private readonly scores: Float64Array
  private readonly scratch: Float32Array
  /** The memory that `parts` are views of. */
  private viewed: Float32Array | undefined
  private parts: LearnedRow[] = []

  constructor(shape: RowShape, moments: ModelMoments, options: StackOptions = {}) {
    const { stackForgetting = 0.9995, stackPrior = 100, globalMean = 0 } = options
    requireArgument(
      stackForgetting > 0 && stackForgetting <= 1,
      `stackForgetting is above 0 and at most 1, not ${stackForgetting}`,
    )
    requireArgument(
      stackPrior > 0 && Number.isFinite(stackPrior),
      `stackPrior is greater than 0, not ${stackPrior}`,
    )
    this.shape = shape
    this.first = new GramRule(shape, moments, { newUserNoise: 1 })
    this.rules = [
      this.first,
      new GramRule(shape, moments, { noise: 0.2, newUserNoise: 1, userForgetting: 0.9 }),
      new SgdRule(shape, { globalMean }),
    ]
    const { dimension, biased } = shape
    const memories = this.rules.reduce((sum, { userMemory }) => sum + userMemory, 0)
    this.userMemory = 1 + this.rules.length * dimension + memories
    this.itemMemory = this.first.itemMemory
    this.deltaLength = this.first.deltaLength
    const count = this.rules.length
    const start = new Float64Array(count + (biased ? 1 : 0))
    start.fill(1 / count, 0, count)
    // One more in the sum changes a prediction as the mean rating does: docs/decisions/rating-rules.md#the-level-of-a-stack
    const level = { count, strength: stackPrior * globalMean ** 2 }
    const settings = { forgetting: stackForgetting, prior: stackPrior, level }
    this.weights = new StackWeights(start, settings)
    this.shared = this.weights.sums
    this.scores = new Float64Array(start.length)
    this.scratch = new Float32Array(Math.max(...this.rules.map((rule) => rule.deltaLength)))
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const { rules, scores, scratch, weights } = this
    if (!Number.isFinite(rating)) return 'refused'
    const parts = this.partsOf(user)
    for (const [k, part] of parts.entries()) scores[k] = scoreOf(part.row, item.row)
    if (this.shape.biased) scores[rules.length] = 1
    // The first rule refuses before anything is changed; another one that refuses keeps its row.
    if (this.first.learn(parts[0]!, item, rating, delta) === 'refused') return 'refused'
    for (let k = 1; k < rules.length; k++) rules[k]!.learn(parts[k]!, item, rating, scratch)
    weights.observe(scores, rating)
    this.combine(user.row)
    user.updates++
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    return this.first.fold(item, delta)
  }

  /** Puts the weighted sum of the parts' rows into the served row. */
  private combine(row: Float32Array): void {
    const { parts, shape } = this
    const weights = this.weights.current
    for (let i = 0; i < row.length; i++) {
      let sum = 0
      for (let k = 0; k < parts.length; k++) sum += weights[k]! * parts[k]!.row[i]!
      row[i] = sum
    }
    if (shape.biased) row[constantColumn('item', shape)]! += weights[parts.length]!
  }

  /** Views of the user's memory; before the first rating every part starts from the served row. */
  private partsOf(user: LearnedRow): readonly LearnedRow[] {
    const { memory, updates, evidence } = user
    if (this.viewed !== memory) this.view(memory)
    if (memory[0] === 0) {
      for (const { row } of this.parts) row.set(user.row)
      memory[0] = 1
    }
    for (const part of this.parts) {
      part.updates = updates
      part.evidence = evidence
    }
    return this.parts
  }

  private view(memory: Float32Array): void {
    const { dimension } = this.shape
    let at = 1 + this.rules.length * dimension
    this.viewed = memory
    this.parts = this.rules.map(({ userMemory }, k) => {
      const start = 1 + k * dimension
      const row = memory.subarray(start, start + dimension)
      const part = { ...newRow(EMPTY, 0), row, memory: memory.subarray(at, at + userMemory) }
      at += userMemory
      return part
    })
  }
}

const EMPTY = new Float32Array(0)
