import { requireArgument, type WeirError } from '../../core/errors.ts'
import { name, positiveMilliseconds, required } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type {
  DeliveryGuarantee,
  Sink,
  SinkWriter,
  SinkWriterContext,
} from '../../operators/port/sink.ts'
import type { RecordHeader } from '../../wire/batch/record-batch-format.ts'
import { smallerDeadLetter } from '../records/dead-letters.ts'
import { UNWRITABLE, type UnwritablePolicy } from '../records/topic-options.ts'
import type { RecordView } from '../records/topic-record.ts'
import type { TransactionStore } from '../transactions/pool.ts'
import {
  type TransactionalTopic,
  TWO_PHASE_SINK,
  type TwoPhaseSinkOptions,
  TwoPhaseSinkWriter,
} from '../transactions/two-phase-sink-writer.ts'
import { KafkaCluster } from './client/cluster.ts'
import { parseBrokers } from './client/connection.ts'
import { transactionIdentity } from './client/identity.ts'
import {
  DEFAULT_TRANSACTION_TIMEOUT_MS,
  KAFKA_CLIENT,
  type KafkaClientOptions,
} from './client/options.ts'
import { describeKafkaTransaction, listKafkaTransactions } from './client/transactions.ts'
import { commitPrepared } from './commit.ts'
import { KAFKA_PRODUCER, KafkaProducer, type KafkaProducerOptions } from './producer.ts'
import type { LeaveOut } from './record-refused.ts'

const DEFAULT_PREFIX = 'weir'

/** Options of a `KafkaSink`. */
export interface KafkaSinkOptions<T>
  extends KafkaClientOptions,
    TwoPhaseSinkOptions<T>,
    Omit<KafkaProducerOptions, 'idempotent'> {
  readonly topic: string
  /** First part of the transactional ids, for access rules; default `weir`. */
  readonly transactionalIdPrefix?: string
  /**
   * The broker aborts a transaction that is open for longer, in ms; default 900,000, the
   * default limit of a broker. It must cover the checkpoint interval plus the longest outage.
   */
  readonly transactionTimeoutMs?: number
  /** Records that the topic refuses, for their time, size or form; default `fail`. */
  readonly unwritable?: UnwritablePolicy
}

const { idempotent: _, ...BATCHES } = KAFKA_PRODUCER
const KAFKA_SINK: OptionShape<KafkaSinkOptions<unknown>> = {
  ...KAFKA_CLIENT,
  ...TWO_PHASE_SINK,
  ...BATCHES,
  topic: required(name),
  transactionalIdPrefix: name,
  transactionTimeoutMs: positiveMilliseconds,
  unwritable: UNWRITABLE,
}

/**
 * Writes to a topic of Kafka. Exactly-once: records of one checkpoint interval and subtask are one
 * transaction, which read_committed readers see once the checkpoint is complete.
 */
export class KafkaSink<T> implements Sink<T> {
  readonly guarantee: DeliveryGuarantee
  private readonly options: KafkaSinkOptions<T>

  constructor(options: KafkaSinkOptions<T>) {
    checkOptions('new KafkaSink', KAFKA_SINK, options)
    parseBrokers(options.brokers)
    const { unwritable = 'fail', topic } = options
    requireArgument(
      typeof unwritable === 'string' || unwritable.deadLetterTopic !== topic,
      `the dead letters of topic "${topic}" cannot go to this topic, which refuses them; name another deadLetterTopic`,
    )
    this.options = options
    this.guarantee = options.guarantee ?? 'at-least-once'
  }

  createWriter(): SinkWriter<T> {
    const { options } = this
    return new TwoPhaseSinkWriter(options, async (context) => openKafkaTopic(options, context))
  }
}

function openKafkaTopic<T>(
  options: KafkaSinkOptions<T>,
  context: SinkWriterContext,
): TransactionalTopic {
  const { clock, metrics, warn } = context
  const cluster = new KafkaCluster(options, { clock, onOutage: warn })
  metrics.gauge('brokerOutageMs', () => cluster.outageMs)
  const idempotent = options.guarantee !== 'none'
  let producer: KafkaProducer | undefined
  let unwritable: UnwritableRecords | undefined
  return {
    transactions: transactionsOf(cluster, options),
    async openProducer(identity) {
      const { topic } = options
      unwritable = await openUnwritable(cluster, options, context)
      const { leaveOut } = unwritable
      const settings = { ...options, idempotent, identity, leaveOut }
      producer = await KafkaProducer.open(cluster, topic, settings)
      return producer
    },
    async close() {
      producer?.close()
      unwritable?.close()
      await cluster.close()
    },
  }
}

function transactionsOf<T>(cluster: KafkaCluster, options: KafkaSinkOptions<T>): TransactionStore {
  const {
    transactionalIdPrefix = DEFAULT_PREFIX,
    transactionTimeoutMs = DEFAULT_TRANSACTION_TIMEOUT_MS,
  } = options
  return {
    prefix: `${transactionalIdPrefix}/`,
    timeoutMs: transactionTimeoutMs,
    async list(prefix) {
      const found = await listKafkaTransactions(cluster, prefix)
      return found.map(({ transactionalId, state }) => ({
        transactionalId,
        isOpen: state === 'Ongoing',
      }))
    },
    takeOver: (transactionalId) =>
      transactionIdentity(cluster, transactionalId, transactionTimeoutMs),
    async isOpen({ transactionalId, producerId, epoch }) {
      const now = await describeKafkaTransaction(cluster, transactionalId)
      return now?.state === 'Ongoing' && now.producerId === producerId && now.epoch === epoch
    },
    commit: (committable, mayBeDone) => commitPrepared(cluster, committable, mayBeDone),
  }
}

/** What a sink does with records that its topic refuses. */
interface UnwritableRecords {
  /** Undefined: such a record ends the sending. */
  readonly leaveOut: LeaveOut | undefined
  close(): void
}

const encoder = new TextEncoder()

/**
 * Opens what a policy needs. Dead letters are durable before the batch of the refused record counts as written, so
 * a checkpoint waits for them. They are not part of a transaction: after a restart some may be there twice.
 */
async function openUnwritable(
  cluster: KafkaCluster,
  {
    topic,
    unwritable = 'fail',
  }: { readonly topic: string; readonly unwritable?: UnwritablePolicy },
  { clock, metrics, warn }: Pick<SinkWriterContext, 'clock' | 'metrics' | 'warn'>,
): Promise<UnwritableRecords> {
  if (unwritable === 'fail') return { leaveOut: undefined, close: () => {} }
  const counter = metrics.counter('numRecordsUnwritable')
  const count = (refusal: WeirError): void => {
    // The first says what is wrong; the metric counts all.
    if (counter.value === 0) warn?.(refusal)
    counter.increment()
  }
  if (unwritable === 'skip') {
    return { leaveOut: async (_record, refusal) => count(refusal), close: () => {} }
  }
  const makeSmaller = smallerDeadLetter
  const producer = await KafkaProducer.open(cluster, unwritable.deadLetterTopic, { makeSmaller })
  return {
    leaveOut: async (record, refusal) => {
      count(refusal)
      const headers = [...record.headers(), ...headersOf(topic, record, refusal)]
      // Its own time may be what was refused.
      producer.sendRecord(record.key(), record.value(), clock.nowMs(), -1, headers)
      await producer.flush()
    },
    close: () => producer.close(),
  }
}

function headersOf(topic: string, { timestamp }: RecordView, refusal: WeirError): RecordHeader[] {
  const texts = {
    'weir-refused-by': topic,
    'weir-reason': refusal.message,
    'weir-code': refusal.code,
    'weir-timestamp': String(timestamp),
  }
  return Object.entries(texts).map(([key, value]) => ({ key, value: encoder.encode(value) }))
}
