import { sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { Committable, TransactionWitness } from '../transactions/committable.ts'
import type { ProducerIdentity } from '../transactions/producer-identity.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { KAFKA_ERRORS, kafkaErrorOf } from './client/errors.ts'
import { isFenced } from './client/identity.ts'
import { describeKafkaTransaction } from './client/transactions.ts'
import { endTransactionVisibly } from './transaction-end.ts'
import { type TransactionOutcome, transactionOutcome } from './transaction-outcome.ts'

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
