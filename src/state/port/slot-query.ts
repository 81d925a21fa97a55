import type { ByteWriter } from '../../core/byte-writer.ts'

/**
 * A batch of requests from a query thread to the slot that owns the keys. Only state that cannot be
 * read in place is asked for this way: typed state, and rows that were spilled.
 */
export type SlotQueryRequest = {
  /** `traceparent` of the request, when it is traced. */
  readonly trace?: string | undefined
  /**
   * Values are encoded behind what it holds, and answers are views of it: memory for each value would be garbage outside
   * of the heap. Never sent to another thread. @default memory for each
   */
  readonly arena?: ByteWriter | undefined
} /**
 * Encoded values of a typed queryable state. The reply may end after `maxBytes`, and has at least one
 * answer.
 */ & (
  | {
      readonly kind: 'values'
      readonly id: number
      readonly queryableName: string
      readonly keys: readonly Uint8Array[]
      readonly maxBytes?: number | undefined
    }
  /** Rows of a vector state, spilled ones included. */
  | {
      readonly kind: 'rows'
      readonly id: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
      readonly keys: readonly Uint8Array[]
      /** Whether to bring all rows into memory, with their images; else only those asked for often. */
      readonly bring?: boolean
    }
  /** Entries of a queryable state with `from <= key < to`, in key order, at most `limit`. */
  | {
      readonly kind: 'scan'
      readonly id: number
      readonly queryableName: string
      readonly version: number
      readonly from: Uint8Array
      readonly to: Uint8Array
      readonly limit: number
      /**
       * Only rows of this vector state that the store has an entry of (in memory or not), from `from`
       * on; an answer shorter than `limit` is the last. For top-k over spilled rows.
       */
      readonly stored?: { readonly operatorUid: string; readonly state: string }
    }
)

/** One answer: the value's bytes, or that the owner has none, or that it does not know yet. */
export type SlotQueryAnswer =
  | { readonly kind: 'found'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'missing'; readonly key: Uint8Array }
  | { readonly kind: 'restoring'; readonly key: Uint8Array }
  | { readonly kind: 'unknown-state'; readonly key: Uint8Array }

/** Answers in the order of the keys (or of the scan). */
export interface SlotQueryReply {
  readonly id: number
  readonly answers: readonly SlotQueryAnswer[]
  /** The key that a scan continues from when it ended early. */
  readonly resume?: Uint8Array | undefined
}

/** Keyed state as query threads see it, through its slot. */
export interface QueriedState {
  /** Answers without a pause. Throws as `answerInSteps`. */
  answer(request: SlotQueryRequest): SlotQueryReply
  /** Answers a query thread's batch in steps of some microseconds each. Throws STORE_FAILED. */
  answerInSteps(request: SlotQueryRequest): Generator<void, SlotQueryReply>
}
