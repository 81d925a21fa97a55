import { ByteReader } from '../../core/byte-reader.ts'
import { keyGroupOfHash } from '../../core/key-group.ts'
import type { Counter } from '../../core/metrics.ts'
import { partitionOfPlace, sourceOfPlace } from '../../core/position.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { KeyedInput } from '../../state/port/keyed-input.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { FrequentKeyReader } from '../channel/frequent-key-reader.ts'
import {
  type BatchMessage,
  type BatchSpace,
  type ControlMessage,
  RESTORED,
} from '../channel/message.ts'
import type { OwnRecords } from '../channel/own-records.ts'
import { RecordGroup } from '../channel/record-group.ts'
import { StepSize } from '../pacing/step-size.ts'
import { TableLoad } from '../source/loads.ts'
import { ChannelControl, type ChannelControlOptions, type ChannelRole } from './channel-control.ts'
import type { SubtaskInput } from './input.ts'
import type { OperatorTask } from './operator-task.ts'
import type { Subtask } from './subtask.ts'

/** Returns the space of a consumed batch, and with it a credit, to the sender. */
export type ReturnCredit = (channel: number, space: BatchSpace) => void

/** Options of an input processor. */
export interface InputProcessorOptions extends ChannelControlOptions {
  readonly returnCredit: ReturnCredit
}

/** Longest key in bytes that is copied into a reused view. */
const LONGEST_SCRATCH = 64
const NO_BYTES = new Uint8Array(0)

/** Input of a subtask from channels: decodes batches in place and passes on control messages. */
export class InputProcessor implements SubtaskInput {
  /** Records by key group, estimated; undefined before the first keyed record. */
  keyGroupRecords: Float64Array | undefined
  private readonly subtask: Subtask
  private readonly task: OperatorTask
  private readonly roles: readonly ChannelRole[]
  private readonly returnCredit: ReturnCredit
  private readonly control: ChannelControl
  /** Undefined where no channel comes first. */
  private readonly load: TableLoad | undefined
  private readonly recordsIn: Counter
  private readonly bytesIn: Counter
  private readonly reader = new RecordBatchReader()
  private values = new ByteReader(NO_BYTES)
  private readonly scratch: Uint8Array[] = []
  private readonly stepSize = new StepSize()
  /** The batch that is being read. */
  private batch: BatchMessage | OwnRecords | undefined
  /** Values of an encoded batch that were not encoded. */
  private objects: readonly unknown[] | undefined
  /** Role of the channel from which the batch came. */
  private role: ChannelRole
  /** Reads the values of the batch. */
  private batchValues: Pick<Serializer<unknown>, 'read'>
  /** Reads the keys of the batch, of an edge that remembers frequent ones. */
  private batchKeys: FrequentKeyReader | undefined
  /** Batches restored from a checkpoint that were not taken yet; nothing else is taken before. */
  private restoredBatches = 0
  /** Decoded records of an encoded batch. */
  private readonly decoded = new RecordGroup()
  /** The next records of the batch, decoded or its own; `groupAt` is the next one to process. */
  private group = this.decoded
  private groupAt = 0
  private groupsRead = 0
  private recordIndex = 0
  private runAt = 0
  private nextRunIndex = 0
  private runPartition = -1
  private runShift = 0
  private turn = 0

  constructor(subtask: Subtask, options: InputProcessorOptions) {
    const { task, roles, returnCredit } = options
    this.subtask = subtask
    this.task = task
    this.roles = roles
    this.role = roles[0]!
    this.batchValues = this.role.values
    for (const { channel } of roles) this.restoredBatches += channel.length
    this.returnCredit = returnCredit
    this.control = new ChannelControl(subtask, options)
    if (roles.some(({ loadsFirst }) => loadsFirst)) {
      this.load = new TableLoad(subtask, task.node.uid)
    }
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
      if (this.batch !== undefined) this.readGuarded()
    } while (subtask.canProcess() && subtask.clock.monotonicMs() < untilMs)
    return worked
  }

  takeBarrier(): boolean {
    if (this.batch !== undefined || this.restoredBatches > 0) return false
    for (const role of this.roles) {
      const barrier = role.channel.takeBarrier()
      if (barrier === undefined) continue
      this.control.process(role, barrier)
      return true
    }
    return false
  }

  tick(): void {}

  nextTickMs(): undefined {
    return undefined
  }

  async close(): Promise<void> {}

  overtaken(checkpointId: number): Promise<readonly Uint8Array[]> | undefined {
    const records = this.control.overtaken(checkpointId)
    if (records === undefined) return undefined
    if (this.batch?.kind === 'batch') {
      this.batch = records.copy(this.role, this.batch, this.recordIndex)
      this.objects = this.batch.objects
    }
    records.capture(this.roles)
    return records.entries
  }

  /** The coordinator aborted a checkpoint. */
  aborted(checkpointId: number): void {
    this.control.aborted(checkpointId)
  }

  /** Takes the next message, from the channels in turn; false when none can be taken. */
  private takeMessage(): boolean {
    const count = this.roles.length
    for (let i = 0; i < count; i++) {
      const role = this.roles[(this.turn + i) % count]!
      if (!role.channel.readable) continue
      if (this.restoredBatches > 0 && !role.channel.holdsRestored) continue
      this.turn = (this.turn + i + 1) % count
      const message = role.channel.take()
      if (message.kind === 'batch') this.openBatch(role, message)
      else if (message.kind === 'own') this.openOwn(role, message)
      else this.processControl(role, message)
      return true
    }
    return false
  }

  private processControl(role: ChannelRole, message: ControlMessage): void {
    this.control.process(role, message)
    if (this.load !== undefined && this.control.isLoaded) this.load.end()
  }

  private openBatch(role: ChannelRole, message: BatchMessage): void {
    const bytes = new Uint8Array(message.buffer, 0, message.length)
    this.reader.open(bytes, 0, false)
    this.objects = message.objects
    const isRestored = message.channel === RESTORED
    if (isRestored) this.restoredBatches -= 1
    this.batchValues = isRestored ? role.serializer : role.values
    this.batchKeys = isRestored ? undefined : role.keys
    this.begin(role, message, this.reader.bytes)
  }

  private openOwn(role: ChannelRole, records: OwnRecords): void {
    this.objects = undefined
    this.batchValues = role.serializer
    this.begin(role, records, records.bytes)
  }

  private begin(role: ChannelRole, batch: BatchMessage | OwnRecords, bytes: Uint8Array): void {
    this.role = role
    this.batch = batch
    this.values = new ByteReader(bytes)
    this.recordIndex = 0
    this.group = this.decoded
    this.group.count = 0
    this.groupAt = 0
    this.runAt = 0
    this.nextRunIndex = 0
    this.bytesIn.value += batch.length
  }

  /** As `readSome`, and says what the operator worked on if it throws. */
  private readGuarded(): void {
    try {
      this.readSome()
    } catch (error) {
      throw this.task.blame(error, this.group.timestamps[this.groupAt - 1])
    }
  }

  /** Processes records of the open batch until its end or until the clock must be read. */
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
      if (subtask.hasLimits && !subtask.canProcess()) break
    }
    this.recordsIn.value += done
    const emitted = subtask.recordsEmitted - emittedBefore
    this.stepSize.observe(done, subtask.clock.monotonicMs() - startMs, Math.max(emitted, done))
  }

  /** Decodes the next records of the batch together; false when there is none. */
  private nextGroup(): boolean {
    const { batch, role } = this
    this.groupAt = 0
    if (batch!.kind === 'batch') this.decoded.fill(this.reader, role.keyed, this.batchKeys)
    else this.group = batch!.take() ?? this.decoded
    const { group } = this
    if (group.count === 0) return false
    if (role.keyed) {
      this.countKeyGroup()
      this.task.keyedState!.backend.readAhead(group)
    }
    return true
  }

  /** Counts the records of a group for the key group of one of them, a different one each time. */
  private countKeyGroup(): void {
    const { group } = this
    const { maxParallelism } = this.task.keyedState!.backend
    this.keyGroupRecords ??= new Float64Array(maxParallelism)
    const chosen = this.groupsRead++ % group.count
    const keyGroup = keyGroupOfHash(group.hashes[chosen]!, maxParallelism)
    this.keyGroupRecords[keyGroup]! += group.count
  }

  private processRecord(at: number): void {
    const { group, role, values } = this
    if (this.recordIndex === this.nextRunIndex) this.nextRun()
    this.recordIndex += 1
    const position = this.subtask.currentPosition
    position.partition = this.runPartition
    position.offset = this.runPartition < 0 ? 0 : group.offsets[at]! + this.runShift
    if (role.keyed) this.selectKey(at)
    let value = this.objects === undefined ? group.objects[at] : this.objects[this.recordIndex - 1]
    if (value === undefined) {
      const start = group.valueStarts[at]!
      values.span(start, start + group.valueLengths[at]!)
      value = this.batchValues.read(values)
    }
    this.task.operator.processElement(role.channel.input, value, group.timestamps[at]!)
  }

  /** Selects the key of a record; a short one is copied into a view of its length, so that no view is made per record. */
  private selectKey(at: number): void {
    const state: KeyedInput = this.task.keyedState!.backend
    const frequent = this.group.frequent[at]
    if (frequent !== undefined) {
      state.setFrequentKey(frequent)
      return
    }
    const { bytes } = this.group
    const keyStart = this.group.keyStarts[at]!
    const keyLength = this.group.keyLengths[at]!
    const group = keyGroupOfHash(this.group.hashes[at]!, state.maxParallelism)
    if (keyLength > LONGEST_SCRATCH) {
      state.setKeyAhead(bytes.subarray(keyStart, keyStart + keyLength), group, at)
      return
    }
    let key = this.scratch[keyLength]
    if (key === undefined) {
      key = new Uint8Array(keyLength)
      this.scratch[keyLength] = key
    }
    for (let i = 0; i < keyLength; i++) key[i] = bytes[keyStart + i]!
    state.setKeyAhead(key, group, at)
  }

  private nextRun(): void {
    const runs = this.batch!.positions
    const place = runs[this.runAt + 1]!
    this.runPartition = partitionOfPlace(place)
    this.subtask.currentPosition.source = sourceOfPlace(place)
    this.runShift = runs[this.runAt + 2]!
    this.runAt += 3
    this.nextRunIndex = this.runAt < runs.length ? runs[this.runAt]! : -1
  }

  private closeBatch(): void {
    const batch = this.batch!
    this.batch = undefined
    this.objects = undefined
    this.subtask.clearPosition()
    const space = batch.kind === 'own' ? batch : batch.buffer
    if (batch.channel !== RESTORED) this.returnCredit(batch.channel, space)
  }
}
