import { RecordBatchReader } from '../batch/record-batch-reader.ts'
import {
  type AlignmentStep,
  onAborted,
  onBarrier,
  onCancelMarker,
} from '../checkpoint/protocol/barrier-alignment.ts'
import { ByteReader } from '../core/byte-reader.ts'
import type { Counter } from '../core/metrics.ts'
import type { Serializer } from '../core/serializer.ts'
import type { BatchMessage, ControlMessage } from './channel-message.ts'
import type { InputChannel } from './input-channel.ts'
import type { OperatorTask } from './operator-task.ts'
import type { ProgressCombiner } from './progress-combiner.ts'
import { RecordGroup } from './record-group.ts'
import { StepSize } from './step-size.ts'
import type { Subtask } from './subtask.ts'
import type { SubtaskHead } from './subtask-head.ts'
import { WatermarkCombiner } from './watermark-combiner.ts'

/** What is known of an input channel besides its queue. */
export interface ChannelRole {
  readonly channel: InputChannel
  readonly serializer: Serializer<unknown>
  /** Records carry a key that selects keyed state. */
  readonly keyed: boolean
  /** Number of the edge for progress, -1 when it does not count; and the sender on it. */
  readonly progressEdge: number
  readonly sender: number
}

/** Returns a consumed batch's buffer, and with it a credit, to the sender. */
export type ReturnCredit = (channel: number, buffer: ArrayBuffer) => void

const LONGEST_SCRATCH = 64
const NO_BYTES = new Uint8Array(0)

/** Feeds a subtask from channels: decodes batches in place, aligns barriers, combines watermarks. */
export class ChannelHead implements SubtaskHead {
  private readonly subtask: Subtask
  private readonly task: OperatorTask
  private readonly roles: readonly ChannelRole[]
  private readonly returnCredit: ReturnCredit
  private readonly watermarks: WatermarkCombiner
  private readonly progress: ProgressCombiner
  private readonly recordsIn: Counter
  private readonly bytesIn: Counter
  private readonly reader = new RecordBatchReader()
  private values = new ByteReader(NO_BYTES)
  private readonly scratch: Uint8Array[] = []
  private readonly stepSize = new StepSize()
  /** The batch that is being read, and the channel that it came on. */
  private batch: BatchMessage | undefined
  private role: ChannelRole
  /** Records of the batch that were looked at, and the next of them to process. */
  private readonly group = new RecordGroup()
  private groupAt = 0
  private recordIndex = 0
  private runAt = 0
  private nextRunIndex = 0
  private runPartition = -1
  private runShift = 0
  private turn = 0

  constructor(
    subtask: Subtask,
    task: OperatorTask,
    roles: readonly ChannelRole[],
    progress: ProgressCombiner,
    returnCredit: ReturnCredit,
  ) {
    this.subtask = subtask
    this.task = task
    this.roles = roles
    this.role = roles[0]!
    this.progress = progress
    this.returnCredit = returnCredit
    this.watermarks = new WatermarkCombiner(roles.length)
    this.recordsIn = task.metrics.counter('numRecordsIn')
    this.bytesIn = subtask.metrics.counter('numBytesIn')
  }

  async start(): Promise<void> {}

  step(untilMs: number): boolean {
    const { subtask } = this
    let worked = false
    do {
      if (this.batch === undefined && !this.takeMessage()) break
      worked = true
      if (this.batch !== undefined) this.readSome()
    } while (subtask.canProcess() && subtask.clock.monotonicMs() < untilMs)
    return worked
  }

  tick(): void {}

  nextTickMs(): undefined {
    return undefined
  }

  async close(): Promise<void> {}

  /** The coordinator gave up a checkpoint. */
  aborted(checkpointId: number): void {
    this.apply(onAborted(this.subtask.alignment, checkpointId))
  }

  /** Takes the next message, round robin over the channels; false when none can be taken. */
  private takeMessage(): boolean {
    const count = this.roles.length
    for (let i = 0; i < count; i++) {
      const role = this.roles[(this.turn + i) % count]!
      if (!role.channel.readable) continue
      this.turn = (this.turn + i + 1) % count
      const message = role.channel.take()
      if (message.kind === 'batch') this.openBatch(role, message)
      else this.control(role, message)
      return true
    }
    return false
  }

  private openBatch(role: ChannelRole, message: BatchMessage): void {
    const bytes = new Uint8Array(message.buffer, 0, message.length)
    this.reader.open(bytes, 0, false)
    this.values = new ByteReader(this.reader.bytes)
    this.batch = message
    this.role = role
    this.recordIndex = 0
    this.group.count = 0
    this.groupAt = 0
    this.runAt = 0
    this.nextRunIndex = 0
    this.bytesIn.value += message.length
  }

  /** Processes records of the open batch until it is done or the clock must be looked at. */
  private readSome(): void {
    const { subtask } = this
    const limit = this.stepSize.records
    const startMs = subtask.clock.monotonicMs()
    const emittedBefore = subtask.recordsEmitted
    let done = 0
    while (done < limit) {
      if (this.groupAt === this.group.count && !this.nextGroup()) {
        this.closeBatch()
        break
      }
      done += 1
      this.processRecord(this.groupAt++)
      if (subtask.blockedChannels > 0) break
      if (subtask.hasGates && !subtask.canProcess()) break
    }
    this.recordsIn.value += done
    const emitted = subtask.recordsEmitted - emittedBefore
    this.stepSize.observe(done, subtask.clock.monotonicMs() - startMs, Math.max(emitted, done))
  }

  /** Looks at the next records of the batch together; false when there is none. */
  private nextGroup(): boolean {
    const { group, role } = this
    this.groupAt = 0
    if (group.fill(this.reader, role.keyed) === 0) return false
    if (role.keyed && group.count > 1) this.task.cell!.backend.readAhead(group)
    return true
  }

  private processRecord(at: number): void {
    const { group, role, values } = this
    if (this.recordIndex === this.nextRunIndex) this.nextRun()
    this.recordIndex += 1
    const position = this.subtask.currentPosition
    position.partition = this.runPartition
    position.offset = this.runPartition < 0 ? 0 : group.offsets[at]! + this.runShift
    if (role.keyed) this.selectKey(at)
    const start = group.valueStarts[at]!
    values.span(start, start + group.valueLengths[at]!)
    const value = role.serializer.read(values)
    this.task.operator.processElement(role.channel.input, value, group.timestamps[at]!)
  }

  /** Copies a short key into a view of its length, so that no view is made per record. */
  private selectKey(at: number): void {
    const { bytes } = this.reader
    const { backend } = this.task.cell!
    const keyStart = this.group.keyStarts[at]!
    const keyLength = this.group.keyLengths[at]!
    const group = (this.group.hashes[at]! >>> 0) % backend.maxParallelism
    if (keyLength > LONGEST_SCRATCH) {
      backend.setCurrentKey(bytes.subarray(keyStart, keyStart + keyLength), group)
      return
    }
    let key = this.scratch[keyLength]
    if (key === undefined) {
      key = new Uint8Array(keyLength)
      this.scratch[keyLength] = key
    }
    for (let i = 0; i < keyLength; i++) key[i] = bytes[keyStart + i]!
    backend.setCurrentKey(key, group)
  }

  private nextRun(): void {
    const runs = this.batch!.positions
    this.runPartition = runs[this.runAt + 1]!
    this.runShift = runs[this.runAt + 2]!
    this.runAt += 3
    this.nextRunIndex = this.runAt < runs.length ? runs[this.runAt]! : -1
  }

  private closeBatch(): void {
    const batch = this.batch!
    this.batch = undefined
    this.subtask.clearPosition()
    this.returnCredit(batch.channel, batch.buffer)
  }

  private control(role: ChannelRole, message: ControlMessage): void {
    const { channel } = role
    this.subtask.clearPosition()
    switch (message.kind) {
      case 'watermark':
        if (this.watermarks.advance(channel.index, message.timestamp)) this.forwardWatermark()
        return
      case 'idle':
        if (this.watermarks.setIdle(channel.index, message.idle)) this.forwardWatermark()
        this.task.setIdle(this.watermarks.idle)
        return
      case 'progress':
        this.forwardProgress(role, message)
        return
      case 'barrier':
        this.apply(onBarrier(this.subtask.alignment, channel.index, message.barrier, this.nowMs()))
        return
      case 'cancel':
        this.apply(onCancelMarker(this.subtask.alignment, message.checkpointId))
        return
      case 'end':
        this.endChannel(channel)
        return
    }
  }

  private forwardWatermark(): void {
    this.task.advanceWatermark(this.watermarks.watermark)
  }

  private forwardProgress(
    role: ChannelRole,
    message: Extract<ControlMessage, { kind: 'progress' }>,
  ): void {
    if (role.progressEdge < 0) return
    const { partition, nextOffset, asOfMs } = message
    const all = this.progress.report(role.progressEdge, role.sender, partition, nextOffset, asOfMs)
    if (all !== undefined) {
      this.subtask.reportProgress(partition, all.nextOffset, all.asOfMs)
    }
  }

  private endChannel(channel: InputChannel): void {
    channel.ended = true
    const others = this.roles.filter((role) => role.channel.input === channel.input)
    if (!others.every((role) => role.channel.ended)) return
    this.task.operator.endInput(channel.input)
    if (this.roles.every((role) => role.channel.ended)) this.subtask.end()
  }

  private apply(step: AlignmentStep): void {
    this.subtask.alignment = step.state
    for (const action of step.actions) {
      switch (action.kind) {
        case 'block':
          this.roles[action.channel]!.channel.blocked = true
          break
        case 'unblock':
          for (const index of action.channels) this.roles[index]!.channel.blocked = false
          this.subtask.host.wake()
          break
        case 'snapshot':
          this.subtask.host.snapshot(this.subtask, action.barrier, action.alignmentMs)
          break
        case 'abort':
          this.giveUp(action.checkpointId, action.reason)
          break
      }
    }
  }

  private giveUp(checkpointId: number, reason: string): void {
    this.subtask.control((channel) => ({ kind: 'cancel', channel, checkpointId }))
    if (reason !== 'coordinator') this.subtask.host.declined(this.subtask, checkpointId, reason)
  }

  private nowMs(): number {
    return this.subtask.clock.monotonicMs()
  }
}
