import { WeirError } from '../../core/errors.ts'
import { type ChannelValues, copyRecords } from './batch-records.ts'
import { encodeInFlight, type InFlightRecord } from './in-flight-format.ts'
import type { InputChannel } from './input.ts'
import type { BatchMessage, ForwardMessage } from './message.ts'

/** A channel of a subtask that a barrier may overtake. */
export interface OvertakenChannel extends ChannelValues {
  readonly channel: InputChannel
  /** See `PlannedEdge.name`. */
  readonly edge: string
}

/**
 * The records that the barrier of one checkpoint has overtaken at one subtask: those that wait in front of it when
 * the snapshot is taken, and then those that come before it on channels where it is still on its way.
 */
export class OvertakenRecords {
  readonly checkpointId: number
  /** Resolves with one entry of operator state per channel with records; rejects when it was discarded. */
  readonly entries: Promise<readonly Uint8Array[]>
  /** Channels whose barrier was read before. */
  private readonly read: ReadonlySet<number>
  private readonly records = new Map<OvertakenChannel, InFlightRecord[]>()
  /** Channels on which the barrier is still on its way; undefined before the snapshot. */
  private awaited: Set<InputChannel> | undefined
  private isDiscarded = false
  private readonly resolve: (entries: readonly Uint8Array[]) => void
  private readonly reject: (error: WeirError) => void

  constructor(checkpointId: number, read: ReadonlySet<number>) {
    this.checkpointId = checkpointId
    this.read = read
    const { promise, resolve, reject } = Promise.withResolvers<readonly Uint8Array[]>()
    this.entries = promise
    this.resolve = resolve
    this.reject = reject
    promise.catch(() => undefined)
  }

  /** Copies what waits in front of the barrier, now that the state is fixed. */
  capture(channels: readonly OvertakenChannel[]): void {
    if (this.isDiscarded) return
    const awaited = new Set<InputChannel>()
    for (const from of channels) {
      if (this.read.has(from.channel.index)) continue
      const copy = (batch: BatchMessage): BatchMessage => this.copy(from, batch, 0)
      if (!from.channel.replaceBatches(this.checkpointId, copy)) awaited.add(from.channel)
    }
    this.awaited = awaited
    this.finishIfComplete()
  }

  /** Copies the records of a batch from an index on; returns the batch from which they are still processed. */
  copy(from: OvertakenChannel, batch: BatchMessage, first: number): BatchMessage {
    const copied = copyRecords(batch, first, from)
    const records = this.records.get(from)
    if (records === undefined) this.records.set(from, [...copied.records])
    else for (const record of copied.records) records.push(record)
    return copied.batch
  }

  /** Sees a message that comes into a queue; returns what the queue gets. */
  arrived(from: OvertakenChannel, message: ForwardMessage): ForwardMessage {
    if (this.awaited?.has(from.channel) !== true) return message
    if (message.kind === 'batch') return this.copy(from, message, 0)
    if (message.kind === 'barrier' && message.barrier.checkpointId === this.checkpointId) {
      this.awaited.delete(from.channel)
      this.finishIfComplete()
    }
    return message
  }

  /** The checkpoint does not complete: nothing more is copied. Later than the last record it changes nothing. */
  discard(reason: string): void {
    this.isDiscarded = true
    this.awaited = undefined
    this.records.clear()
    this.reject(
      new WeirError(
        'CHECKPOINT_DECLINED',
        `checkpoint ${this.checkpointId} ended before all its barriers had come: ${reason}`,
      ),
    )
  }

  private finishIfComplete(): void {
    if (this.awaited?.size !== 0) return
    const entries: Uint8Array[] = []
    for (const [{ edge, serializer }, records] of this.records) {
      if (records.length > 0)
        entries.push(encodeInFlight({ edge, serializer: serializer.id, records }))
    }
    this.records.clear()
    this.resolve(entries)
  }
}
