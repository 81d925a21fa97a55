import { sleep } from '../../core/clock.ts'
import type { KafkaCluster } from '../kafka/kafka-cluster.ts'
import { endTransaction, type TransactionIdentity } from '../kafka/kafka-identity.ts'
import { describeKafkaTransaction } from '../kafka/kafka-transactions.ts'

const ENDED_TIMEOUT_MS = 10_000
const ENDED_POLL_MS = 5

/**
 * Commits or aborts a transaction and waits until readers see that: the coordinator answers when it is
 * decided, and the markers follow a little later. That they do is certain, so it waits no longer than
 * 10 s.
 */
export async function endTransactionVisibly(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  commit: boolean,
): Promise<void> {
  await endTransaction(cluster, identity, commit)
  const giveUpAt = cluster.clock.monotonicMs() + ENDED_TIMEOUT_MS
  while (cluster.clock.monotonicMs() < giveUpAt) {
    const now = await describeKafkaTransaction(cluster, identity.transactionalId)
    if (now?.state.startsWith('Prepare') !== true) return
    await sleep(cluster.clock, ENDED_POLL_MS)
  }
}
