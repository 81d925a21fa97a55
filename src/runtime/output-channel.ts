import { RecordBatchWriter } from '../batch/record-batch-writer.ts'
import type { SourcePosition } from '../core/position.ts'
import type { BatchMessage, ControlMessage, ForwardMessage } from './channel-message.ts'

/** Room behind the limit for the record that crosses it. */
const SLACK_BYTES = 4096
const LARGEST_DELTA = 2 ** 31 - 1
const NO_CHECKSUM = { checksum: false } as const

/** A subtask as its output channels see it: how many of them hold a batch that has no credit. */
export interface ChannelOwner {
  blockedChannels: number
  /** Position of the record being processed, changed in place. */
  readonly currentPosition: SourcePosition
  /** Bytes sent so far. */
  bytesOut: number
  /** Records sent so far. */
  recordsEmitted: number
}

/** Where an output channel's messages go. */
export type SendMessage = (message: ForwardMessage) => void

/**
 * The sending end of a channel: encodes records into batches and sends them while it has credit.
 * A full batch without credit waits and blocks the subtask; at most what one record's processing
 * emits waits on top of it.
 */
export class OutputChannel {
  readonly id: number
  private readonly owner: ChannelOwner
  private readonly send: SendMessage
  private readonly batchBytes: number
  private readonly writer: RecordBatchWriter
  private readonly spare: ArrayBuffer[] = []
  private readonly backlog: ForwardMessage[] = []
  private readonly mostSpare: number
  private credits: number
  private waitingBatches = 0
  private positions: number[] = []
  private partition = -2
  private shift = 0
  private lastDelta = -1

  constructor(
    id: number,
    owner: ChannelOwner,
    send: SendMessage,
    options: { readonly batchBytes: number; readonly credits: number },
  ) {
    this.id = id
    this.owner = owner
    this.send = send
    this.batchBytes = options.batchBytes
    this.credits = options.credits
    this.mostSpare = options.credits
    this.writer = new RecordBatchWriter(options.batchBytes + SLACK_BYTES)
  }

  /** Batches that wait for credit. */
  get waiting(): number {
    return this.waitingBatches
  }

  /** Appends a record; a key length of -1 means that the edge has no key. */
  append(
    key: Uint8Array,
    keyLength: number,
    value: Uint8Array,
    valueLength: number,
    timestamp: number,
  ): void {
    const position = this.owner.currentPosition
    let delta = position.offset - this.shift
    if (position.partition !== this.partition) delta = this.startRun(position)
    else if (this.partition < 0) delta = this.lastDelta + 1
    else if (delta <= this.lastDelta || delta > LARGEST_DELTA) delta = this.startRun(position)
    this.lastDelta = delta
    this.owner.recordsEmitted += 1
    this.writer.appendSlices(key, 0, keyLength, value, 0, valueLength, timestamp, delta)
    if (this.writer.size >= this.batchBytes) this.finishBatch()
  }

  /** Sends a control message behind every record so far. */
  control(message: ControlMessage): void {
    if (this.writer.count > 0) this.finishBatch()
    if (this.waitingBatches === 0) this.send(message)
    else this.backlog.push(message)
  }

  /** Sends what has been collected, unless there is no credit for it. */
  flush(): void {
    if (this.writer.count > 0 && this.credits > 0 && this.waitingBatches === 0) this.finishBatch()
  }

  /** The receiver has consumed a batch. */
  credit(buffer: ArrayBuffer): void {
    this.credits += 1
    if (this.spare.length < this.mostSpare) this.spare.push(buffer)
    if (this.waitingBatches > 0) this.drain()
  }

  private startRun(position: SourcePosition): number {
    const delta = this.lastDelta + 1
    this.partition = position.partition
    this.shift = position.offset - delta
    this.positions.push(this.writer.count, this.partition, this.shift)
    return delta
  }

  private finishBatch(): void {
    const records = this.writer.count
    const bytes = this.writer.take(NO_CHECKSUM, this.spare.pop())
    const message: BatchMessage = {
      kind: 'batch',
      channel: this.id,
      buffer: bytes.buffer,
      length: bytes.length,
      records,
      positions: this.positions,
    }
    this.positions = []
    this.partition = -2
    this.lastDelta = -1
    this.owner.bytesOut += bytes.length
    if (this.waitingBatches === 0 && this.credits > 0) {
      this.credits -= 1
      this.send(message)
      return
    }
    this.backlog.push(message)
    this.waitingBatches += 1
    if (this.waitingBatches === 1) this.owner.blockedChannels += 1
  }

  private drain(): void {
    let sent = 0
    for (const message of this.backlog) {
      if (message.kind === 'batch') {
        if (this.credits === 0) break
        this.credits -= 1
        this.waitingBatches -= 1
      }
      this.send(message)
      sent += 1
    }
    this.backlog.splice(0, sent)
    if (this.waitingBatches === 0) this.owner.blockedChannels -= 1
  }
}
