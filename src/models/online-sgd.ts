import { requireArgument } from '../core/errors.ts'
import {
  capNorm,
  clipFactor,
  type StepGuardSettings,
  type StepGuards,
  stepGuards,
} from './online-guards.ts'
import {
  allFinite,
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
 * The delta is dq, with 'adagrad' followed by the item's mean squared gradient.
 */
export class SgdRule implements OnlineRule {
  readonly kind = 'step'
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
    this.deltaLength = shape.dimension + memory
    this.userConstant = constantColumn('user', shape)
    this.itemConstant = constantColumn('item', shape)
    this.next = new Float32Array(shape.dimension)
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const { userRegularization, itemRegularization, order, globalMean, normCap } = this.settings
    const p = user.row
    const q = item.row
    const n = p.length
    const next = this.next
    const error = rating - scoreOf(p, q)
    // The user's bias column is bias + mean: only the bias is pulled to 0.
    const bias = this.itemConstant
    const userConstant = this.userConstant
    let squares = 0
    for (let i = 0; i < n; i++) {
      const g = error * q[i]! - userRegularization * p[i]!
      next[i] = g
      squares += g * g
    }
    if (bias >= 0) {
      squares -= next[bias]! ** 2 + next[userConstant]! ** 2
      next[bias]! += userRegularization * globalMean
      next[userConstant] = 0
      squares += next[bias]! ** 2
    }
    const userStep = this.step(user, squares)
    for (let i = 0; i < n; i++) next[i] = p[i]! + userStep * next[i]!
    const seen = order === 'user-first' ? next : p
    let itemSquares = 0
    for (let i = 0; i < n; i++) {
      const g = error * seen[i]! - itemRegularization * q[i]!
      delta[i] = g
      itemSquares += g * g
    }
    if (bias >= 0) {
      itemSquares -= delta[bias]! ** 2
      delta[bias] = 0
    }
    const itemStep = this.step(item, itemSquares)
    for (let i = 0; i < n; i++) delta[i]! *= itemStep
    const perColumn = 1 / (bias >= 0 ? n - 1 : n)
    if (this.itemMemory > 0) delta[n] = this.clipped(itemSquares) * perColumn
    capNorm(next, normCap, userConstant)
    if (!allFinite(next) || !allFinite(delta)) return 'refused'
    p.set(next)
    if (this.userMemory > 0) user.memory[0]! += this.clipped(squares) * perColumn
    user.updates++
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    const next = this.next
    for (let i = 0; i < row.length; i++) next[i] = row[i]! + delta[i]!
    capNorm(next, this.settings.normCap, this.itemConstant)
    if (!allFinite(next) || !allFinite(delta)) return 'refused'
    row.set(next)
    if (this.itemMemory > 0) memory[0]! += delta[row.length]!
    item.updates++
    return 'learned'
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
