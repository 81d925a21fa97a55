import { ByteWriter } from '../core/byte-writer.ts'
import { subtaskOfKeyGroup } from '../core/key-group.ts'
import type { Counter } from '../core/metrics.ts'
import { murmur3 } from '../core/murmur3.ts'
import type { Serializer } from '../core/serializer.ts'
import type { Output, StreamOperator } from '../operators/operator.ts'
import { blame } from './operator-failure.ts'
import type { OperatorTask } from './operator-task.ts'
import type { OutputChannel } from './output-channel.ts'

/** Where the records of one edge go. Concrete classes keep the call per record monomorphic. */
export interface RecordOutput {
  collect(value: unknown, timestamp: number): void
}

const NO_KEY = new Uint8Array(0)

/** The next operator of the chain, by direct call. */
export class DirectOutput implements RecordOutput {
  private readonly task: OperatorTask
  private readonly operator: StreamOperator
  private readonly recordsIn: Counter

  constructor(task: OperatorTask) {
    this.task = task
    this.operator = task.operator
    this.recordsIn = task.metrics.counter('numRecordsIn')
  }

  collect(value: unknown, timestamp: number): void {
    this.recordsIn.value += 1
    try {
      this.operator.processElement(0, value, timestamp)
    } catch (error) {
      throw blame(error, this.task.node)
    }
  }
}

/** The subtask that owns the key group of the record's key. */
export class HashOutput implements RecordOutput {
  private readonly keySelector: (value: unknown) => unknown
  private readonly keySerializer: Serializer<unknown>
  private readonly serializer: Serializer<unknown>
  private readonly maxParallelism: number
  /** Channel by key group. */
  private readonly channels: readonly OutputChannel[]
  private readonly key = new ByteWriter(64)
  private readonly value = new ByteWriter(1024)

  constructor(
    keySelector: (value: unknown) => unknown,
    keySerializer: Serializer<unknown>,
    serializer: Serializer<unknown>,
    maxParallelism: number,
    channels: readonly OutputChannel[],
  ) {
    this.keySelector = keySelector
    this.keySerializer = keySerializer
    this.serializer = serializer
    this.maxParallelism = maxParallelism
    this.channels = Array.from(
      { length: maxParallelism },
      (_, group) => channels[subtaskOfKeyGroup(group, channels.length, maxParallelism)]!,
    )
  }

  collect(value: unknown, timestamp: number): void {
    const key = this.key
    key.length = 0
    this.keySerializer.write(this.keySelector(value), key)
    const bytes = this.value
    bytes.length = 0
    this.serializer.write(value, bytes)
    const group = murmur3(key.bytes, 0, key.length) % this.maxParallelism
    this.channels[group]!.append(key.bytes, key.length, bytes.bytes, bytes.length, timestamp)
  }
}

/** One channel: forward to the subtask of the same number, or the only receiver. */
export class SingleOutput implements RecordOutput {
  private readonly serializer: Serializer<unknown>
  private readonly channel: OutputChannel
  private readonly value = new ByteWriter(1024)

  constructor(serializer: Serializer<unknown>, channel: OutputChannel) {
    this.serializer = serializer
    this.channel = channel
  }

  collect(value: unknown, timestamp: number): void {
    const bytes = this.value
    bytes.length = 0
    this.serializer.write(value, bytes)
    this.channel.append(NO_KEY, -1, bytes.bytes, bytes.length, timestamp)
  }
}

/** Round robin, changing the receiver with every batch so that batches stay full. */
export class RebalanceOutput implements RecordOutput {
  private readonly serializer: Serializer<unknown>
  private readonly channels: readonly OutputChannel[]
  private readonly value = new ByteWriter(1024)
  private readonly turnBytes: number
  private current: number
  private filled = 0

  constructor(
    serializer: Serializer<unknown>,
    channels: readonly OutputChannel[],
    first: number,
    turnBytes: number,
  ) {
    this.serializer = serializer
    this.channels = channels
    this.current = first % channels.length
    this.turnBytes = turnBytes
  }

  collect(value: unknown, timestamp: number): void {
    const bytes = this.value
    bytes.length = 0
    this.serializer.write(value, bytes)
    this.channels[this.current]!.append(NO_KEY, -1, bytes.bytes, bytes.length, timestamp)
    this.filled += bytes.length + 8
    if (this.filled >= this.turnBytes) this.turn()
  }

  /** Goes on with the next receiver; called when what was collected is sent. */
  turn(): void {
    this.filled = 0
    this.current = (this.current + 1) % this.channels.length
  }
}

/** Every receiver gets every record; it is encoded once. */
export class BroadcastOutput implements RecordOutput {
  private readonly serializer: Serializer<unknown>
  private readonly channels: readonly OutputChannel[]
  private readonly value = new ByteWriter(1024)

  constructor(serializer: Serializer<unknown>, channels: readonly OutputChannel[]) {
    this.serializer = serializer
    this.channels = channels
  }

  collect(value: unknown, timestamp: number): void {
    const bytes = this.value
    bytes.length = 0
    this.serializer.write(value, bytes)
    for (const channel of this.channels) {
      channel.append(NO_KEY, -1, bytes.bytes, bytes.length, timestamp)
    }
  }
}

/** Side outputs of one operator by tag id; a tag that nobody reads is dropped. */
export type SideOutputs = ReadonlyMap<string, readonly RecordOutput[]>

/** What an operator emits into: its main edge and its side outputs. */
export class SingleTarget implements Output {
  private readonly target: RecordOutput
  private readonly recordsOut: Counter
  private readonly sides: SideOutputs

  constructor(target: RecordOutput, recordsOut: Counter, sides: SideOutputs) {
    this.target = target
    this.recordsOut = recordsOut
    this.sides = sides
  }

  collect(value: unknown, timestamp: number): void {
    this.recordsOut.value += 1
    this.target.collect(value, timestamp)
  }

  collectSide(tagId: string, value: unknown, timestamp: number): void {
    emitSide(this.sides, tagId, value, timestamp)
  }
}

/** As SingleTarget, for an operator whose main output has none or several readers. */
export class ManyTargets implements Output {
  private readonly targets: readonly RecordOutput[]
  private readonly recordsOut: Counter
  private readonly sides: SideOutputs

  constructor(targets: readonly RecordOutput[], recordsOut: Counter, sides: SideOutputs) {
    this.targets = targets
    this.recordsOut = recordsOut
    this.sides = sides
  }

  collect(value: unknown, timestamp: number): void {
    this.recordsOut.value += 1
    for (const target of this.targets) target.collect(value, timestamp)
  }

  collectSide(tagId: string, value: unknown, timestamp: number): void {
    emitSide(this.sides, tagId, value, timestamp)
  }
}

function emitSide(sides: SideOutputs, tagId: string, value: unknown, timestamp: number): void {
  const targets = sides.get(tagId)
  if (targets === undefined) return
  for (const target of targets) target.collect(value, timestamp)
}
