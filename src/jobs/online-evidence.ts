import { modelVersion } from '../core/identity.ts'
import { vectorState } from '../state/descriptors.ts'
import type { VectorState, WriteOrigin } from '../state/handles.ts'
import type { KeyedStateBackend } from '../state/keyed-state-backend.ts'

/** Ratings that a row counts as where nobody counted those that it was trained on. */
export const UNCOUNTED_EVIDENCE = 20

/** On how many ratings each row of the batch model was trained: one float beside each row. */
export class RowEvidence {
  private readonly users: VectorState
  private readonly items: VectorState
  private readonly count = new Float32Array(1)
  private readonly target = { vector: this.count, updateCount: 0 }

  constructor(state: KeyedStateBackend) {
    this.users = state.vector(vectorState('user-evidence', { dimension: 1 }))
    this.items = state.vector(vectorState('item-evidence', { dimension: 1 }))
  }

  /** Notes the ratings of a row of this slot; undefined where they are not known, or the row is gone. */
  place(
    side: 'user' | 'item',
    version: number,
    key: Uint8Array,
    ratings: number | undefined,
    origin: WriteOrigin,
  ): void {
    const rows = side === 'user' ? this.users : this.items
    const id = modelVersion(version)
    if (ratings === undefined) {
      rows.remove(id, key)
      return
    }
    this.count[0] = ratings
    rows.put(id, key, this.count, origin)
  }

  /** The version was retired. */
  drop(version: number): void {
    for (const rows of [this.users, this.items]) rows.dropVersion(modelVersion(version))
  }

  of(side: 'user' | 'item', version: number, key: Uint8Array): number {
    const rows = side === 'user' ? this.users : this.items
    const isKnown = rows.readInto(modelVersion(version), key, this.target)
    return isKnown ? this.count[0]! : UNCOUNTED_EVIDENCE
  }
}
