import { requireArgument } from '../core/errors.ts'
import {
  capNorm,
  clipFactor,
  type StepGuardSettings,
  type StepGuards,
  stepGuards,
} from './online-guards.ts'
import {
  constantColumn,
  type LearnedRow,
  type OnlineRule,
  type RowShape,
  type StepOutcome,
  scoreOf,
  type UpdateOrder,
} from './online-rule.ts'

/**
 * How the rate of a row goes on: `constant`; `decayed`, rate / (1 + decay x its updates); `adagrad`,
 * rate / sqrt(1 + decay x the sum of its mean squared gradients) (row-wise, as LIBMF does).
 */
export type RateSchedule = 'constant' | 'decayed' | 'adagrad'

/** Options of stochastic gradient descent; the ancestor's are among them. */
export interface SgdOptions extends StepGuards {
  /** The ancestor's default is 0.1, worse than not learning on MovieLens. @default 0.05 */
  readonly learningRate?: number
  /** @default 'constant' */
  readonly schedule?: RateSchedule
  /** @default 0.01 with 'decayed', 1 with 'adagrad' */
  readonly decay?: number
  /** Pulls the user's factors to 0. @default 0.02 */
  readonly userRegularization?: number
  /** Pulls the item's factors to 0. @default 0.02 */
  readonly itemRegularization?: number
  /** @default 'simultaneous' */
  readonly order?: UpdateOrder
  /**
   * What is sent to the item's owner: the user's row and the rating, from which it does the item's step
   * on the item's row as it is by then (`pair`); or the step itself, done on the row that the user's
   * owner saw (`step`). Steps can be summed, but many at once on one item overshoot. @default 'pair'
   */
  readonly deltas?: 'pair' | 'step'
  /** Mean rating: what the user's bias column is pulled to. @default 0 */
  readonly globalMean?: number
}

type SgdSettings = Required<Omit<SgdOptions, keyof StepGuards>> & StepGuardSettings

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function sgdSettings(options: SgdOptions = {}): SgdSettings {
  const schedule = options.schedule ?? 'constant'
  const settings: SgdSettings = {
    learningRate: options.learningRate ?? 0.05,
    schedule,
    decay: options.decay ?? (schedule === 'adagrad' ? 1 : 0.01),
    userRegularization: options.userRegularization ?? 0.02,
    itemRegularization: options.itemRegularization ?? 0.02,
    order: options.order ?? 'simultaneous',
    deltas: options.deltas ?? 'pair',
    globalMean: options.globalMean ?? 0,
    ...stepGuards(options),
  }
  requireArgument(
    Number.isFinite(settings.learningRate) && settings.learningRate > 0,
    `learningRate is greater than 0, not ${settings.learningRate}`,
  )
  for (const name of ['decay', 'userRegularization', 'itemRegularization'] as const) {
    const value = settings[name]
    requireArgument(Number.isFinite(value) && value >= 0, `${name} is 0 or more, not ${value}`)
  }
  return settings
}

/**
 * One gradient step for each rating:
 *
 *   e = r - p.q,   p += eta_u (e q - l_u p),   dq = eta_i (e p - l_i q)
 *
 * A delta of kind `step` is dq, with 'adagrad' followed by the item's mean squared gradient; a pair is
 * p and the rating.
 */
export class SgdRule implements OnlineRule {
  readonly kind: 'step' | 'gram'
  readonly shape: RowShape
  readonly userMemory: number
  readonly itemMemory: number
  readonly deltaLength: number
  private readonly settings: SgdSettings
  private readonly userConstant: number
  private readonly itemConstant: number
  private readonly next: Float32Array

  constructor(shape: RowShape, options: SgdOptions = {}) {
    this.shape = shape
    this.settings = sgdSettings(options)
    const memory = this.settings.schedule === 'adagrad' ? 1 : 0
    this.userMemory = memory
    this.itemMemory = memory
    const isPair = this.settings.deltas === 'pair'
    this.kind = isPair ? 'gram' : 'step'
    this.deltaLength = shape.dimension + (isPair ? 1 : memory)
    this.userConstant = constantColumn('user', shape)
    this.itemConstant = constantColumn('item', shape)
    this.next = new Float32Array(shape.dimension)
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const { order, deltas } = this.settings
    const { next } = this
    const p = user.row
    const q = item.row
    const error = rating - scoreOf(p, q)
    const squares = this.userGradient(p, q, error)
    if (!this.moved(p, next, this.step(user, squares), this.userConstant)) return 'refused'
    const seen = order === 'user-first' ? next : p
    if (deltas === 'pair') {
      delta.set(seen)
      // What makes the error at the item's present row this one, whichever user row is seen.
      delta[p.length] = order === 'user-first' ? error + scoreOf(seen, q) : rating
    } else if (!this.itemStep(item, seen, error, delta)) return 'refused'
    p.set(next)
    if (this.userMemory > 0) user.memory[0]! += this.meanSquare(squares)
    user.updates++
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    return this.settings.deltas === 'pair' ? this.foldPair(item, delta) : this.foldStep(item, delta)
  }

  /** The item's step, on its row as it is now; each float is read and written as seldom as can be. */
  private foldPair(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    const { next } = this
    const squares = this.itemGradient(row, delta, delta[row.length]! - scoreOf(row, delta), next)
    if (!this.moved(row, next, this.step(item, squares), this.itemConstant)) return 'refused'
    row.set(next)
    if (this.itemMemory > 0) memory[0]! += this.meanSquare(squares)
    item.updates++
    return 'learned'
  }

  private foldStep(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    const { next } = this
    for (let i = 0; i < next.length; i++) next[i] = delta[i]!
    if (!this.moved(row, next, 1, this.itemConstant)) return 'refused'
    row.set(next)
    if (this.itemMemory > 0) memory[0]! += delta[row.length]!
    item.updates++
    return 'learned'
  }

  /**
   * Turns the gradient in `next` into the row after a step of it, no longer than the cap; false when
   * that is not finite. The sum of squares tells: of finite floats it never overflows.
   */
  private moved(row: Float32Array, next: Float32Array, step: number, constant: number): boolean {
    const { normCap } = this.settings
    let squares = 0
    for (let i = 0; i < next.length; i++) {
      const value = Math.fround(row[i]! + step * next[i]!)
      next[i] = value
      squares += value * value
    }
    if (!(squares < Number.POSITIVE_INFINITY)) return false
    if (squares > normCap * normCap) capNorm(next, normCap, constant)
    return true
  }

  /** The user's gradient into `next`; the sum of its squares. */
  private userGradient(p: Float32Array, q: Float32Array, error: number): number {
    const { userRegularization, globalMean } = this.settings
    const { next, userConstant, itemConstant: bias } = this
    let squares = 0
    for (let i = 0; i < p.length; i++) {
      const g = error * q[i]! - userRegularization * p[i]!
      next[i] = g
      squares += g * g
    }
    if (bias < 0) return squares
    // The user's bias column is bias + mean: only the bias is pulled to 0.
    squares -= next[bias]! ** 2 + next[userConstant]! ** 2
    next[bias]! += userRegularization * globalMean
    next[userConstant] = 0
    return squares + next[bias]! ** 2
  }

  /**
   * The item's step into `step`, [dimension], and behind it what its memory grows by; false when it is
   * not finite.
   */
  private itemStep(
    item: LearnedRow,
    seen: Float32Array,
    error: number,
    step: Float32Array,
  ): boolean {
    const n = item.row.length
    const squares = this.itemGradient(item.row, seen, error, step)
    if (!(squares < Number.POSITIVE_INFINITY)) return false
    const rate = this.step(item, squares)
    for (let i = 0; i < n; i++) step[i]! *= rate
    if (this.itemMemory > 0) step[n] = this.meanSquare(squares)
    return true
  }

  /** The item's gradient into `gradient`; the sum of its squares. */
  private itemGradient(
    q: Float32Array,
    seen: Float32Array,
    error: number,
    gradient: Float32Array,
  ): number {
    const { settings, itemConstant } = this
    const { itemRegularization } = settings
    let squares = 0
    for (let i = 0; i < q.length; i++) {
      const g = error * seen[i]! - itemRegularization * q[i]!
      gradient[i] = g
      squares += g * g
    }
    if (itemConstant < 0) return squares
    squares -= gradient[itemConstant]! ** 2
    gradient[itemConstant] = 0
    return squares
  }

  private meanSquare(squares: number): number {
    const { dimension, biased } = this.shape
    return this.clipped(squares) / (biased ? dimension - 1 : dimension)
  }

  private clipped(squares: number): number {
    const { gradientClip } = this.settings
    return Math.min(squares, gradientClip * gradientClip)
  }

  /** The rate of a row now, times what shortens its gradient. */
  private step(row: LearnedRow, squares: number): number {
    const { learningRate, schedule, decay, gradientClip } = this.settings
    const clip = clipFactor(squares, gradientClip)
    if (schedule === 'constant') return learningRate * clip
    if (schedule === 'decayed') return (learningRate * clip) / (1 + decay * row.updates)
    return (learningRate * clip) / Math.sqrt(1 + decay * row.memory[0]!)
  }
}
