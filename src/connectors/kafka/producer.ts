import type { Cancel } from '../../core/clock.ts'
import { checkParallelism, keyGroupOf, subtaskOfKeyGroup } from '../../core/key-group.ts'
import { count, either, flag, milliseconds, oneOf, required } from '../../core/options/kinds.ts'
import { nested, type OptionShape } from '../../core/options/shape.ts'
import { CODEC, type Codec } from '../../wire/batch/compression.ts'
import { BATCH_FIELDS, readInt32 } from '../../wire/batch/record-batch-format.ts'
import type { RecordBatchWriter } from '../../wire/batch/record-batch-writer.ts'
import { BatchingProducer } from '../records/batching-producer.ts'
import type { MakeSmaller } from '../records/smaller-record.ts'
import { type BatchOrigin, BatchSender, type OutgoingBatch } from './batch-sender.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { idempotentIdentity, type KafkaIdentity } from './client/identity.ts'
import type { LeaveOut } from './record-refused.ts'
import { renumbered } from './refused-batch.ts'

/** Options of a `KafkaProducer`: how records are gathered into batches. */
export interface KafkaProducerOptions {
  /**
   * A batch is sent before a record would make it larger than this, before compression; default
   * 128 KiB. A larger record is alone in its batch. It shrinks when the topic refuses a batch as too
   * large.
   */
  readonly batchBytes?: number
  /** A batch is sent when its oldest record is this old, in ms; default 5. */
  readonly lingerMs?: number
  /** `ready()` turns false when more than this is in flight; default 16 MiB. */
  readonly maxInFlightBytes?: number
  readonly codec?: Codec
  /**
   * True (default): every in-sync replica must have a batch, and the broker drops repeated batches.
   * False: the leader alone acknowledges, and after an error a batch may be stored twice.
   */
  readonly idempotent?: boolean
  /** How a key chooses its partition; default as the Java client does. */
  readonly partitioner?: KafkaPartitioner
}

/**
 * How a key chooses its partition. `java`: murmur2, as every Java program writes. `keyGroups`: each
 * partition holds a contiguous range of the key groups of jobs with this max parallelism, which such
 * a job can read without a shuffle (`assignment: 'key-groups'`).
 */
export type KafkaPartitioner = 'java' | { readonly keyGroups: number }

/** The options of a `KafkaProducer`. */
export const KAFKA_PRODUCER: OptionShape<KafkaProducerOptions> = {
  batchBytes: count,
  lingerMs: milliseconds,
  maxInFlightBytes: count,
  codec: CODEC,
  idempotent: flag,
  partitioner: either(
    oneOf('java'),
    nested<{ readonly keyGroups: number }>({ keyGroups: required(count) }),
  ),
}

/** Options of `KafkaProducer.open`. */
export interface OpenProducerOptions extends KafkaProducerOptions {
  /** Identity of a transaction; default one without transactions, unless `idempotent` is false. */
  readonly identity?: KafkaIdentity | undefined
  /** Makes a smaller record of one that the topic refuses as too large; default: an error. */
  readonly makeSmaller?: MakeSmaller
  /** Handles a record that the topic refuses, which is then left out; default: an error. */
  readonly leaveOut?: LeaveOut | undefined
}

/** An identity with its next sequence number of each partition. */
interface SequencedOrigin extends BatchOrigin {
  readonly sequences: number[]
}

const DEFAULT_BATCH_BYTES = 128 * 1024
const DEFAULT_LINGER_MS = 5
const DEFAULT_IN_FLIGHT_BYTES = 16 * 1024 * 1024
/** `BatchSender` sends a partition's next batch when the one before is acknowledged. */
const MAX_IN_FLIGHT_BATCHES = 1

/** Gathers records of one topic into batches and sends them to the leaders of their partitions. */
export class KafkaProducer extends BatchingProducer {
  private readonly cluster: KafkaCluster
  private readonly codec: Codec
  /** Max parallelism whose key groups choose the partition; undefined for Java's partitioner. */
  private readonly keyGroups: number | undefined
  private readonly sender: BatchSender
  private origin: SequencedOrigin = originOf(undefined)
  private renewing: Promise<KafkaIdentity> | undefined
  private cancelRefresh: Cancel | undefined
  private closed = false

  private constructor(
    cluster: KafkaCluster,
    target: { readonly topic: string; readonly partitions: number },
    options: OpenProducerOptions,
  ) {
    const { topic, partitions } = target
    super({
      topic,
      partitions,
      batchBytes: options.batchBytes ?? DEFAULT_BATCH_BYTES,
      maxInFlightBytes: options.maxInFlightBytes ?? DEFAULT_IN_FLIGHT_BYTES,
      maxInFlightBatches: MAX_IN_FLIGHT_BATCHES,
      lingerMs: options.lingerMs ?? DEFAULT_LINGER_MS,
      clock: cluster.clock,
    })
    this.cluster = cluster
    this.codec = options.codec ?? 'none'
    const { partitioner = 'java' } = options
    this.keyGroups = partitioner === 'java' ? undefined : partitioner.keyGroups
    if (this.keyGroups !== undefined) checkParallelism(partitions, this.keyGroups)
    const acks = options.idempotent === false ? 1 : -1
    this.sender = new BatchSender({
      cluster,
      topic,
      acks,
      onFailure: (error) => this.fail(error),
      // The topic's limit is unknown, and below the size of the refused batch.
      onRefusedSize: (bytes) => this.limitBatches(bytes >> 1),
      renewProducer: async (refused) => {
        if (this.origin === refused) await this.renew(refused)
        return (partition, batches) => this.renumber(partition, batches)
      },
      makeSmaller: options.makeSmaller,
      leaveOut: options.leaveOut,
      closeGap: (leftOut, behind) => this.closeGap(leftOut, behind),
    })
  }

  /** Opens a producer for a topic with the partitions that it has now. Throws UNKNOWN_TOPIC. */
  static async open(
    cluster: KafkaCluster,
    topic: string,
    options: OpenProducerOptions = {},
  ): Promise<KafkaProducer> {
    const { identity, idempotent = true } = options
    const { partitions } = await cluster.topic(topic)
    const producer = new KafkaProducer(cluster, { topic, partitions: partitions.length }, options)
    if (identity !== undefined) producer.continueWith(identity)
    else if (idempotent) producer.continueWith(await idempotentIdentity(cluster))
    // Readers by key group need the partitions that the topic has.
    if (producer.keyGroups === undefined) producer.lookForPartitions()
    return producer
  }

  /** Looks from time to time for partitions that were added to the topic. */
  private lookForPartitions(): void {
    const { cluster, topic } = this
    this.cancelRefresh = cluster.clock.after(cluster.metadataMaxAgeMs, () => {
      cluster
        .refreshTopic(topic)
        .then(({ partitions }) => this.grow(partitions.length))
        // What is wrong shows when a batch is sent.
        .catch(() => undefined)
        .finally(() => {
          if (!this.closed) this.lookForPartitions()
        })
    })
  }

  protected override partitionOf(key: Uint8Array): number {
    if (this.keyGroups === undefined) return super.partitionOf(key)
    return subtaskOfKeyGroup(keyGroupOf(key, this.keyGroups), this.partitions, this.keyGroups)
  }

  protected override takeBatch(
    partition: number,
    writer: RecordBatchWriter,
  ): Uint8Array<ArrayBuffer> {
    const { codec } = this
    const { identity, sequences } = this.origin
    if (identity === undefined) return writer.take({ codec })
    const baseSequence = sequences[partition] ?? 0
    const { count } = writer
    const batch = writer.take({
      codec,
      transactional: identity.transactionalId !== undefined,
      producerId: identity.producerId,
      producerEpoch: identity.epoch,
      baseSequence,
    })
    // Sequence numbers wrap from 2^31 - 1 to 0.
    sequences[partition] = (baseSequence + count) % 2 ** 31
    return batch
  }

  protected override append(partition: number, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const { origin, cluster } = this
    const giveUpAt = cluster.clock.monotonicMs() + cluster.deliveryTimeoutMs
    return new Promise((done) => this.sender.send({ partition, bytes, origin, giveUpAt, done }))
  }

  /**
   * Records sent from now on are of this identity; those before must be dispatched. Returns the origin
   * of those before, whose witness is final when they are settled.
   */
  continueWith(identity: KafkaIdentity): BatchOrigin {
    const before = this.origin
    this.origin = originOf(identity)
    return before
  }

  /** Takes another producer id; partitions whose batches are refused at the same time share it. */
  private async renew(refused: BatchOrigin): Promise<void> {
    this.renewing ??= idempotentIdentity(this.cluster).finally(() => {
      this.renewing = undefined
    })
    const identity = await this.renewing
    if (this.origin === refused) this.origin = originOf(identity)
  }

  /** None of a partition's batches was stored under the present id, so their numbers begin at 0. */
  private renumber(partition: number, batches: readonly OutgoingBatch[]): readonly OutgoingBatch[] {
    return numberedFrom(0, { partition, origin: this.origin, batches })
  }

  /** The numbers of a record that is left out go to those behind it: the broker takes no gap. */
  private closeGap(
    { partition, origin, bytes }: OutgoingBatch,
    behind: readonly OutgoingBatch[],
  ): readonly OutgoingBatch[] {
    if (origin.identity === undefined) return behind
    const of = behind.filter((batch) => batch.origin === origin)
    const first = readInt32(bytes, BATCH_FIELDS.baseSequence)
    const own = origin as SequencedOrigin
    const moved = numberedFrom(first, { partition, origin: own, batches: of })
    return [...moved, ...behind.filter((batch) => batch.origin !== origin)]
  }

  /** Identity of records that are sent now, undefined when there is none. */
  get identity(): KafkaIdentity | undefined {
    return this.origin.identity
  }

  /** Drops what is not acknowledged. */
  override close(): void {
    this.closed = true
    this.cancelRefresh?.()
    super.close()
    this.sender.close()
  }
}

/** Batches of a partition under an identity, their sequence numbers from `first` on, as its next ones. */
function numberedFrom(
  first: number,
  {
    partition,
    origin,
    batches,
  }: {
    readonly partition: number
    readonly origin: SequencedOrigin
    readonly batches: readonly OutgoingBatch[]
  },
): readonly OutgoingBatch[] {
  let next = first
  const moved = batches.map((batch): OutgoingBatch => {
    const { bytes, count } = renumbered(batch.bytes, origin.identity!, next)
    // Sequence numbers wrap from 2^31 - 1 to 0.
    next = (next + count) % 2 ** 31
    return { ...batch, bytes, origin }
  })
  origin.sequences[partition] = next
  return moved
}

function originOf(identity: KafkaIdentity | undefined): SequencedOrigin {
  return { identity, added: new Set(), witness: undefined, sequences: [] }
}
