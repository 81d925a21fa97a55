import type { CheckpointableState } from './checkpointable-state.ts'
import type { KeyedInput } from './keyed-input.ts'
import type { KeyedState } from './keyed-state.ts'
import type { RestorableState } from './restorable-state.ts'
import type { QueriedState } from './slot-query.ts'

/**
 * All keyed state of one operator subtask, with one writer: what its owner opens and closes. Everyone
 * else depends on the one part that they use.
 */
export interface KeyedStateBackend
  extends KeyedState,
    KeyedInput,
    QueriedState,
    CheckpointableState,
    RestorableState {
  /** Releases memory and store; idempotent. */
  close(): void
}
