import type { KeyGroupRange } from '../../core/key-group.ts'
import type { ChangeSink, StateDeclaration, StateSnapshot } from './change.ts'

/** Keyed state as a checkpoint sees it. */
export interface CheckpointableState {
  readonly keyGroups: KeyGroupRange
  /**
   * Fixes the changes since the last snapshot (everything when `full`) and returns the task that
   * copies them into `sink`. Dirty entries evicted before go to `setSpillSink`'s sink.
   */
  snapshot(checkpointId: number, sink: ChangeSink, full: boolean): StateSnapshot
  /** Whether so much changed since the last snapshot that a full one costs hardly more. */
  prefersFull(): boolean
  /** Sets the sink of dirty entries that leave memory between two snapshots. */
  setSpillSink(sink: ChangeSink): void
  /** The checkpoint is durable: images kept for older ones may be freed. */
  checkpointCompleted(checkpointId: number): void
  /** All states declared so far, with every model version. */
  declarations(): StateDeclaration[]
}
