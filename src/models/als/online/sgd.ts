import { capNorm, clipFactor } from './guards.ts'
import { newcomerWeight, newnessIn, newnessOf } from './newcomers.ts'
import { addScaled, multiply, OTHER, PRODUCT, ROW, replaced } from './row-arithmetic.ts'
import {
  constantColumn,
  type LearnedRow,
  type OnlineRule,
  type RowShape,
  type StepOutcome,
  scoreOf,
} from './rule.ts'
import { type SgdOptions, type SgdSettings, sgdSettings } from './sgd-options.ts'

/** Parameters of the steps of one side's rows. */
interface SideOfStep {
  readonly regularization: number
  /** Column that never changes; -1 if none. */
  readonly constant: number
  /** Column that is pulled to `centre` and not to 0; -1 if none. */
  readonly centred: number
  readonly centre: number
  /** Factor on the step of the current rating. */
  weight: number
}

/**
 * One gradient step for each rating:
 *
 *   e = r - p.q,   p += eta_u (e q - l_u p),   dq = eta_i (e p - l_i q)
 *
 * A delta of kind `step` is dq, with 'adagrad' followed by the item's mean squared gradient; a pair is
 * p and the rating. The last float says how much of a newcomer the user is: the item's step of a newcomer's
 * rating is shorter (`newcomers.ts`); n is all ratings of the item.
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
  /** Products of the two rows of the current rating. */
  private readonly products = new Float64Array(3)
  private readonly userConstant: number
  /** Largest rate for the current rating. */
  private mostRate = Number.POSITIVE_INFINITY

  constructor(shape: RowShape, options: SgdOptions = {}) {
    this.shape = shape
    this.userConstant = constantColumn('user', shape)
    this.settings = sgdSettings(options)
    const memory = this.settings.schedule === 'adagrad' ? 1 : 0
    this.userMemory = memory
    this.itemMemory = memory
    const isPair = this.settings.deltas === 'pair'
    this.kind = isPair ? 'gram' : 'step'
    this.deltaLength = shape.dimension + (isPair ? 1 : memory) + 1
    const { userRegularization, itemRegularization, globalMean } = this.settings
    this.itemConstant = constantColumn('item', shape)
    this.user = {
      regularization: userRegularization,
      constant: this.userConstant,
      // The user's bias column is bias + mean: only the bias is pulled to 0.
      centred: this.itemConstant,
      centre: globalMean,
      weight: 1,
    }
    this.item = {
      regularization: itemRegularization,
      constant: this.itemConstant,
      centred: -1,
      centre: 0,
      weight: 1,
    }
    this.next = new Float32Array(shape.dimension)
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const { order, deltas } = this.settings
    const { next, products } = this
    const p = user.row
    const q = item.row
    multiply(p, q, products)
    this.limitRate(p, q)
    const error = rating - products[PRODUCT]!
    const squares = this.stepped(user, q, error, this.user)
    if (Number.isNaN(squares)) return 'refused'
    const seen = order === 'user-first' ? next : p
    if (deltas === 'pair') {
      delta.set(seen)
      // The rating that gives this error at the item's current row, with the user row that is sent.
      delta[p.length] = order === 'user-first' ? error + scoreOf(seen, q) : rating
    } else if (!this.itemStep(item, seen, error, delta)) return 'refused'
    delta[this.deltaLength - 1] = newnessOf(user)
    p.set(next)
    if (this.userMemory > 0) user.memory[0]! += this.meanSquare(squares)
    user.updates++
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    const newness = newnessIn(delta, this.deltaLength)
    const { newcomers } = this.settings
    this.item.weight = newcomerWeight(newness, item.updates + item.evidence, newcomers)
    return this.settings.deltas === 'pair' ? this.foldPair(item, delta) : this.foldStep(item, delta)
  }

  /** The item's step, on its current row. */
  private foldPair(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { row, memory } = item
    multiply(row, delta, this.products)
    this.limitRate(delta, row)
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
   * Puts the row after its step, shortened to the cap, into `next`. Returns the sum of the gradient's
   * squares, or NaN when the row is not finite. `products` are those of the row and the other one: the
   * gradient's squares follow from them, without a pass for the gradient,
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
    const step = side.weight * this.step(moving, squares)
    let length = addScaled(1 - step * l, x, step * error, y, next)
    if (constant >= 0) length += replaced(next, constant, x[constant]!)
    if (centred >= 0) length += replaced(next, centred, next[centred]! + step * l * centre)
    return this.withinCap(length, constant) ? squares : Number.NaN
  }

  /**
   * Limits the rate so that the two steps of a rating together move its score by `mostMove` of its error at most (normalised
   * least mean squares, Nagumo and Noda, 1967): with rates r, steps r e y and r e x move it by about r e (|x|^2 + |y|^2).
   */
  private limitRate(user: Float32Array, item: Float32Array): void {
    const { settings, products, userConstant, itemConstant } = this
    if (settings.mostMove === Number.POSITIVE_INFINITY) return
    let squares = products[ROW]! + products[OTHER]!
    if (userConstant >= 0) squares -= item[userConstant]! ** 2 + user[itemConstant]! ** 2
    this.mostRate = settings.mostMove / Math.max(0, squares)
  }

  private foldedStep(row: Float32Array, delta: Float32Array): boolean {
    const { next, itemConstant, item } = this
    let length = addScaled(1, row, item.weight, delta, next)
    if (itemConstant >= 0) length += replaced(next, itemConstant, row[itemConstant]!)
    return this.withinCap(length, itemConstant)
  }

  /**
   * Shortens `next`, whose sum of squares is given, to the cap; false when it is not finite. The sum of
   * squares of finite floats never overflows, so the sum shows it.
   */
  private withinCap(squares: number, constant: number): boolean {
    const { normCap } = this.settings
    if (!(squares < Number.POSITIVE_INFINITY)) return false
    if (squares > normCap * normCap) capNorm(this.next, normCap, constant)
    return true
  }

  /**
   * Puts the item's step into `step`, [dimension], followed by the increase of its memory; false when it
   * is not finite.
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

  /** Puts the item's gradient into `gradient`; returns the sum of its squares. */
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

  /** The current rate of a row, times the factor that shortens its gradient. */
  private step(row: LearnedRow, squares: number): number {
    const { learningRate, schedule, decay, gradientClip } = this.settings
    const rate = Math.min(learningRate, this.mostRate) * clipFactor(squares, gradientClip)
    if (schedule === 'constant') return rate
    if (schedule === 'decayed') return rate / (1 + decay * row.updates)
    return rate / Math.sqrt(1 + decay * row.memory[0]!)
  }
}
