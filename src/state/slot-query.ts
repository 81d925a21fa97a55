/**
 * What a query thread asks the slot that owns a key, in batches, and what it gets back. Only state
 * that cannot be read in place travels this way: typed state, and rows that were spilled.
 */
export type SlotQueryRequest =
  /** Encoded values of a typed queryable state. */
  | {
      readonly kind: 'values'
      readonly id: number
      readonly queryableName: string
      readonly keys: readonly Uint8Array[]
    }
  /** Rows of a vector state, spilled ones included. */
  | {
      readonly kind: 'rows'
      readonly id: number
      readonly operatorUid: string
      readonly state: string
      readonly version: number
      readonly keys: readonly Uint8Array[]
      /** The asker needs the rows in memory, with their images; else hot ones come in. */
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

/** One answer: the value's bytes, or that the owner has none, or that it cannot tell yet. */
export type SlotQueryAnswer =
  | { readonly kind: 'found'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'missing'; readonly key: Uint8Array }
  | { readonly kind: 'restoring'; readonly key: Uint8Array }
  | { readonly kind: 'unknown-state'; readonly key: Uint8Array }

/** Answers in the order of the keys (or of the scan). */
export interface SlotQueryReply {
  readonly id: number
  readonly answers: readonly SlotQueryAnswer[]
}
