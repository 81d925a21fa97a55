import { sleep } from '../../core/clock.ts'
import type { KafkaCluster } from './client/cluster.ts'
import { endTransaction, type TransactionIdentity } from './client/identity.ts'
import { describeKafkaTransaction } from './client/transactions.ts'

const VISIBLE_TIMEOUT_MS = 10_000
const VISIBLE_POLL_MS = 2

/**
 * Commits or aborts a transaction and waits until readers see that. The coordinator answers when the
 * end is decided; its markers follow within milliseconds. Because they certainly follow, a timeout is
 * not an error.
 */
export async function endTransactionVisibly(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  commit: boolean,
): Promise<void> {
  await endTransaction(cluster, identity, commit)
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + VISIBLE_TIMEOUT_MS
  while (clock.monotonicMs() < giveUpAt) {
    const now = await describeKafkaTransaction(cluster, identity.transactionalId)
    if (now?.state.startsWith('Prepare') !== true) return
    await sleep(clock, VISIBLE_POLL_MS)
  }
}
