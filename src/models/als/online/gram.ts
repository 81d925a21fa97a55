import { requireArgument } from '../../../core/errors.ts'
import { allFinite } from '../../../core/numbers/all-finite.ts'
import { factorPacked, multiplyPacked, packedLength, solvePacked } from '../small-symmetric.ts'
import { capNorm, type StepGuardSettings, type StepGuards, stepGuards } from './guards.ts'
import { newcomerWeight, newnessIn, newnessOf, requireNewcomers } from './newcomers.ts'
import { type ModelMoments, type RowPrior, rowPrior } from './prior.ts'
import {
  constantColumn,
  type LearnedRow,
  type OnlineRule,
  type OnlineSide,
  type RowShape,
  type StepOutcome,
  type UpdateOrder,
} from './rule.ts'

/** Options of the running Gram matrices. */
export interface GramOptions extends StepGuards {
  /**
   * Variance of a rating around its prediction: the weight of the prior against ratings. A higher one keeps the
   * model stable, a lower one follows ratings faster. @default 0.5; a job takes that of the model's training, where it is known
   */
  readonly noise?: number
  /**
   * Noise of a user's first rating, in parts of `noise`. After c ratings it is 1 + (newUserNoise - 1) / (1 + c / 4): the
   * first ratings come in one session and say less of the next ones than others do. 1: the noise of all ratings. @default 11
   */
  readonly newUserNoise?: number
  /** Factor on the weight of a user's ratings with each new one, 0 < f <= 1. @default 0.99 */
  readonly userForgetting?: number
  /** The same for an item. @default 1 */
  readonly itemForgetting?: number
  /**
   * Ratings that all newcomers together count for in an item's row: of users with few ratings, of whom no one
   * knows whether they rate honestly. Infinity: as many as they give. @default 100
   */
  readonly newcomers?: number
  /** @default 'simultaneous' */
  readonly order?: UpdateOrder
}

type GramSettings = Required<Omit<GramOptions, keyof StepGuards>> & StepGuardSettings

/** Checks options and fills in defaults. Throws INVALID_ARGUMENT. */
export function gramSettings(options: GramOptions = {}): GramSettings {
  const settings: GramSettings = {
    noise: options.noise ?? 0.5,
    newUserNoise: options.newUserNoise ?? 11,
    userForgetting: options.userForgetting ?? 0.99,
    itemForgetting: options.itemForgetting ?? 1,
    newcomers: options.newcomers ?? 100,
    order: options.order ?? 'simultaneous',
    ...stepGuards(options),
  }
  requireArgument(settings.noise > 0, `noise is greater than 0, not ${settings.noise}`)
  requireArgument(
    settings.newUserNoise >= 1 && Number.isFinite(settings.newUserNoise),
    `newUserNoise is 1 or more, not ${settings.newUserNoise}`,
  )
  requireNewcomers(settings.newcomers)
  for (const name of ['userForgetting', 'itemForgetting'] as const) {
    const value = settings[name]
    requireArgument(value > 0 && value <= 1, `${name} is above 0 and at most 1, not ${value}`)
  }
  return settings
}

/** Ratings after which half of the additional noise of a new user is left (docs/decisions/rating-rules.md#new-users). */
const NEW_USER_RATINGS = 4

/**
 * Ridge regression of every row against all of its ratings, without keeping them (Velox's rule, on
 * both sides). A row keeps the sums A = sum z z^T and b = sum y z over its ratings, where z is the other
 * row and y the part of the rating that the row explains. After each rating the row is
 *
 *   (f precision + A)^-1 (f shift + b)        (`RowPrior`)
 *
 * where f is 1 for items, and for users the noise after so many ratings (`newUserNoise`).
 * A row of the batch model begins with the sums of `evidence` average ratings whose solution it is. The
 * delta is the user's row and the rating, from which the item's owner computes z and y.
 *
 * Ratings of newcomers weigh at most as `newcomers` others together (`newcomers.ts`); n is the sum of how much of a
 * newcomer each rating's user was.
 */
export class GramRule implements OnlineRule {
  readonly kind = 'gram'
  readonly shape: RowShape
  readonly userMemory: number
  readonly itemMemory: number
  readonly deltaLength: number
  private readonly settings: GramSettings
  private readonly users: GramSide
  private readonly items: GramSide
  private readonly before: Float32Array
  /** Column that is 1 in every user's row; -1 without biases. */
  private readonly userConstant: number

  constructor(shape: RowShape, moments: ModelMoments, options: GramOptions = {}) {
    this.shape = shape
    this.settings = gramSettings(options)
    const { noise, userForgetting, itemForgetting, normCap, newcomers } = this.settings
    const rowsOf = (side: OnlineSide, forgetting: number): GramSide => {
      const prior = rowPrior({ side, shape, moments, noise })
      const constant = constantColumn(side, shape)
      const newNoise = side === 'user' ? this.settings.newUserNoise : 1
      return new GramSide({ constant, prior, forgetting, normCap, newcomers, newNoise })
    }
    this.users = rowsOf('user', userForgetting)
    this.items = rowsOf('item', itemForgetting)
    this.userMemory = this.users.memory
    this.itemMemory = this.items.memory
    this.deltaLength = shape.dimension + 2
    this.before = new Float32Array(shape.dimension)
    this.userConstant = constantColumn('user', shape)
  }

  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const n = this.shape.dimension
    const newness = newnessOf(user)
    this.before.set(user.row)
    const outcome = this.users.observe(user, item.row, rating)
    if (outcome === 'refused') return outcome
    delta.set(this.settings.order === 'user-first' ? user.row : this.before)
    delta[n] = rating
    delta[n + 1] = newness
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    if (!allFinite(delta)) return 'refused'
    const { before, userConstant } = this
    for (let i = 0; i < before.length; i++) before[i] = delta[i]!
    const rating = delta[this.shape.dimension]!
    // Deltas of an earlier build have something else in this column.
    if (userConstant >= 0) before[userConstant] = 1
    return this.items.observe(item, before, rating, newnessIn(delta, this.deltaLength))
  }
}

/** Options of the rows of one side. */
interface GramSideOptions {
  readonly prior: RowPrior
  readonly forgetting: number
  readonly normCap: number
  /** Column that never changes; -1 if none. */
  readonly constant: number
  /** Ratings that those of newcomers count for at most. */
  readonly newcomers: number
  /** Noise of a row's first rating, in parts of that of others. */
  readonly newNoise: number
}

/**
 * The rows of one side. A row's memory, float32: `| m | A packed | b |`, where m is 0 before the first rating,
 * then 1 + the sum of how much of a newcomer each rating's user was.
 */
class GramSide {
  readonly memory: number
  private readonly prior: RowPrior
  private readonly forgetting: number
  private readonly normCap: number
  private readonly constant: number
  private readonly newcomers: number
  private readonly newNoise: number
  /** Weight of the prior in the current row. */
  private pull = 1
  private readonly n: number
  private readonly z: Float64Array
  private readonly matrix: Float64Array
  private readonly solution: Float64Array

  constructor(options: GramSideOptions) {
    const { prior, forgetting, normCap, constant, newcomers, newNoise } = options
    this.newcomers = newcomers
    this.newNoise = newNoise
    this.prior = prior
    this.forgetting = forgetting
    this.normCap = normCap
    this.constant = constant
    this.n = prior.columns.length
    this.memory = 1 + packedLength(this.n) + this.n
    this.z = new Float64Array(this.n)
    this.matrix = new Float64Array(packedLength(this.n))
    this.solution = new Float64Array(this.n)
  }

  /** Adds a rating to the row's sums and solves the row. `newness`: part to which its user is a newcomer. */
  observe(target: LearnedRow, other: Float32Array, rating: number, newness = 0): StepOutcome {
    const { row, memory } = target
    const { columns } = this.prior
    const { n, z, constant } = this
    this.pull = this.pullOf(target)
    if (memory[0] === 0) this.begin(target)
    for (let i = 0; i < n; i++) z[i] = other[columns[i]!]!
    const y = constant < 0 ? rating : rating - row[constant]! * other[constant]!
    if (!Number.isFinite(y)) return 'refused'
    const weight = this.weightOf(memory, newness)
    if (!this.solve(memory, y, weight)) return 'refused'
    this.take(memory, y, weight)
    memory[0] = 1 + this.forgetting * (memory[0]! - 1) + newness
    for (let i = 0; i < n; i++) row[columns[i]!] = this.solution[i]!
    capNorm(row, this.normCap, constant)
    target.updates++
    return 'learned'
  }

  /** Weight of the prior in a row: the noise of its ratings by what is known of it. */
  private pullOf({ updates, evidence }: LearnedRow): number {
    return 1 + (this.newNoise - 1) / (1 + (updates + evidence) / NEW_USER_RATINGS)
  }

  /** Weight of a rating of a user who is a newcomer by the part `newness`. */
  private weightOf(memory: Float32Array, newness: number): number {
    return newcomerWeight(newness, memory[0]! - 1, this.newcomers)
  }

  /** The sums of a row that was trained on `evidence` average ratings: its solution is the row. */
  private begin({ row, memory, evidence }: LearnedRow): void {
    memory[0] = 1
    if (evidence <= 0) return
    const { n, matrix, solution, pull } = this
    const { columns, precision, shift, regressors } = this.prior
    for (let i = 0; i < matrix.length; i++) {
      const sum = Math.fround(evidence * regressors[i]!)
      memory[1 + i] = sum
      matrix[i] = sum + pull * precision[i]!
    }
    const own = Float64Array.from(columns, (column) => row[column]!)
    multiplyPacked(matrix, n, own, solution)
    for (let i = 0; i < n; i++) memory[1 + matrix.length + i] = solution[i]! - pull * shift[i]!
  }

  /** Solves with the rating added, without changing the memory. */
  private solve(memory: Float32Array, y: number, weight: number): boolean {
    const { n, z, matrix, solution, forgetting, pull } = this
    const { precision, shift } = this.prior
    for (let i = 0, at = 0; i < n; i++) {
      for (let j = 0; j <= i; j++, at++) {
        matrix[at] = pull * precision[at]! + forgetting * memory[1 + at]! + weight * z[i]! * z[j]!
      }
    }
    const b = 1 + matrix.length
    for (let i = 0; i < n; i++) {
      solution[i] = pull * shift[i]! + forgetting * memory[b + i]! + weight * y * z[i]!
    }
    if (!factorPacked(matrix, n)) return false
    solvePacked(matrix, n, solution)
    let sum = 0
    for (let i = 0; i < n; i++) sum += Math.fround(solution[i]!) * 0
    return sum === 0
  }

  private take(memory: Float32Array, y: number, weight: number): void {
    const { n, z, forgetting } = this
    let at = 1
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++, at++) {
        memory[at] = forgetting * memory[at]! + weight * z[i]! * z[j]!
      }
    }
    for (let i = 0; i < n; i++, at++) memory[at] = forgetting * memory[at]! + weight * y * z[i]!
  }
}
