import type { Codec } from '../../batch/compression.ts'
import { partitionOf } from '../../batch/java-partitioner.ts'
import type { RecordHeader } from '../../batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../batch/record-batch-writer.ts'
import type { Cancel } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { checkParallelism, keyGroupOf, subtaskOfKeyGroup } from '../../core/key-group.ts'
import { BatchesUnderWay } from '../log/batches-under-way.ts'
import { type BatchOrigin, BatchSender } from './batch-sender.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { idempotentIdentity, type KafkaIdentity } from './kafka-identity.ts'

/** How records are gathered into batches. */
export interface KafkaProducerOptions {
  /** A batch is sent when it reaches this size before compression; default 128 KiB. */
  readonly batchBytes?: number
  /** Or when its oldest record is this old, in ms; default 5. */
  readonly lingerMs?: number
  /** `ready()` turns false when more than this is on its way; default 16 MiB. */
  readonly maxInFlightBytes?: number
  readonly codec?: Codec
  /**
   * Whether every in-sync replica must have a batch, and repeated ones are dropped (default), or the
   * leader's word is enough and an error may double a batch.
   */
  readonly idempotent?: boolean
  /** How a key chooses its partition; default as the Java client does. */
  readonly partitioner?: KafkaPartitioner
}

/**
 * `java`: murmur2, as every Java program writes. `keyGroups`: each partition holds a contiguous range
 * of the key groups of jobs with this max parallelism, which such a job can read without a shuffle
 * (`assignment: 'key-groups'`).
 */
export type KafkaPartitioner = 'java' | { readonly keyGroups: number }

/** An identity, and how far its sequence numbers are. */
interface Origin extends BatchOrigin {
  readonly sequences: number[]
}

const DEFAULT_BATCH_BYTES = 128 * 1024
const DEFAULT_LINGER_MS = 5
const DEFAULT_IN_FLIGHT_BYTES = 16 * 1024 * 1024
/** `BatchSender` sends a partition's next batch when the one before is acknowledged. */
const MOST_UNDER_WAY = 1

/** Gathers records of one topic into batches per partition and brings them to their leaders. */
export class KafkaProducer {
  private readonly cluster: KafkaCluster
  private readonly topic: string
  private readonly partitions: number
  private readonly batchBytes: number
  private readonly lingerMs: number
  private readonly maxInFlightBytes: number
  private readonly codec: Codec
  /** Max parallelism whose key groups choose the partition; undefined for Java's partitioner. */
  private readonly keyGroups: number | undefined
  private readonly writers: (RecordBatchWriter | undefined)[]
  private readonly sender: BatchSender
  private origin: Origin = originOf(undefined)
  private sticky = 0
  private inFlightBytes = 0
  private readonly inFlight = new Set<Promise<void>>()
  private readonly underWay: BatchesUnderWay
  private waiting: (() => void)[] = []
  private cancelLinger: Cancel | undefined

  private constructor(
    cluster: KafkaCluster,
    topic: string,
    partitions: number,
    options: KafkaProducerOptions,
  ) {
    this.cluster = cluster
    this.topic = topic
    this.partitions = partitions
    this.batchBytes = options.batchBytes ?? DEFAULT_BATCH_BYTES
    this.lingerMs = options.lingerMs ?? DEFAULT_LINGER_MS
    this.maxInFlightBytes = options.maxInFlightBytes ?? DEFAULT_IN_FLIGHT_BYTES
    this.codec = options.codec ?? 'none'
    const { partitioner = 'java' } = options
    this.keyGroups = partitioner === 'java' ? undefined : partitioner.keyGroups
    if (this.keyGroups !== undefined) checkParallelism(partitions, this.keyGroups)
    this.writers = new Array<RecordBatchWriter | undefined>(partitions).fill(undefined)
    this.underWay = new BatchesUnderWay(partitions, MOST_UNDER_WAY)
    const acks = options.idempotent === false ? 1 : -1
    this.sender = new BatchSender(cluster, topic, acks, () => this.wakeWaiting())
  }

  /**
   * A producer for a topic with the partitions it has now. `identity` is given by transactions; else
   * one is asked for. Throws UNKNOWN_TOPIC.
   */
  static async open(
    cluster: KafkaCluster,
    topic: string,
    options: KafkaProducerOptions = {},
    identity?: KafkaIdentity,
  ): Promise<KafkaProducer> {
    const { partitions } = await cluster.topic(topic)
    const producer = new KafkaProducer(cluster, topic, partitions.length, options)
    if (identity !== undefined) producer.continueWith(identity)
    else if (options.idempotent !== false) {
      producer.continueWith(await idempotentIdentity(cluster))
    }
    return producer
  }

  /**
   * Adds a record; partition -1 chooses by key as the Java client does, or without a key spreads by
   * batch. Throws what a batch before met.
   */
  sendRecord(
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    chosen: number,
    headers: readonly RecordHeader[],
  ): void {
    if (this.sender.failure !== undefined) throw this.sender.failure
    const partition = chosen === -1 ? this.choose(key) : chosen
    requireArgument(
      partition >= 0 && partition < this.partitions,
      `topic "${this.topic}" has no partition ${partition}`,
    )
    let writer = this.writers[partition]
    if (writer === undefined) {
      writer = new RecordBatchWriter(16 * 1024)
      this.writers[partition] = writer
    }
    writer.append(key, value, timestamp, writer.count, headers)
    if (writer.size >= this.batchBytes) this.seal(partition, writer)
    else if (this.cancelLinger === undefined) this.startLinger()
  }

  private choose(key: Uint8Array | null): number {
    if (key === null) return this.sticky
    if (this.keyGroups === undefined) return partitionOf(key, this.partitions)
    return subtaskOfKeyGroup(keyGroupOf(key, this.keyGroups), this.partitions, this.keyGroups)
  }

  private startLinger(): void {
    this.cancelLinger = this.cluster.clock.after(this.lingerMs, () => {
      this.cancelLinger = undefined
      this.lingered()
    })
  }

  private lingered(): void {
    for (let partition = 0; partition < this.partitions; partition++) {
      const count = this.writers[partition]?.count ?? 0
      if (count > 0 && this.underWay.lingered(partition)) this.dispatchOne(partition)
    }
  }

  private dispatchOne(partition: number): void {
    const writer = this.writers[partition]
    if (writer !== undefined && writer.count > 0) this.seal(partition, writer)
  }

  private seal(partition: number, writer: RecordBatchWriter): void {
    if (partition === this.sticky) this.sticky = (this.sticky + 1) % this.partitions
    const { origin } = this
    const { identity } = origin
    const count = writer.count
    const baseSequence = origin.sequences[partition] ?? 0
    const bytes = writer.take(
      identity === undefined
        ? { codec: this.codec }
        : {
            codec: this.codec,
            transactional: identity.transactionalId !== undefined,
            producerId: identity.producerId,
            producerEpoch: identity.epoch,
            baseSequence,
          },
    )
    // Sequence numbers wrap from 2^31 - 1 to 0.
    origin.sequences[partition] = (baseSequence + count) % 2 ** 31
    const giveUpAt = this.cluster.clock.monotonicMs() + this.cluster.deliveryTimeoutMs
    this.inFlightBytes += bytes.length
    this.underWay.sent(partition)
    const sent = new Promise<void>((resolve) => {
      this.sender.send({ partition, bytes, origin, giveUpAt, done: resolve })
    }).then(() => {
      this.inFlight.delete(sent)
      this.inFlightBytes -= bytes.length
      if (this.underWay.arrived(partition)) this.dispatchOne(partition)
      if (this.ready()) this.wakeWaiting()
    })
    this.inFlight.add(sent)
  }

  /** False while too much is on its way. */
  ready(): boolean {
    return this.inFlightBytes <= this.maxInFlightBytes || this.sender.failure !== undefined
  }

  /** Resolves when `ready()` is true. */
  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.waiting.push(resolve))
  }

  private wakeWaiting(): void {
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  /** Sends what is gathered; `settled` waits for it. */
  dispatch(): void {
    this.cancelLinger?.()
    this.cancelLinger = undefined
    for (let partition = 0; partition < this.partitions; partition++) {
      this.dispatchOne(partition)
    }
  }

  /** Resolves when what was dispatched before is acknowledged. Throws what a batch met. */
  async settled(): Promise<void> {
    await Promise.all(this.inFlight)
    if (this.sender.failure !== undefined) throw this.sender.failure
  }

  /** Sends what is gathered and resolves when all of it is acknowledged. */
  async flush(): Promise<void> {
    this.dispatch()
    await this.settled()
  }

  /**
   * Records sent from now on are of this identity; those before must be dispatched. Returns what is
   * known of those before, complete when they are settled.
   */
  continueWith(identity: KafkaIdentity): BatchOrigin {
    const before = this.origin
    this.origin = originOf(identity)
    return before
  }

  /** The identity of what is sent now, undefined when there is none. */
  get identity(): KafkaIdentity | undefined {
    return this.origin.identity
  }

  /** Drops what is not acknowledged. */
  close(): void {
    this.cancelLinger?.()
    this.cancelLinger = undefined
    this.sender.close()
  }
}

function originOf(identity: KafkaIdentity | undefined): Origin {
  return { identity, added: new Set(), witness: undefined, sequences: [] }
}
