import type { ByteSpan } from '../../core/byte-span.ts'
import type { ModelVersion } from '../../core/model-version.ts'
import { type VectorStateDescriptor, vectorState } from '../../state/port/descriptors.ts'
import type { VectorState, WriteOrigin } from '../../state/port/handles.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { ALS_VARIANCE } from '../../wire/rating-interval.ts'
import { KEY_SUFFIXES, kindOfKeyBytes } from '../als/row-key.ts'
import { VARIANCE_FLOATS } from '../als/row-variance.ts'

/** Names of the states of the variances of users and of items. */
export const VARIANCE_STATES = { U: 'user-variances', I: 'item-variances' } as const

/**
 * Rows of variances beside the rows of an ALS model, by version: the queryable state `ALS_VARIANCE`. The keys `MEAN-U` and
 * `MEAN-I` have what a user or an item without a row has; it is published, and is no mean. A version without variances is
 * not opened, so that a job without them does not have the state.
 */
export class VarianceRows {
  private readonly users: VectorState
  private readonly items: VectorState

  constructor(
    open: (descriptor: VectorStateDescriptor) => VectorState,
    maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
  ) {
    const descriptorOf = (kind: 'U' | 'I'): VectorStateDescriptor =>
      vectorState(VARIANCE_STATES[kind], {
        dimension: VARIANCE_FLOATS,
        maxKeyBytes,
        queryableName: ALS_VARIANCE,
        keySuffix: KEY_SUFFIXES[kind],
        isReadAhead: false,
      })
    this.users = open(descriptorOf('U'))
    this.items = open(descriptorOf('I'))
  }

  /** Deletes the rows of a version. */
  drop(version: ModelVersion): void {
    this.users.dropVersion(version)
    this.items.dropVersion(version)
  }

  /** Stores the row of a key: its floats are those of a record. None: the version has variances, perhaps not here. */
  put(version: ModelVersion, key: Uint8Array, floats: ByteSpan, origin: WriteOrigin): void {
    if (floats.length > 0) {
      this.tableOf(key).putBytes(version, key, floats, origin)
      return
    }
    this.users.openVersion(version)
    this.items.openVersion(version)
  }

  /** Deletes the row of a key. */
  remove(version: ModelVersion, key: Uint8Array): void {
    this.tableOf(key).remove(version, key)
  }

  private tableOf(key: Uint8Array): VectorState {
    return kindOfKeyBytes(key) === 'U' ? this.users : this.items
  }
}
