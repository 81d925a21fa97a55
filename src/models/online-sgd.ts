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

/** How one side's rows are stepped. */
interface SideOfStep {
  readonly regularization: number
  /** Column that stays as it is; -1 if none. */
  readonly constant: number
  /** Column that is pulled to `centre` and not to 0; -1 if none. */
  readonly centred: number
  readonly centre: number
}

/** Places in the products of a row and another one: both, the row's squares, the other's. */
const PRODUCT = 0
const ROW = 1
const OTHER = 2

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
  private readonly itemConstant: number
  private readonly user: SideOfStep
  private readonly item: SideOfStep
  private readonly next: Float32Array
  /** Of the two rows of the present rating. */
  private readonly products = new Float64Array(3)

  constructor(shape: RowShape, options: SgdOptions = {}) {
    this.shape = shape
    this.settings = sgdSettings(options)
    const memory = this.settings.schedule === 'adagrad' ? 1 : 0
    this.userMemory = memory
    this.itemMemory = memory
    const isPair = this.settings.deltas === 'pair'
    this.kind = isPair ? 'gram' : 'step'
    this.deltaLength = shape.dimension + (isPair ? 1 : memory)
    const { userRegularization, itemRegularization, globalMean } = this.settings
    this.itemConstant = constantColumn('item', shape)
    this.user = {
      regularization: userRegularization,
      constant: constantColumn('user', shape),
      // The user's bias column is bias + mean: only the bias is pulled to 0.
      centred: this.itemConstant,
      centre: globalMean,
    }
    this.item = {
      regularization: itemRegularization,
      constant: this.itemConstant,
      centred: -1,
      centre: 0,
    }
    this.next = new Float32Array(shape.dimension)
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const { order, deltas } = this.settings
    const { next, products } = this
    const p = user.row
    const q = item.row
    multiply(p, q, products)
    const error = rating - products[PRODUCT]!
    const squares = this.stepped(user, q, error, this.user)
    if (Number.isNaN(squares)) return 'refused'
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

  /** The item's step, on its row as it is now. */
  private foldPair(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    multiply(row, delta, this.products)
    const error = delta[row.length]! - this.products[PRODUCT]!
    const squares = this.stepped(item, delta, error, this.item)
    if (Number.isNaN(squares)) return 'refused'
    row.set(this.next)
    if (this.itemMemory > 0) memory[0]! += this.meanSquare(squares)
    item.updates++
    return 'learned'
  }

  private foldStep(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    if (!this.foldedStep(row, delta)) return 'refused'
    row.set(this.next)
    if (this.itemMemory > 0) memory[0]! += delta[row.length]!
    item.updates++
    return 'learned'
  }

  /**
   * Puts the row after its step, no longer than the cap, into `next`; the sum of the gradient's
   * squares, or NaN when the row would not be finite. `products` are those of the row and the other
   * one: from them follow the gradient's squares, so that it need not be made before its step,
   *
   *   g = e y - l x,   |g|^2 = e^2 y.y - 2 e l x.y + l^2 x.x,   x + s g = (1 - s l) x + s e y
   */
  private stepped(moving: LearnedRow, y: Float32Array, error: number, side: SideOfStep): number {
    const { next, products } = this
    const { regularization: l, constant, centred, centre } = side
    const x = moving.row
    const gradient = (column: number): number => error * y[column]! - l * x[column]!
    let squares =
      error * error * products[OTHER]! - 2 * error * l * products[PRODUCT]! + l * l * products[ROW]!
    if (constant >= 0) squares -= gradient(constant) ** 2
    if (centred >= 0) squares += (gradient(centred) + l * centre) ** 2 - gradient(centred) ** 2
    squares = Math.max(0, squares)
    const step = this.step(moving, squares)
    let length = addScaled(1 - step * l, x, step * error, y, next)
    if (constant >= 0) length += replaced(next, constant, x[constant]!)
    if (centred >= 0) length += replaced(next, centred, next[centred]! + step * l * centre)
    return this.withinCap(length, constant) ? squares : Number.NaN
  }

  private foldedStep(row: Float32Array, delta: Float32Array): boolean {
    const { next, itemConstant } = this
    let length = addScaled(1, row, 1, delta, next)
    if (itemConstant >= 0) length += replaced(next, itemConstant, row[itemConstant]!)
    return this.withinCap(length, itemConstant)
  }

  /**
   * Shortens `next`, whose sum of squares is given, to the cap; false when it is not finite, which the
   * sum tells: of finite floats it never overflows.
   */
  private withinCap(squares: number, constant: number): boolean {
    const { normCap } = this.settings
    if (!(squares < Number.POSITIVE_INFINITY)) return false
    if (squares > normCap * normCap) capNorm(this.next, normCap, constant)
    return true
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

/** Products of x with y, x with x and y with y into `into`; y may be longer. */
function multiply(x: Float32Array, y: Float32Array, into: Float64Array): void {
  let product = 0
  let squaresX = 0
  let squaresY = 0
  let productB = 0
  let squaresXB = 0
  let squaresYB = 0
  const even = x.length & ~1
  // Two sums each, so that one addition need not wait for the one before.
  for (let i = 0; i < even; i += 2) {
    const a = x[i]!
    const b = y[i]!
    const c = x[i + 1]!
    const d = y[i + 1]!
    product += a * b
    productB += c * d
    squaresX += a * a
    squaresXB += c * c
    squaresY += b * b
    squaresYB += d * d
  }
  if (even < x.length) {
    product += x[even]! * y[even]!
    squaresX += x[even]! ** 2
    squaresY += y[even]! ** 2
  }
  into[PRODUCT] = product + productB
  into[ROW] = squaresX + squaresXB
  into[OTHER] = squaresY + squaresYB
}

/** a x + b y into `into`, as long as x; the sum of its squares. */
function addScaled(
  a: number,
  x: Float32Array,
  b: number,
  y: Float32Array,
  into: Float32Array,
): number {
  let squares = 0
  let squaresB = 0
  const even = x.length & ~1
  for (let i = 0; i < even; i += 2) {
    const first = Math.fround(a * x[i]! + b * y[i]!)
    const second = Math.fround(a * x[i + 1]! + b * y[i + 1]!)
    into[i] = first
    into[i + 1] = second
    squares += first * first
    squaresB += second * second
  }
  if (even < x.length) {
    const last = Math.fround(a * x[even]! + b * y[even]!)
    into[even] = last
    squares += last * last
  }
  return squares + squaresB
}

/** Gives a row's column another value; what that adds to the sum of its squares. */
function replaced(row: Float32Array, column: number, value: number): number {
  const before = row[column]!
  row[column] = value
  return row[column]! ** 2 - before * before
}
