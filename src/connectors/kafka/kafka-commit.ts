import { sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { ProducerIdentity } from '../log/log-backend.ts'
import type { Committable, TransactionWitness } from '../transactions/committable.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import { KAFKA_ERRORS, kafkaErrorOf } from './kafka-errors.ts'
import { endTransaction, isFenced } from './kafka-identity.ts'
import { type TransactionOutcome, transactionOutcome } from './kafka-transaction-outcome.ts'
import { describeKafkaTransaction } from './kafka-transactions.ts'

const VISIBLE_TIMEOUT_MS = 5_000
const VISIBLE_POLL_MS = 2

/**
 * Commits a prepared transaction. A restored handle may have been committed before (`mayBeDone`):
 * when its id has a newer epoch, or is forgotten, the marker in the log decides, and an aborted one
 * is an error, for its records are lost. For a handle of this life a newer epoch means that a
 * successor took over, or that the broker's timeout aborted it.
 */
export async function commitPrepared(
  cluster: KafkaCluster,
  { identity, witness }: Committable,
  mayBeDone: boolean,
): Promise<void> {
  try {
    await endTransaction(cluster, identity, true)
    await untilVisible(cluster, identity.transactionalId)
  } catch (error) {
    const isForgotten = kafkaErrorOf(error) === KAFKA_ERRORS.INVALID_PRODUCER_ID_MAPPING
    if (!isFenced(error) && !(mayBeDone && isForgotten)) throw error
    const outcome =
      mayBeDone && witness !== undefined
        ? await untilDecided(cluster, identity, witness)
        : 'unknown'
    if (outcome === 'committed') return
    if (outcome === 'aborted' || (await timedOut(cluster, identity))) throw lost(identity, error)
    // Without a marker to look at: an id is used again only after its commit.
    if (!mayBeDone || outcome === 'open') throw error
  }
}

/** A fenced transaction is decided; its marker follows within milliseconds. */
async function untilDecided(
  cluster: KafkaCluster,
  identity: ProducerIdentity,
  witness: TransactionWitness,
): Promise<TransactionOutcome> {
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + VISIBLE_TIMEOUT_MS
  for (;;) {
    const outcome = await transactionOutcome(cluster, identity, witness)
    if (outcome !== 'open' || clock.monotonicMs() > giveUpAt) return outcome
    await sleep(clock, VISIBLE_POLL_MS)
  }
}

/** Whether the coordinator's last deed on the id was to abort this transaction. */
async function timedOut(cluster: KafkaCluster, identity: ProducerIdentity): Promise<boolean> {
  const now = await describeKafkaTransaction(cluster, identity.transactionalId)
  return now?.state.endsWith('Abort') === true && now.epoch === identity.epoch + 1
}

function lost({ transactionalId }: ProducerIdentity, cause: unknown): WeirError {
  const message = `the prepared transaction "${transactionalId}" was aborted, by the broker after its timeout or by a job that took its id over: the records of that checkpoint are lost from the topic; raise transactionTimeoutMs above the longest outage, and restore an older checkpoint to write them again`
  return new WeirError('INVALID_TRANSACTION', message, { cause })
}

/**
 * The coordinator answers a commit when it is decided; its markers follow within milliseconds. That
 * they do is certain, so nothing fails when they take longer than is worth waiting for.
 */
async function untilVisible(cluster: KafkaCluster, transactionalId: string): Promise<void> {
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + VISIBLE_TIMEOUT_MS
  while (clock.monotonicMs() < giveUpAt) {
    const now = await describeKafkaTransaction(cluster, transactionalId)
    if (now?.state !== 'PrepareCommit') return
    await sleep(clock, VISIBLE_POLL_MS)
  }
}
