/**
 * Timers of a queue that belong to the entries of one state, at most one to each entry. Such a timer needs no key of its
 * own, and ends with its entry. Those of one moment fire in the order in which they were set.
 */
export interface EntryTimers {
  /**
   * Sets the timer of the entry of the current key and namespace, which must exist. Of this time and that of a timer which
   * the entry has already, the earlier one counts.
   */
  set(timestamp: number): void
}
