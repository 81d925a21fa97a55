import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'

/**
 * Which source records the records of a batch came from: triples (index of the first record,
 * partition, shift). A record's source offset is its offset in the batch plus the shift; partition
 * -1 marks records that no source record caused (timers).
 */
export type PositionRuns = readonly number[]

/** Encoded records under way: a record batch (magic 2) at the start of its own buffer. */
export interface BatchMessage {
  readonly kind: 'batch'
  readonly channel: number
  readonly buffer: ArrayBuffer
  /** Bytes of the batch; the buffer may be larger. */
  readonly length: number
  readonly records: number
  readonly positions: PositionRuns
}

/** What travels beside the records, in the same order. */
export type ControlMessage =
  /** No record with a smaller or equal timestamp follows. */
  | { readonly kind: 'watermark'; readonly channel: number; readonly timestamp: number }
  /** Whether the sender still counts for the receiver's watermark. */
  | { readonly kind: 'idle'; readonly channel: number; readonly idle: boolean }
  /** Every record of the source partition below `nextOffset` was sent. */
  | {
      readonly kind: 'progress'
      readonly channel: number
      readonly partition: number
      readonly nextOffset: number
      readonly asOfMs: number
    }
  | { readonly kind: 'barrier'; readonly channel: number; readonly barrier: Barrier }
  /** The checkpoint was given up upstream. */
  | { readonly kind: 'cancel'; readonly channel: number; readonly checkpointId: number }
  /** No record follows; barriers still may. */
  | { readonly kind: 'end'; readonly channel: number }

/** Sender to receiver. */
export type ForwardMessage = BatchMessage | ControlMessage

/** Receiver to sender: one more batch may come; the buffer may be used again. */
export interface CreditMessage {
  readonly kind: 'credit'
  readonly channel: number
  readonly buffer: ArrayBuffer
}

/** Anything between two slots. */
export type ChannelMessage = ForwardMessage | CreditMessage

/** One post between two slots: everything since the last one, in order. */
export type ChannelPost = readonly ChannelMessage[]
