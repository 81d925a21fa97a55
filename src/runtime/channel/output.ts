import { placeOf, type SourcePosition } from '../../core/position.ts'
import type { ShapeWriter } from '../../core/shapes/writer.ts'
import { RecordBatchWriter } from '../../wire/batch/record-batch-writer.ts'
import type { BatchMessage, BatchSpace, ControlMessage, ForwardMessage } from './message.ts'
import { OwnRecords } from './own-records.ts'

/** Space after the limit for the record that crosses it. */
const SLACK_BYTES = 4096
const LARGEST_DELTA = 2 ** 31 - 1
const NO_VALUE = new Uint8Array(0)
const NO_CHECKSUM = { checksum: false } as const

/** A subtask as its output channels see it. */
export interface ChannelOwner {
  /** Number of channels with a full batch that waits for credit. */
  blockedChannels: number
  /** Position of the record being processed, changed in place. */
  readonly currentPosition: SourcePosition
  /** Bytes sent so far. */
  bytesOut: number
  /** Records sent so far. */
  recordsEmitted: number
}

/** Sends a message of an output channel. */
export type SendMessage = (message: ForwardMessage) => void

/** Options of an output channel. */
export interface OutputChannelOptions {
  readonly id: number
  readonly owner: ChannelOwner
  readonly send: SendMessage
  /** Bytes at which a batch is sent. */
  readonly batchBytes: number
  /** Batches that may be sent before the receiver returns one. */
  readonly credits: number
  /** Whether the receiver runs in the same thread, so that values need no encoding. @default false */
  readonly isLocal?: boolean
  /** Whether barriers of unaligned checkpoints overtake records at the receiver. @default false */
  readonly overtakes?: boolean
  /** Whether records stay as they are: only of a local channel that no barrier overtakes. @default false */
  readonly keepsRecords?: boolean
}

/**
 * The sending end of a channel: encodes records into batches and sends them while it has credit.
 * A full batch without credit waits and blocks the subtask. At most what the processing of one record
 * emits is added to it.
 */
export class OutputChannel {
  readonly id: number
  /** Whether the receiver runs in the same thread, so that it takes objects. */
  readonly isLocal: boolean
  /** Whether barriers of unaligned checkpoints overtake records at the receiver. */
  readonly overtakes: boolean
  /** Collects records that stay as they are, where `keepsRecords`; then nothing is appended to the channel itself. */
  own: OwnRecords | undefined
  /** The writer of values for another thread; made with the first of them. */
  shapes: ShapeWriter | undefined
  /** Appends what an output holds back; called before a control message, with it, and before a flush. */
  beforeSending: ((message?: ControlMessage) => void) | undefined
  private readonly owner: ChannelOwner
  private readonly send: SendMessage
  private readonly batchBytes: number
  private readonly writer: RecordBatchWriter
  private readonly spare: BatchSpace[] = []
  private readonly backlog: ForwardMessage[] = []
  private readonly mostSpare: number
  private credits: number
  private waitingBatches = 0
  /** Whether it blocks the subtask: batches wait, or were sent beyond the credit. */
  private blocks = false
  private positions: number[] = []
  private partition = -2
  private source: number | undefined = 0
  private shift = 0
  private lastDelta = -1
  private objects: unknown[] | undefined
  /** About how many bytes of heap the collected objects take. */
  private objectBytes = 0

  constructor(options: OutputChannelOptions) {
    const { id, owner, send, batchBytes, credits, isLocal = false, overtakes = false } = options
    const { keepsRecords = false } = options
    this.id = id
    this.overtakes = overtakes
    this.isLocal = isLocal
    this.owner = owner
    this.send = send
    this.batchBytes = batchBytes
    this.credits = credits
    this.mostSpare = credits + 1
    this.own = keepsRecords ? new OwnRecords(id, owner.currentPosition) : undefined
    this.writer = new RecordBatchWriter(keepsRecords ? 0 : batchBytes + SLACK_BYTES)
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
    const delta = this.nextDelta()
    this.writer.appendSlices(key, 0, keyLength, value, 0, valueLength, timestamp, delta)
    if (this.writer.size + this.objectBytes >= this.batchBytes) this.finishBatch()
  }

  /**
   * Appends a record whose value stays an object, of about `bytes` of heap, which then belongs to the
   * receiver. Only of a local channel.
   */
  appendObject(
    key: Uint8Array,
    keyLength: number,
    object: unknown,
    bytes: number,
    timestamp: number,
  ): void {
    this.objects ??= []
    this.objects[this.writer.count] = object
    this.objectBytes += bytes
    this.append(key, keyLength, NO_VALUE, -1, timestamp)
  }

  /** A record was added to `own`. */
  added(): void {
    this.owner.recordsEmitted += 1
    if (this.own!.length >= this.batchBytes) this.finishBatch()
  }

  /** Offset delta of the next record, which begins a run when it does not follow the one before. */
  private nextDelta(): number {
    const position = this.owner.currentPosition
    let delta = position.offset - this.shift
    if (position.partition !== this.partition || position.source !== this.source) {
      delta = this.startRun(position)
    } else if (this.partition < 0) delta = this.lastDelta + 1
    else if (delta <= this.lastDelta || delta > LARGEST_DELTA) delta = this.startRun(position)
    this.lastDelta = delta
    this.owner.recordsEmitted += 1
    return delta
  }

  /** Sends a control message after all records so far. */
  control(message: ControlMessage): void {
    this.beforeSending?.(message)
    if (this.collected > 0) this.finishBatch()
    if (this.waitingBatches === 0) this.send(message)
    else this.backlog.push(message)
  }

  /** Sends the collected records if there is credit for them. */
  flush(): void {
    this.beforeSending?.()
    if (this.collected > 0 && this.credits > 0 && this.waitingBatches === 0) this.finishBatch()
  }

  /** The receiver has consumed a batch. */
  credit(space: BatchSpace): void {
    this.credits += 1
    if (space instanceof OwnRecords) space.reset()
    if (this.spare.length < this.mostSpare) this.spare.push(space)
    if (this.waitingBatches > 0) this.drain()
    else if (this.blocks) this.updateBlocks()
  }

  /**
   * Sends what waits in front of the barrier of a checkpoint, and the barrier, without credit: then the receiver
   * can save what the barrier overtakes. The subtask stays blocked until the credits are back.
   */
  sendUpTo(checkpointId: number): void {
    const last = this.backlog.findIndex(
      (message) => message.kind === 'barrier' && message.barrier.checkpointId === checkpointId,
    )
    for (const message of this.backlog.splice(0, last + 1)) {
      if (isBatch(message)) {
        this.credits -= 1
        this.waitingBatches -= 1
      }
      this.send(message)
    }
    this.drain()
  }

  private startRun(position: SourcePosition): number {
    const delta = this.lastDelta + 1
    const { partition, source } = position
    this.partition = partition
    this.source = source
    this.shift = position.offset - delta
    this.positions.push(this.writer.count, placeOf(source ?? 0, partition), this.shift)
    return delta
  }

  /** Records that were not sent yet. */
  private get collected(): number {
    return this.own?.records ?? this.writer.count
  }

  private finishBatch(): void {
    const message = this.own === undefined ? this.takeEncoded() : this.takeOwn(this.own)
    this.owner.bytesOut += message.length
    if (this.waitingBatches === 0 && this.credits > 0) {
      this.credits -= 1
      this.send(message)
      return
    }
    this.backlog.push(message)
    this.waitingBatches += 1
    this.updateBlocks()
  }

  private takeOwn(own: OwnRecords): OwnRecords {
    const spare = this.spare.pop()
    this.own =
      spare instanceof OwnRecords ? spare : new OwnRecords(this.id, this.owner.currentPosition)
    return own
  }

  private takeEncoded(): BatchMessage {
    const records = this.writer.count
    const spare = this.spare.pop()
    const bytes = this.writer.take(NO_CHECKSUM, spare instanceof OwnRecords ? undefined : spare)
    const { positions, objects } = this
    this.positions = []
    this.objects = undefined
    this.objectBytes = 0
    this.partition = -2
    this.lastDelta = -1
    const { buffer, length } = bytes
    return { kind: 'batch', channel: this.id, buffer, length, records, positions, objects }
  }

  private drain(): void {
    let sent = 0
    for (const message of this.backlog) {
      if (isBatch(message)) {
        if (this.credits <= 0) break
        this.credits -= 1
        this.waitingBatches -= 1
      }
      this.send(message)
      sent += 1
    }
    this.backlog.splice(0, sent)
    this.updateBlocks()
  }

  private updateBlocks(): void {
    const blocks = this.waitingBatches > 0 || this.credits < 0
    if (blocks === this.blocks) return
    this.blocks = blocks
    this.owner.blockedChannels += blocks ? 1 : -1
  }
}

function isBatch(message: ForwardMessage): boolean {
  return message.kind === 'batch' || message.kind === 'own'
}
