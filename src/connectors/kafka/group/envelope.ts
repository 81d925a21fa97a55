import { messageOf, WeirError } from '../../../core/errors.ts'

/** Partitions by topic. */
export type TopicPartitions = ReadonlyMap<string, readonly number[]>

/** What a member says of itself, in the words of Kafka's consumers. */
export interface Subscription {
  readonly topics: readonly string[]
  readonly userData: Uint8Array
  /** What the member has until its partitions are taken from it; empty before version 1. */
  readonly ownedPartitions: TopicPartitions
}

/** What a member gets from the leader, in the words of Kafka's consumers. */
export interface EnvelopedAssignment {
  readonly topicPartitions: TopicPartitions
  readonly userData: Uint8Array
}

/** Version that is written: the first that has the owned partitions. Readers of a later one skip what they do not know. */
const VERSION = 1
const NO_BYTES = new Uint8Array(0)

/**
 * The bytes of a subscription: Kafka's `ConsumerProtocolSubscription`, version 1. Broker and tools read it. A group of
 * type `consumer` whose members send other bytes never settles.
 */
export function encodeSubscription({
  topics,
  userData,
  ownedPartitions,
}: Subscription): Uint8Array {
  const writer = new EnvelopeWriter()
  writer.int16(VERSION)
  writer.int32(topics.length)
  for (const topic of topics) writer.text(topic)
  writer.bytes(userData)
  writer.topicPartitions(ownedPartitions)
  return writer.done()
}

/** The subscription in a member's bytes. Throws MALFORMED_DATA, with `from` as the name of the sender. */
export function decodeSubscription(bytes: Uint8Array, from: string): Subscription {
  return decode(bytes, `the subscription of ${from}`, (reader) => {
    const version = reader.version()
    const topics = reader.list(2, () => reader.text())
    const userData = reader.bytes()
    const ownedPartitions = version >= 1 ? reader.topicPartitions() : new Map()
    if (version === 0 || version === 1) reader.end()
    return { topics, userData, ownedPartitions }
  })
}

/** The bytes of an assignment: Kafka's `ConsumerProtocolAssignment`, version 1, which is the same as 0. */
export function encodeAssignment({ topicPartitions, userData }: EnvelopedAssignment): Uint8Array {
  const writer = new EnvelopeWriter()
  writer.int16(VERSION)
  writer.topicPartitions(topicPartitions)
  writer.bytes(userData)
  return writer.done()
}

/** The assignment in a leader's bytes; of no bytes, an empty one. Throws MALFORMED_DATA. */
export function decodeAssignment(bytes: Uint8Array, from: string): EnvelopedAssignment {
  if (bytes.length === 0) return { topicPartitions: new Map(), userData: NO_BYTES }
  return decode(bytes, `the assignment of ${from}`, (reader) => {
    const version = reader.version()
    const topicPartitions = reader.topicPartitions()
    const userData = reader.bytes()
    // All versions that Kafka has are the same.
    if (version <= 3) reader.end()
    return { topicPartitions, userData }
  })
}

function decode<T>(bytes: Uint8Array, what: string, read: (reader: EnvelopeReader) => T): T {
  try {
    return read(new EnvelopeReader(bytes))
  } catch (cause) {
    const message = `${what} is not in the format of Kafka's consumers: ${messageOf(cause)}; end the process that sent it, or give it another group`
    throw new WeirError('MALFORMED_DATA', message, { cause })
  }
}

/** Writer of the fields of an envelope: big-endian, with lengths of two bytes for texts and of four for bytes. */
class EnvelopeWriter {
  private readonly parts: Buffer[] = []

  int16(value: number): void {
    const part = Buffer.alloc(2)
    part.writeInt16BE(value)
    this.parts.push(part)
  }

  int32(value: number): void {
    const part = Buffer.alloc(4)
    part.writeInt32BE(value)
    this.parts.push(part)
  }

  text(value: string): void {
    const bytes = Buffer.from(value)
    this.int16(bytes.length)
    this.parts.push(bytes)
  }

  bytes(value: Uint8Array): void {
    this.int32(value.length)
    this.parts.push(Buffer.from(value))
  }

  topicPartitions(topics: TopicPartitions): void {
    this.int32(topics.size)
    for (const [topic, partitions] of topics) {
      this.text(topic)
      this.int32(partitions.length)
      for (const partition of partitions) this.int32(partition)
    }
  }

  done(): Uint8Array {
    return Buffer.concat(this.parts)
  }
}

/** Reader of an envelope. Every length is checked against the bytes that follow: another process wrote it. */
class EnvelopeReader {
  private readonly buffer: Buffer
  private at = 0

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  version(): number {
    const version = this.int16()
    if (version < 0) throw new Error(`version ${version} does not exist`)
    return version
  }

  /** Elements of at least `size` bytes each. */
  list<T>(size: number, element: () => T): T[] {
    const from = this.at
    const count = this.int32()
    if (count < 0 || count * size > this.left) {
      throw new Error(`it claims ${count} elements at byte ${from}, and ${this.left} bytes follow`)
    }
    return Array.from({ length: count }, element)
  }

  text(): string {
    const bytes = this.take(this.int16())
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  }

  /** Bytes of their own, which do not keep the rest alive. */
  bytes(): Uint8Array {
    const length = this.int32()
    return length === -1 ? NO_BYTES : Uint8Array.from(this.take(length))
  }

  topicPartitions(): TopicPartitions {
    const topics = new Map<string, readonly number[]>()
    this.list(6, () => {
      const topic = this.text()
      if (topics.has(topic)) throw new Error(`it has the topic "${topic}" twice`)
      topics.set(
        topic,
        this.list(4, () => this.partition()),
      )
    })
    return topics
  }

  end(): void {
    if (this.left > 0) throw new Error(`${this.left} bytes follow its end`)
  }

  private partition(): number {
    const partition = this.int32()
    if (partition < 0) throw new Error(`${partition} is not a partition`)
    return partition
  }

  private get left(): number {
    return this.buffer.length - this.at
  }

  private int16(): number {
    const from = this.at
    this.take(2)
    return this.buffer.readInt16BE(from)
  }

  private int32(): number {
    const from = this.at
    this.take(4)
    return this.buffer.readInt32BE(from)
  }

  private take(length: number): Buffer {
    if (length < 0 || length > this.left) {
      throw new Error(`it claims ${length} bytes at byte ${this.at}, and ${this.left} follow`)
    }
    this.at += length
    return this.buffer.subarray(this.at - length, this.at)
  }
}
