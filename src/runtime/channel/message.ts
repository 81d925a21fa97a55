import type { Barrier } from '../checkpoint/protocol/checkpoint-types.ts'
import type { OwnRecords } from './own-records.ts'
import type { ProgressReport } from './progress-combiner.ts'

/**
 * Source positions of the records of a batch: triples (index of the first record, place, shift), a
 * place as `placeOf` makes it.
 * A record's source offset is its offset in the batch plus the shift; partition -1 marks records that
 * come from no source record (timers).
 */
export type PositionRuns = readonly number[]

/** Channel of a batch that was restored from a checkpoint, which no sender waits for. */
export const RESTORED = -1

/**
 * Encoded records: a record batch (magic 2) at the start of its own buffer. Records that stay in the thread are
 * `OwnRecords` where no barrier overtakes them.
 */
export interface BatchMessage {
  readonly kind: 'batch'
  readonly channel: number
  readonly buffer: ArrayBuffer
  /** Bytes of the batch; the buffer may be larger. */
  readonly length: number
  readonly records: number
  readonly positions: PositionRuns
  /**
   * Values by the index of their record, of records that stay in the thread: copies that belong to the
   * receiver. A record with such a value has none in the batch. Undefined when all values are encoded.
   */
  readonly objects: readonly unknown[] | undefined
}

/** Messages that travel between the batches, in order. */
export type ControlMessage =
  /** No record follows whose timestamp is at most this one. */
  | { readonly kind: 'watermark'; readonly channel: number; readonly timestamp: number }
  /** Whether the sender still counts for the receiver's watermark. */
  | { readonly kind: 'idle'; readonly channel: number; readonly idle: boolean }
  /** Every record of the source partition before `nextOffset` was sent. */
  | { readonly kind: 'progress'; readonly channel: number; readonly report: ProgressReport }
  /** Every record that the source had when the attempt started was sent. */
  | { readonly kind: 'loaded'; readonly channel: number; readonly source: number }
  | { readonly kind: 'barrier'; readonly channel: number; readonly barrier: Barrier }
  /** The checkpoint was aborted upstream. */
  | { readonly kind: 'cancel'; readonly channel: number; readonly checkpointId: number }
  /** No record follows; barriers may still follow. */
  | { readonly kind: 'end'; readonly channel: number }

/** Sender to receiver. */
export type ForwardMessage = BatchMessage | OwnRecords | ControlMessage

/** What a receiver gives back when it has read a batch, so that it is filled again. */
export type BatchSpace = ArrayBuffer | OwnRecords

/** Receiver to sender: the sender may send one more batch, and may use the space of this one again. */
export interface CreditMessage {
  readonly kind: 'credit'
  readonly channel: number
  readonly space: BatchSpace
}

/** Anything on a channel between two slots. */
export type ChannelMessage = ForwardMessage | CreditMessage
