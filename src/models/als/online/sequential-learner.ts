import { PrequentialError, type PrequentialOptions } from '../../quality/prequential-error.ts'
import { clipRating, type Rating, type RatingRange } from '../../ratings/rating.ts'
import { type LearnedRow, newRow, type OnlineRule, type StepOutcome, scoreOf } from './rule.ts'

/** A batch model to learn on. */
export interface LearnableModel {
  /** The row of an id, undefined for one that training never saw. */
  row(side: 'user' | 'item', id: string): Float32Array | undefined
  /** Ratings of the id in training. */
  evidence(side: 'user' | 'item', id: string): number
  /** Rows that new users and items start from. */
  readonly coldUser: Float32Array
  readonly coldItem: Float32Array
  readonly range: RatingRange
}

/**
 * Learns one rating after the other in one thread and folds each delta at once. It is the reference for the
 * learning job, and learns from files.
 */
export class SequentialLearner {
  readonly error: PrequentialError
  readonly users = new Map<string, LearnedRow>()
  readonly items = new Map<string, LearnedRow>()
  private readonly model: LearnableModel
  private readonly rule: OnlineRule
  private readonly delta: Float32Array

  constructor(model: LearnableModel, rule: OnlineRule, options: PrequentialOptions = {}) {
    this.model = model
    this.rule = rule
    this.error = new PrequentialError(options)
    this.delta = new Float32Array(rule.deltaLength)
  }

  /** Predicts a rating, then learns it. */
  learn(rating: Rating): StepOutcome {
    const user = this.rowOf('user', rating.user)
    const item = this.rowOf('item', rating.item)
    const score = clipRating(scoreOf(user.row, item.row), this.model.range)
    const known = user.updates + user.evidence > 0 && item.updates + item.evidence > 0
    this.error.add(rating.rating - score, known)
    const outcome = this.rule.learn(user, item, rating.rating, this.delta)
    return outcome === 'refused' ? outcome : this.rule.fold(item, this.delta)
  }

  /** Score of a pair, clipped. */
  predict(user: string, item: string): number {
    const score = scoreOf(this.rowOf('user', user).row, this.rowOf('item', item).row)
    return clipRating(score, this.model.range)
  }

  private rowOf(side: 'user' | 'item', id: string): LearnedRow {
    const rows = side === 'user' ? this.users : this.items
    let row = rows.get(id)
    if (row === undefined) {
      const { rule, model } = this
      const memory = side === 'user' ? rule.userMemory : rule.itemMemory
      const known = model.row(side, id)
      const cold = side === 'user' ? model.coldUser : model.coldItem
      row = newRow(known ?? cold, memory, known === undefined ? 0 : model.evidence(side, id))
      // A published row was written once.
      if (known !== undefined) row.updates = 1
      rows.set(id, row)
    }
    return row
  }
}
