import { requestOf } from './access-rights.ts'
import type { KafkaCluster } from './cluster.ts'
import { KAFKA_ERRORS, kafkaErrorOf, throwKafkaError } from './errors.ts'
import type { TransactionIdentity } from './identity.ts'
import { describeTransactionsV0, listTransactionsV0 } from './library.ts'

/** A transactional id in its coordinator's list. */
export interface KafkaTransaction {
  readonly transactionalId: string
  readonly producerId: number
  /** Kafka's name: `Empty`, `Ongoing`, `PrepareCommit`, `CompleteCommit`, `CompleteAbort` ... */
  readonly state: string
}

/** A transactional id in detail. */
export interface KafkaTransactionDescription extends TransactionIdentity {
  readonly state: string
  readonly timeoutMs: number
  /** When the open transaction began, ms since 1970, -1 when none is open. */
  readonly startedMs: number
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[]
}

/** The transactional ids that begin with `prefix`, of every coordinator. */
export async function listKafkaTransactions(
  cluster: KafkaCluster,
  prefix = '',
): Promise<KafkaTransaction[]> {
  const doing = 'the list of transactions'
  const found = await cluster.retry(doing, async () => {
    const nodes = await cluster.liveNodes()
    return await Promise.all(
      nodes.map(async (node) => {
        const connection = await cluster.node(node)
        const answer = await connection.call(listTransactionsV0.api, [], [], -1n, null)
        throwKafkaError(answer.errorCode, requestOf(cluster, doing))
        return answer.transactionStates
      }),
    )
  })
  return found
    .flat()
    .map(({ transactionalId, producerId, transactionState }) => ({
      transactionalId,
      producerId: Number(producerId),
      state: String(transactionState),
    }))
    .filter(({ transactionalId }) => transactionalId.startsWith(prefix))
    .sort((a, b) => (a.transactionalId < b.transactionalId ? -1 : 1))
}

/** Description of a transactional id; undefined when the coordinator has removed it or never had it. */
export async function describeKafkaTransaction(
  cluster: KafkaCluster,
  transactionalId: string,
): Promise<KafkaTransactionDescription | undefined> {
  try {
    const answer = await cluster.callCoordinator({
      kind: 'transaction',
      key: transactionalId,
      doing: `state of "${transactionalId}"`,
      request: (connection) => connection.call(describeTransactionsV0.api, [transactionalId]),
      errorOf: ({ transactionStates }) => transactionStates[0]!.errorCode,
    })
    const state = answer.transactionStates[0]!
    return {
      transactionalId,
      producerId: Number(state.producerId),
      epoch: state.producerEpoch,
      state: state.transactionState,
      timeoutMs: state.transactionTimeoutMs,
      startedMs: Number(state.transactionStartTimeMs),
      topics: state.topics,
    }
  } catch (error) {
    if (kafkaErrorOf(error) === KAFKA_ERRORS.TRANSACTIONAL_ID_NOT_FOUND) return undefined
    throw error
  }
}
