/**
 * How the entries of a non-keyed state spread when parallelism changes.
 * `split`: each entry to exactly one subtask, round robin. `union`: all entries to every subtask.
 * `broadcast`: every subtask wrote the same entries; each gets one copy.
 */
export type Redistribution = 'split' | 'union' | 'broadcast'

/**
 * Non-keyed state of one operator subtask: lists of byte entries by name, stored in the manifest.
 * Meant for offsets, transactions and broadcast maps: kilobytes, not models.
 */
export interface OperatorStateStore {
  /** Entries restored for this subtask under the name; empty on a fresh start. */
  restored(name: string): readonly Uint8Array[]
  /** Replaces the entries that the next snapshots store. */
  update(name: string, redistribution: Redistribution, entries: readonly Uint8Array[]): void
}
