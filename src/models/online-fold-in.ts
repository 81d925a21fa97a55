import { capNorm, type StepGuardSettings, type StepGuards, stepGuards } from './online-guards.ts'
import { type ModelMoments, type RowPrior, regressorsFactor, rowPrior } from './online-prior.ts'
import {
  allFinite,
  constantColumn,
  type LearnedRow,
  type OnlineRule,
  type RowShape,
  type StepOutcome,
  scoreOf,
} from './online-rule.ts'
import { solvePacked } from './small-symmetric.ts'

/** What a rating says to fold-in. */
export type FoldInFeedback = 'explicit' | 'implicit'

/** Options of fold-in. */
export interface FoldInOptions extends StepGuards {
  /** @default 'explicit' */
  readonly feedback?: FoldInFeedback
}

/**
 * Where a score is to move: to the rating (explicit), or part of the way to 1, for a negative rating
 * to 0 (implicit). NaN: it stays. `known` is false while one of the rows is new.
 */
export function foldInTarget(
  feedback: FoldInFeedback,
  score: number,
  rating: number,
  known: boolean,
): number {
  if (feedback === 'explicit') return rating
  const now = known ? score : 0.5
  if (rating > 0 && now < 1) return now + (rating / (1 + rating)) * (1 - Math.max(0, now))
  if (rating < 0 && now > 0) return now + (rating / (rating - 1)) * -Math.min(1, now)
  return Number.NaN
}

/**
 * Oryx's rule: for a score that is to move by dQ, each row moves by (S^-1) z dQ, z being the other row
 * and S the Gram matrix of all rows of the other side. It needs no history and no rate; the Gram
 * matrices are those of the batch model.
 */
export class FoldInRule implements OnlineRule {
  readonly kind = 'step'
  readonly shape: RowShape
  readonly userMemory = 0
  readonly itemMemory = 0
  readonly deltaLength: number
  private readonly feedback: FoldInFeedback
  private readonly guards: StepGuardSettings
  private readonly user: RowPrior
  private readonly item: RowPrior
  private readonly userFactor: Float64Array | undefined
  private readonly itemFactor: Float64Array | undefined
  private readonly solution: Float64Array
  private readonly next: Float32Array

  constructor(shape: RowShape, moments: ModelMoments, options: FoldInOptions = {}) {
    this.shape = shape
    this.deltaLength = shape.dimension
    this.feedback = options.feedback ?? 'explicit'
    this.guards = stepGuards(options)
    this.user = rowPrior('user', shape, moments, 1)
    this.item = rowPrior('item', shape, moments, 1)
    this.userFactor = regressorsFactor(this.user, moments.item.count)
    this.itemFactor = regressorsFactor(this.item, moments.user.count)
    this.solution = new Float64Array(this.user.columns.length)
    this.next = new Float32Array(shape.dimension)
  }

  /** While there are too few rows for a Gram matrix nothing moves, but the rating counts. */
  learn(user: LearnedRow, item: LearnedRow, rating: number, delta: Float32Array): StepOutcome {
    const score = scoreOf(user.row, item.row)
    const known = user.updates + user.evidence > 0 && item.updates + item.evidence > 0
    const target = foldInTarget(this.feedback, score, rating, known)
    if (!Number.isFinite(rating)) return 'refused'
    const move = Number.isNaN(target) ? 0 : target - score
    delta.fill(0)
    this.moved(this.itemFactor, this.item.columns, user.row, move, delta)
    this.next.fill(0)
    this.moved(this.userFactor, this.user.columns, item.row, move, this.next)
    for (let i = 0; i < this.next.length; i++) this.next[i]! += user.row[i]!
    capNorm(this.next, this.guards.normCap, constantColumn('user', this.shape))
    if (!allFinite(delta) || !allFinite(this.next)) return 'refused'
    user.row.set(this.next)
    user.updates++
    return 'learned'
  }

  fold(item: LearnedRow, delta: Float32Array): StepOutcome {
    const { next } = this
    for (let i = 0; i < next.length; i++) next[i] = item.row[i]! + delta[i]!
    capNorm(next, this.guards.normCap, constantColumn('item', this.shape))
    if (!allFinite(next)) return 'refused'
    item.row.set(next)
    item.updates++
    return 'learned'
  }

  private moved(
    factor: Float64Array | undefined,
    columns: Int32Array,
    other: Float32Array,
    move: number,
    into: Float32Array,
  ): void {
    if (factor === undefined || move === 0) return
    const { solution } = this
    for (let i = 0; i < columns.length; i++) solution[i] = other[columns[i]!]! * move
    solvePacked(factor, columns.length, solution)
    for (let i = 0; i < columns.length; i++) into[columns[i]!] = solution[i]!
  }
}
