import type { KeyGroupRange } from '../../core/key-group.ts'
import type { EntrySpan, StateDeclaration, StateName } from './change.ts'

/** A state of a checkpoint that nothing claims. */
export interface DroppedEntries {
  /** Its name, without a version. */
  readonly state: string
  /** Bytes of keys and values that the checkpoint has of it, older values of a key included. */
  readonly bytes: number
}

/** Keyed state as a restore sees it. */
export interface RestorableState {
  readonly keyGroups: KeyGroupRange
  /**
   * Opens a restore. Entries come newest segment first: of one key the first one wins, so that a row
   * that can be read is already right. Rows not restored yet answer RESTORING to queries.
   */
  beginRestore(declarations: readonly StateDeclaration[]): void
  /** Sets the largest number of entries of the restore; called before the first of them, if at all. */
  expectEntries(entries: number): void
  /**
   * Leaves out what is restored of states that no operator has declared so far, and of timers whose queue none has opened:
   * neither memory nor the next snapshot has it, which is then a full one. Called after `beginRestore`, before the first
   * entry.
   */
  dropUndeclared(): void
  /** As `dropUndeclared`, of all typed states and timers: the operator gives their names another meaning. */
  dropAll(): void
  /** The states that were left out and have entries. */
  droppedEntries(): readonly DroppedEntries[]
  /** Takes one entry of a segment; a key group outside `keyGroups` is ignored. */
  restore(keyGroup: number, state: StateName, key: Uint8Array, value: Uint8Array | undefined): void
  /** As `restore`, of an entry that is still in its segment's block. */
  restoreSpan(keyGroup: number, state: StateName, entry: EntrySpan): void
  /**
   * The next key group to restore first, because a query asked for it and got RESTORING; -1 if none.
   * Each request is returned once.
   */
  wantedKeyGroup(): number
  /** Ends the restore; a missing key is now really missing. */
  endRestore(checkpointId: number): void
  /** As `endRestore`, in steps of well below a millisecond: with timers and deleted entries it goes through each of them. */
  endRestoreInSteps(checkpointId: number): Generator<void, void>
  /**
   * From now on a first key or value whose type none of the restored ones has throws STATE_CONFLICT. Called after
   * `endRestore`, where the job may be another one than that which wrote the checkpoint.
   */
  expectFormerTypes(): void
  /** States with restored entries that no operator has declared, and timers whose queue none has opened. */
  unclaimedStates(): readonly DroppedEntries[]
}
