import type { Serializer } from '../../core/serializer.ts'
/** Sends a part in place of the records that it stands for. */
export type SendPart = (key: unknown, part: unknown, timestamp: number) => void

/**
 * The fold that a sender applies to the records of a keyed edge, so that fewer cross it: the receiver folds the parts
 * on. An instance belongs to one sending subtask.
 */
export interface EdgeFold {
  /** Parts that wait. */
  readonly size: number
  /**
   * Takes a record; false for one that must be sent as it is, after the parts that wait. Throws NOT_ASSOCIATIVE when the
   * fold is not what its user declared.
   */
  add(key: unknown, value: unknown, timestamp: number): boolean
  /** Gives the parts that wait to `send`, in the order of their first records, and forgets them. */
  drain(send: SendPart): void
  /** The sender sends this watermark behind what was drained. Throws as `add`. */
  afterWatermark(watermark: number): void
  /** The sender no longer holds back the receiver's watermark. */
  afterIdle(): void
}

/** How senders fold the records of an edge before they send them. */
export interface SenderFold {
  /** Serializer of the edge, which carries records and parts. */
  readonly serializer: Serializer<unknown>
  /** Makes the fold of one sending subtask; `reusesObjects`: the program changes no object that it has passed on. */
  readonly create: (reusesObjects: boolean) => EdgeFold
}
