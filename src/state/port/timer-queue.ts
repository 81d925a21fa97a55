/** One timer. Its bytes are overwritten by the next `poll`. */
export interface Timer {
  readonly timestamp: number
  readonly key: Uint8Array
  readonly keyGroup: number
  readonly namespace: Uint8Array
}

/** Timers of a subtask in time order. */
export interface TimerQueue {
  /** Registers for the current key and namespace; a duplicate is ignored. */
  register(timestamp: number): void
  /** Deletes for the current key and namespace; a missing one is ignored. */
  delete(timestamp: number): void
  /** Whether it has a timer of the current key and namespace at this time, other than that of an entry. */
  has(timestamp: number): boolean
  /** The earliest timestamp, or undefined when empty. */
  peek(): number | undefined
  /**
   * Removes and returns the earliest timer with timestamp <= `upTo`, and selects its key and namespace; of a timer that
   * belongs to an entry, the namespace of the entry.
   */
  poll(upTo: number): Timer | undefined
}
