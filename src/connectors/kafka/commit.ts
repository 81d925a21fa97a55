import { sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { readControlType } from '../../wire/batch/control-record.ts'
import {
  attributesOf,
  BATCH_PREFIX_SIZE,
  batchSizeAt,
  CONTROL_BIT,
  lastOffsetOf,
  producerEpochOf,
  producerIdOf,
} from '../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { Committable, TransactionWitness } from '../transactions/committable.ts'
import type { ProducerIdentity } from '../transactions/producer-identity.ts'
import { requestOf, topicRight } from './client/access-rights.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { KAFKA_ERRORS, kafkaErrorOf, throwKafkaError } from './client/errors.ts'
import { fetchApi } from './client/fetch-request.ts'
import { isFenced, type TransactionIdentity } from './client/identity.ts'
import { describeKafkaTransaction } from './client/transactions.ts'
import { endTransactionVisibly } from './transaction-end.ts'

const MARKER_TIMEOUT_MS = 5_000
const MARKER_POLL_MS = 2

/**
 * Commits a prepared transaction. A restored handle may have been committed before (`mayBeDone`). If
 * its id has a newer epoch, or the coordinator has removed the id, the marker in the topic decides. An
 * aborted transaction is an error, because its records are lost: INVALID_TRANSACTION. For a handle of
 * this process, a newer epoch means that a successor took over the id, or that the broker aborted the
 * transaction after its timeout.
 */
export async function commitPrepared(
  cluster: KafkaCluster,
  { identity, witness }: Committable,
  mayBeDone: boolean,
): Promise<void> {
  try {
    await endTransactionVisibly(cluster, identity, true)
  } catch (error) {
    const isRemoved = kafkaErrorOf(error) === KAFKA_ERRORS.INVALID_PRODUCER_ID_MAPPING
    if (!isFenced(error) && !(mayBeDone && isRemoved)) throw error
    const outcome =
      mayBeDone && witness !== undefined
        ? await untilDecided(cluster, identity, witness)
        : 'unknown'
    if (outcome === 'committed') return
    if (outcome === 'aborted' || (await timedOut(cluster, identity)))
      throw recordsLost(identity, error)
    // Without a marker, a newer epoch means committed: an id is used again only after its commit.
    if (!mayBeDone || outcome === 'open') throw error
  }
}

/** Waits for the marker of a fenced transaction: it is decided, and the marker follows within ms. */
async function untilDecided(
  cluster: KafkaCluster,
  identity: ProducerIdentity,
  witness: TransactionWitness,
): Promise<TransactionOutcome> {
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + MARKER_TIMEOUT_MS
  for (;;) {
    const outcome = await transactionOutcome(cluster, identity, witness)
    if (outcome !== 'open' || clock.monotonicMs() > giveUpAt) return outcome
    await sleep(clock, MARKER_POLL_MS)
  }
}

/** Whether the coordinator's last operation on the id was to abort this transaction. */
async function timedOut(cluster: KafkaCluster, identity: ProducerIdentity): Promise<boolean> {
  const now = await describeKafkaTransaction(cluster, identity.transactionalId)
  return now?.state.endsWith('Abort') === true && now.epoch === identity.epoch + 1
}

function recordsLost({ transactionalId }: ProducerIdentity, cause: unknown): WeirError {
  const message = `the prepared transaction "${transactionalId}" was aborted, by the broker after its timeout or by a job that took over its id: the records of that checkpoint are lost from the topic; raise transactionTimeoutMs above the longest outage, and restore an older checkpoint to write them again`
  return new WeirError('INVALID_TRANSACTION', message, { cause })
}

/** How a transaction ended; `unknown` when its marker is no longer in the log. */
type TransactionOutcome = 'committed' | 'aborted' | 'open' | 'unknown'

const FETCH_BYTES = 1024 * 1024

/**
 * Finds out how a transaction ended from its topic: by the first marker of its producer after one of
 * its batches. The coordinator does not know the outcome once the id has a newer epoch.
 */
async function transactionOutcome(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  witness: TransactionWitness,
): Promise<TransactionOutcome> {
  for (let { offset } = witness; ; ) {
    const found = await fetchFrom(cluster, witness, offset)
    if (found === undefined) return 'unknown'
    const { outcome, next } = scan(found.records, offset, identity)
    if (outcome !== undefined) return outcome
    // At the end of the partition, or after an empty answer: the caller may try again.
    if (next >= found.limit || next === offset) return 'open'
    offset = next
  }
}

async function fetchFrom(cluster: KafkaCluster, witness: TransactionWitness, offset: number) {
  const { topic, partition } = witness
  const doing = `the end of a transaction in ${topic}/${partition}`
  const request = requestOf(cluster, doing, topicRight('Read', topic))
  return await cluster.retry(doing, async () => {
    const { topicId } = await cluster.topic(topic)
    try {
      const { leader, leaderEpoch } = await cluster.leadershipOf(topic, partition)
      const connection = await cluster.node(leader)
      const answer = await connection.call(fetchApi, {
        topicId,
        partitions: [{ partition, leaderEpoch, offset, lastFetchedEpoch: -1 }],
        maxWaitMs: 0,
        minBytes: 0,
        maxBytes: FETCH_BYTES,
        partitionMaxBytes: FETCH_BYTES,
        readCommitted: false,
      })
      throwKafkaError(answer.error, request)
      const found = answer.partitions[0]!
      if (found.error === KAFKA_ERRORS.OFFSET_OUT_OF_RANGE) return undefined
      throwKafkaError(found.error, request)
      return found
    } catch (error) {
      cluster.forgetLeaders(topic)
      throw error
    }
  })
}

function scan(
  bytes: Uint8Array,
  from: number,
  { producerId, epoch }: TransactionIdentity,
): { readonly outcome: TransactionOutcome | undefined; readonly next: number } {
  let next = from
  for (let at = 0; at + BATCH_PREFIX_SIZE <= bytes.length; ) {
    const end = at + batchSizeAt(bytes, at, bytes.length)
    if (end > bytes.length) break
    next = lastOffsetOf(bytes, at) + 1
    const isMarker = (attributesOf(bytes, at) & CONTROL_BIT) !== 0
    if (isMarker && next > from && producerIdOf(bytes, at) === producerId) {
      // A fenced transaction is aborted under the next epoch. The marker of a later epoch means that
      // compaction removed the marker of this one.
      const ahead = producerEpochOf(bytes, at) - epoch
      const isCommit = isCommitMarker(bytes, at)
      if (ahead === 0) return { outcome: isCommit ? 'committed' : 'aborted', next }
      return { outcome: ahead === 1 && !isCommit ? 'aborted' : 'unknown', next }
    }
    at = end
  }
  return { outcome: undefined, next }
}

function isCommitMarker(bytes: Uint8Array, at: number): boolean {
  const reader = new RecordBatchReader()
  reader.open(bytes, at)
  return reader.next() && readControlType(reader) === 'commit'
}
