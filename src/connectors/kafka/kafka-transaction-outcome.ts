import { readControlType } from '../../batch/control-record.ts'
import {
  attributesOf,
  BATCH_PREFIX_SIZE,
  batchSizeAt,
  CONTROL_BIT,
  lastOffsetOf,
  producerEpochOf,
  producerIdOf,
} from '../../batch/record-batch-format.ts'
import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import type { TransactionWitness } from '../transactions/committable.ts'
import { fetchApi } from './fetch-request.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KAFKA_ERRORS, throwKafkaError } from './kafka-errors.ts'
import type { TransactionIdentity } from './kafka-identity.ts'

/** How a transaction ended; `unknown` when its marker is no longer in the log. */
export type TransactionOutcome = 'committed' | 'aborted' | 'open' | 'unknown'

const FETCH_BYTES = 1024 * 1024

/**
 * What the log says of a transaction: the first marker of its producer behind one of its batches.
 * The coordinator cannot tell any more once the id has a newer epoch.
 */
export async function transactionOutcome(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  witness: TransactionWitness,
): Promise<TransactionOutcome> {
  for (let { offset } = witness; ; ) {
    const found = await fetchFrom(cluster, witness, offset)
    if (found === undefined) return 'unknown'
    const { outcome, next } = scan(found.records, offset, identity)
    if (outcome !== undefined) return outcome
    // At the end of the partition, or nothing came this time: whoever asks may ask again.
    if (next >= found.limit || next === offset) return 'open'
    offset = next
  }
}

async function fetchFrom(cluster: KafkaCluster, witness: TransactionWitness, offset: number) {
  const { topic, partition } = witness
  const doing = `the end of a transaction in ${topic}/${partition}`
  return await cluster.retry(doing, async () => {
    const { topicId } = await cluster.topic(topic)
    try {
      const connection = await cluster.node(await cluster.leaderOf(topic, partition))
      const answer = await connection.call(fetchApi, {
        topicId,
        partitions: [{ partition, leaderEpoch: -1, offset }],
        maxWaitMs: 0,
        minBytes: 0,
        maxBytes: FETCH_BYTES,
        partitionMaxBytes: FETCH_BYTES,
        readCommitted: false,
      })
      throwKafkaError(answer.error, doing)
      const found = answer.partitions[0]!
      if (found.error === KAFKA_ERRORS.OFFSET_OUT_OF_RANGE) return undefined
      throwKafkaError(found.error, doing)
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
      // Whoever fences a transaction aborts it under the next epoch. A later epoch's marker means
      // that ours was compacted away.
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
