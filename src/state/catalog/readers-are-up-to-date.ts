/** Row tables of one slot, as two threads count them. */
export interface OpenedTables {
  /** Tables that the slot has opened, by its own count on the progress board. */
  readonly opened: number
  /** Tables whose report the main thread has handled and passed on to the readers. */
  readonly reported: number
}

/** A thread that reads row tables in place and learns of them by message. */
export interface TableReader {
  /** Number of the last table that was sent to it, 0 for none. Numbers rise. */
  readonly sent: number
  /** Number of the last table that it has acknowledged, 0 for none. */
  readonly acknowledged: number
}

/** Counts of the row tables on their way from slots to readers. */
export interface TableDelivery {
  /** By slot. */
  readonly slots: readonly OpenedTables[]
  /**
   * Living readers: query threads and slots. A thread that is being replaced is not one of them,
   * because the new one gets all tables before it takes requests.
   */
  readonly readers: readonly TableReader[]
}

/**
 * Whether every reader can read every table that a slot has opened. Read the applied offsets of the
 * slots before these counts: then every table with rows below those offsets is counted.
 */
export function readersAreUpToDate({ slots, readers }: TableDelivery): boolean {
  return (
    slots.every(({ opened, reported }) => reported === opened) &&
    readers.every(({ sent, acknowledged }) => acknowledged >= sent)
  )
}
