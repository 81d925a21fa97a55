import { type ModelVersion, modelVersion } from '../../../core/model-version.ts'
import type { LearnerRuleOptions } from '../../../kinds/learner-rules.ts'
import type { OnlineSide } from '../../../models/als/online/rule.ts'
import { vectorState } from '../../../state/port/descriptors.ts'
import type { VectorState, WriteOrigin } from '../../../state/port/handles.ts'
import type { KeyedState } from '../../../state/port/keyed-state.ts'

/**
 * Ratings that a row counts as where its publisher did not count those that it was trained on. A rule that weighs several rows
 * of a user moves further at first: with 20, a model of many ratings a user had an error above its interval. Measured on other
 * data (docs/decisions/rating-rules.md#rows-without-a-count).
 */
const UNCOUNTED_EVIDENCE: Readonly<Record<LearnerRuleOptions['rule'], number>> = {
  gram: 20,
  sgd: 20,
  'fold-in': 20,
  stack: 60,
  popularity: 20,
}

/** A row and the ratings that it was trained on: 0 for one that is new. */
export interface RowRatings {
  readonly side: OnlineSide
  readonly version: ModelVersion
  readonly key: Uint8Array
  /** Undefined where they are not known, or the row was deleted. */
  readonly ratings: number | undefined
  readonly origin: WriteOrigin
}

/** On how many ratings each row of the batch model was trained: one float beside each row. */
export class RowEvidence {
  private readonly users: VectorState
  private readonly items: VectorState
  private readonly uncounted: number
  private readonly count = new Float32Array(1)
  private readonly target = { vector: this.count, updateCount: 0 }

  constructor(state: KeyedState, maxKeyBytes: number, rule: LearnerRuleOptions['rule']) {
    this.uncounted = UNCOUNTED_EVIDENCE[rule]
    const lengths = { dimension: 1, maxKeyBytes }
    this.users = state.vector(vectorState('user-evidence', lengths))
    this.items = state.vector(vectorState('item-evidence', lengths))
  }

  /** Stores the ratings of a row of this slot. */
  place({ side, version, key, ratings, origin }: RowRatings): void {
    const rows = this.rowsOf(side)
    if (ratings === undefined) {
      rows.remove(version, key)
      return
    }
    this.count[0] = ratings
    rows.put(version, key, this.count, origin)
  }

  /** Deletes the counts of a retired version. */
  drop(version: number): void {
    for (const rows of [this.users, this.items]) rows.dropVersion(modelVersion(version))
  }

  /** The ratings of a row of this slot, `UNCOUNTED_EVIDENCE` of the rule where they are not known. */
  of(side: OnlineSide, version: number, key: Uint8Array): number {
    const isKnown = this.rowsOf(side).readInto(modelVersion(version), key, this.target)
    return isKnown ? this.count[0]! : this.uncounted
  }

  private rowsOf(side: OnlineSide): VectorState {
    return side === 'user' ? this.users : this.items
  }
}
