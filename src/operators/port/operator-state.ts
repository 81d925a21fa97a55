/**
 * The rule that distributes the entries of a non-keyed state when the parallelism changes.
 * `split`: each entry goes to exactly one subtask, round robin. `union`: all entries go to every subtask.
 * `broadcast`: every subtask wrote the same entries, and each gets one copy.
 */
export type Redistribution = 'split' | 'union' | 'broadcast'

/**
 * Names of entries begin so that say something about keyed state and are none themselves: they are no reason to refuse a
 * job without the operator.
 */
export const ABOUT_STATE = 'about/'

/**
 * Non-keyed state of one operator subtask: lists of byte entries by name, stored in the manifest. It is for
 * kilobytes, such as offsets, transactions and broadcast maps, and not for models.
 */
export interface OperatorStateStore {
  /** Whether the restored checkpoint has state of this operator; false on a fresh start. */
  readonly isRestored: boolean
  /** The restored entries of this subtask with this name, which are claimed by that; empty on a fresh start. */
  restored(name: string): readonly Uint8Array[]
  /** Says that restored entries are of a state that the operator does not declare: the start is refused with its name. */
  leaveOver(state: string, bytes: number): void
  /** Replaces the entries that the next snapshots store. */
  update(name: string, redistribution: Redistribution, entries: readonly Uint8Array[]): void
}
