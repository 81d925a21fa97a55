import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../core/key-group.ts'
import type { Serializer } from '../../../core/serializer.ts'
import { MIN_TIMESTAMP } from '../../../core/time.ts'
import type { Partitioning } from '../../../dataflow/stream-graph.ts'
import { SinkOperator } from '../../../operators/basic/sink.ts'
import { refusePromise } from '../../../operators/port/refuse-promise.ts'
import type { Sink } from '../../../operators/port/sink.ts'
import type { ExchangeKind } from './exchange-format.ts'

/** A record on its way to an exchange topic. One object is used for all records of a sender. */
export interface ExchangeMessage {
  kind: ExchangeKind
  /** Job partition that sends it. */
  readonly sender: number
  /** Event time or watermark, ms. */
  time: number
  /** Wall clock of the sender, ms since 1970. */
  sentMs: number
  key: Uint8Array | null
  value: unknown
  /** Job partition that gets it. */
  receiver: number
}

/** Options of an exchange sender. */
export interface ExchangeSenderOptions {
  readonly sink: Sink<ExchangeMessage>
  readonly jobName: string
  readonly partitioning: Partitioning
  /** Number of job partitions. */
  readonly partitions: number
  /** Max parallelism of the receivers. */
  readonly maxParallelism: number
  /** Job partition of this sender. */
  readonly partition: number
}

/**
 * An operator that sends the records of one edge to the job partitions that need them, through a topic: with
 * each barrier also its watermark, so that a receiver knows what is complete.
 */
export class ExchangeSender extends SinkOperator<ExchangeMessage> {
  private readonly options: ExchangeSenderOptions
  private readonly receiversOf: (value: unknown) => readonly number[]
  private readonly message: ExchangeMessage
  private readonly everyone: readonly number[]
  private watermark = MIN_TIMESTAMP
  private isIdle = false
  /** What the receivers know of this sender: its watermark, or that it is idle. */
  private said: number | 'idle' = MIN_TIMESTAMP

  constructor(options: ExchangeSenderOptions) {
    super(options.sink, options.jobName)
    this.options = options
    const empty = { time: 0, sentMs: 0, key: null, value: undefined, receiver: 0 }
    this.message = { ...empty, kind: 'record', sender: options.partition }
    this.everyone = Array.from({ length: options.partitions }, (_, receiver) => receiver)
    this.receiversOf = this.receivers()
  }

  override processElement(_input: number, value: unknown, timestamp: number): void {
    const { message } = this
    message.kind = 'record'
    message.key = null
    message.value = value
    message.time = timestamp
    message.sentMs = this.context.clock.nowMs()
    this.sendTo(this.receiversOf(value))
  }

  override processWatermark(watermark: number): void {
    this.watermark = watermark
  }

  inputIdle(idle: boolean): void {
    this.isIdle = idle
  }

  override async prepareSnapshot(checkpointId: number): Promise<void> {
    this.sendWatermark()
    await super.prepareSnapshot(checkpointId)
  }

  /** Sends the watermark where it has changed: a receiver stores what it knows. */
  private sendWatermark(): void {
    const { message, watermark, isIdle } = this
    const state = isIdle ? 'idle' : watermark
    if (state === this.said || state === MIN_TIMESTAMP) return
    this.said = state
    message.kind = isIdle ? 'idle' : 'watermark'
    message.key = null
    message.value = undefined
    message.time = isIdle ? 0 : watermark
    message.sentMs = this.context.clock.nowMs()
    this.sendTo(this.everyone)
  }

  private sendTo(receivers: readonly number[]): void {
    const { message } = this
    for (const receiver of receivers) {
      message.receiver = receiver
      super.processElement(0, message, message.time)
    }
  }

  private receivers(): (value: unknown) => readonly number[] {
    const { partitioning, partitions, partition } = this.options
    switch (partitioning.kind) {
      case 'hash':
        return this.ownersOf(partitioning)
      case 'broadcast':
        return () => this.everyone
      case 'custom':
        return (value) => [requireReceiver(partitioning.partition(value, partitions), partitions)]
      case 'global':
        return () => [0]
      default: {
        let next = partition
        return () => [next++ % partitions]
      }
    }
  }

  private ownersOf({
    keySelector,
    keySerializer,
  }: {
    readonly keySelector: (value: unknown) => unknown
    readonly keySerializer: Serializer<unknown>
  }): (value: unknown) => readonly number[] {
    const { partitions, maxParallelism } = this.options
    const key = new ByteWriter(64)
    const owner = [0]
    return (value) => {
      key.reset()
      keySerializer.write(keySelector(value), key)
      const bytes = key.bytes.subarray(0, key.length)
      this.message.key = bytes
      owner[0] = subtaskOfKeyGroup(keyGroupOf(bytes, maxParallelism), partitions, maxParallelism)
      return owner
    }
  }
}

/** The number of a receiver as a function has chosen it. Throws INVALID_ARGUMENT. */
function requireReceiver(receiver: unknown, partitions: number): number {
  if (
    Number.isInteger(receiver) &&
    (receiver as number) >= 0 &&
    (receiver as number) < partitions
  ) {
    return receiver as number
  }
  refusePromise(receiver, 'the function of partitionCustom')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the function of partitionCustom returned ${receiver}: return a whole number from 0 to ${partitions - 1}`,
  )
}
