import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { deepCopy } from '../../core/formats/deep-copy.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import { keyGroupOfHash, subtaskOfKeyGroup } from '../../core/key-group.ts'
import type { Counter } from '../../core/metrics.ts'
import { copierOf, type Serializer, type ValueCopier } from '../../core/serializer.ts'
import type { Partitioning, StreamNode } from '../../dataflow/stream-graph.ts'
import type { Output, StreamOperator } from '../../operators/port/operator.ts'
import { refusePromise } from '../../operators/port/refuse-promise.ts'
import { FrequentKeys, hashOfKey, NOT_KEPT } from '../channel/frequent-keys.ts'
import type { OutputChannel } from '../channel/output.ts'
import { blameKeySelector } from './operator-failure.ts'
import type { OperatorTask } from './operator-task.ts'
import { ValueAppender } from './value-appender.ts'

/** Output for the records of one edge. Concrete classes keep the call per record monomorphic. */
export interface RecordOutput {
  collect(value: unknown, timestamp: number): void
}

const NO_KEY = new Uint8Array(0)

/** Output to the next operator of the chain, by direct call. */
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
      throw this.task.blame(error, timestamp)
    }
  }
}

/**
 * Output that passes on a copy of each record, where several operators read the same stream by direct call: what one of
 * them changes, the others must not see.
 */
export class CopyingOutput implements RecordOutput {
  private readonly output: RecordOutput
  private readonly copier: ValueCopier<unknown> | undefined

  /** `serializer` is that of the stream. */
  constructor(output: RecordOutput, serializer: Serializer<unknown>) {
    this.output = output
    this.copier = copierOf(serializer)
  }

  collect(value: unknown, timestamp: number): void {
    this.output.collect(this.copy(value), timestamp)
  }

  private copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    return this.copier?.copy(value) ?? deepCopy(value)
  }
}

/** Options of a hash output. */
export interface HashOutputOptions {
  readonly partitioning: Pick<
    Extract<Partitioning, { readonly kind: 'hash' }>,
    'keySelector' | 'keySerializer'
  >
  readonly serializer: Serializer<unknown>
  readonly maxParallelism: number
  /** By subtask. */
  readonly channels: readonly OutputChannel[]
  /** The operator that has the keys, for messages. */
  readonly receiver: StreamNode
  /** Whether the receivers keep frequent keys. @default false */
  readonly keepsKeys?: boolean
}

/** Output to the subtask that owns the key group of the record's key. */
export class HashOutput implements RecordOutput {
  private readonly keySelector: (value: unknown) => unknown
  private readonly keySerializer: Serializer<unknown>
  private readonly values: ValueAppender
  private readonly maxParallelism: number
  /** Channel by key group. */
  private readonly channels: readonly OutputChannel[]
  private readonly receiver: StreamNode
  private readonly key = new ByteWriter(64)
  /** Undefined where receivers keep none. */
  private readonly frequent: FrequentKeys | undefined

  constructor(options: HashOutputOptions) {
    const { partitioning, serializer, maxParallelism, channels, keepsKeys = false } = options
    this.receiver = options.receiver
    this.keySelector = partitioning.keySelector
    this.keySerializer = partitioning.keySerializer
    this.values = new ValueAppender(serializer)
    this.maxParallelism = maxParallelism
    this.frequent = keepsKeys ? new FrequentKeys() : undefined
    this.channels = Array.from(
      { length: maxParallelism },
      (_, group) => channels[subtaskOfKeyGroup(group, channels.length, maxParallelism)]!,
    )
  }

  collect(value: unknown, timestamp: number): void {
    let selected: unknown
    try {
      selected = this.keySelector(value)
    } catch (error) {
      throw blameKeySelector(error, this.receiver)
    }
    this.send(selected, value, timestamp)
  }

  /** Sends a value to the owner of a key. */
  send(selected: unknown, value: unknown, timestamp: number): void {
    const { frequent, key } = this
    key.length = 0
    if (frequent === undefined) {
      this.sendKey(selected, value, timestamp)
      return
    }
    const hash = hashOfKey(selected)
    const known = hash === NOT_KEPT ? -1 : frequent.find(hash, selected)
    if (known >= 0) {
      this.sendKnown(frequent, known, value, timestamp)
      return
    }
    const place = frequent.begin(hash, key)
    const start = key.length
    const keyHash = this.sendKey(selected, value, timestamp)
    // Not before: a record that cannot be written does not reach the receiver, nor does its key.
    if (place >= 0) this.keep(frequent, place, selected, start, keyHash)
  }

  /** Sends a value with a key that its receiver knows. */
  private sendKnown(
    frequent: FrequentKeys,
    place: number,
    value: unknown,
    timestamp: number,
  ): void {
    const { key, values } = this
    const channel = this.channels[frequent.keyGroups[place]!]!
    const { own } = channel
    if (own === undefined) {
      frequent.write(place, key)
      values.append(channel, key.bytes, key.length, value, timestamp)
      return
    }
    values.add(own, value, timestamp)
    own.setFrequentKey(frequent.own[place]!)
    channel.added()
  }

  /** Sends a value with the bytes of its key, after what `key` holds already; returns the hash of the key. */
  private sendKey(selected: unknown, value: unknown, timestamp: number): number {
    const { key, values } = this
    const start = key.length
    try {
      this.keySerializer.write(selected, key)
    } catch (error) {
      throw blameKeySelector(error, this.receiver)
    }
    const hash = murmur3(key.bytes, start, key.length - start)
    const channel = this.channels[keyGroupOfHash(hash, this.maxParallelism)]!
    const { own } = channel
    if (own === undefined) {
      values.append(channel, key.bytes, key.length, value, timestamp)
      return hash
    }
    values.add(own, value, timestamp)
    own.setKey(key.bytes, start, key.length - start, hash)
    channel.added()
    return hash
  }

  /** Keeps the key of the last record, whose bytes begin at `start`. */
  private keep(
    frequent: FrequentKeys,
    place: number,
    selected: unknown,
    start: number,
    hash: number,
  ): void {
    const { key } = this
    const keyGroup = keyGroupOfHash(hash, this.maxParallelism)
    frequent.keep(place, selected, keyGroup)
    const { own } = this.channels[keyGroup]!
    if (own === undefined) return
    const kept = own.exchange(frequent.own[place])
    kept.set(key.bytes, start, key.length, hash | 0, keyGroup)
    frequent.own[place] = kept
  }
}

/** Output to one channel: to the subtask of the same number, or to the only receiver. */
export class SingleOutput implements RecordOutput {
  private readonly values: ValueAppender
  private readonly channel: OutputChannel

  constructor(serializer: Serializer<unknown>, channel: OutputChannel) {
    this.values = new ValueAppender(serializer)
    this.channel = channel
  }

  collect(value: unknown, timestamp: number): void {
    this.values.append(this.channel, NO_KEY, -1, value, timestamp)
  }
}

/** Options of a rebalancing output. */
export interface RebalanceOutputOptions {
  readonly serializer: Serializer<unknown>
  readonly channels: readonly OutputChannel[]
  /** Number of the first receiver, modulo the number of channels. */
  readonly first: number
  /** Bytes after which the next receiver gets its turn. */
  readonly turnBytes: number
}

/** Output to the receivers in turn; the receiver changes with every batch so that batches are full. */
export class RebalanceOutput implements RecordOutput {
  private readonly values: ValueAppender
  private readonly channels: readonly OutputChannel[]
  private readonly turnBytes: number
  private current: number
  private filled = 0

  constructor({ serializer, channels, first, turnBytes }: RebalanceOutputOptions) {
    this.values = new ValueAppender(serializer)
    this.channels = channels
    this.current = first % channels.length
    this.turnBytes = turnBytes
  }

  collect(value: unknown, timestamp: number): void {
    const channel = this.channels[this.current]!
    this.filled += this.values.append(channel, NO_KEY, -1, value, timestamp) + 8
    if (this.filled >= this.turnBytes) this.turn()
  }

  /** Continues with the next receiver; called when the collected records are sent. */
  turn(): void {
    this.filled = 0
    this.current = (this.current + 1) % this.channels.length
  }
}

/** Options of an output whose receiver a function selects. */
interface SelectedOutputOptions {
  readonly serializer: Serializer<unknown>
  readonly channels: readonly OutputChannel[]
  /** The number of the receiver of a record. */
  readonly select: (value: unknown, receivers: number) => number
}

/** Output to the receiver that a function selects for each record. */
export class SelectedOutput implements RecordOutput {
  private readonly values: ValueAppender
  private readonly channels: readonly OutputChannel[]
  private readonly select: SelectedOutputOptions['select']

  constructor({ serializer, channels, select }: SelectedOutputOptions) {
    this.values = new ValueAppender(serializer)
    this.channels = channels
    this.select = select
  }

  collect(value: unknown, timestamp: number): void {
    const { channels } = this
    const receiver = this.select(value, channels.length)
    const channel = channels[receiver]
    if (channel === undefined) {
      refusePromise(receiver, 'the function of partitionCustom')
      throw new WeirError(
        'INVALID_ARGUMENT',
        `the function of partitionCustom returned ${receiver}: return a whole number from 0 to ${channels.length - 1}`,
      )
    }
    this.values.append(channel, NO_KEY, -1, value, timestamp)
  }
}

/** Output of every record to every receiver; a record is encoded once. */
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

/** Side outputs of one operator by tag id; records of a tag without a reader are dropped. */
export type SideOutputs = ReadonlyMap<string, readonly RecordOutput[]>

/** Output of an operator: its main edge and its side outputs. */
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

/** As SingleTarget, for an operator whose main output has no reader or several. */
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
