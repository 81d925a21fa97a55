import { isWeirError, WeirError } from '../../../core/errors.ts'
import { clusterRight, requestOf } from './access-rights.ts'
import type { KafkaCluster } from './cluster.ts'
import { KAFKA_ERRORS, kafkaErrorOf, throwKafkaError } from './errors.ts'
import { endTxnV3, initProducerIdV4 } from './library.ts'
import { describeBrokerConfig } from './topics.ts'

/** Identity of a producer, by which the broker drops repeated batches. */
export interface KafkaIdentity {
  /** Undefined for a producer that is idempotent but not transactional. */
  readonly transactionalId: string | undefined
  readonly producerId: number
  readonly epoch: number
}

/** Identity of a transactional producer. */
export interface TransactionIdentity extends KafkaIdentity {
  readonly transactionalId: string
}

/** Requests a new identity without transactions. */
export async function idempotentIdentity(cluster: KafkaCluster): Promise<KafkaIdentity> {
  const request = requestOf(cluster, 'a producer id', clusterRight('IdempotentWrite'))
  const answer = await cluster.retry(request.doing, async () => {
    const connection = await cluster.anyBroker()
    const found = await connection.call(initProducerIdV4.api, null, 60_000, -1n, -1)
    throwKafkaError(found.errorCode, request)
    return found
  })
  return {
    transactionalId: undefined,
    producerId: Number(answer.producerId),
    epoch: answer.producerEpoch,
  }
}

/**
 * Requests an identity with a new epoch: fences older users of the id and aborts their open
 * transaction. `timeoutMs`: the broker aborts a transaction that is open for longer. Throws
 * INVALID_ARGUMENT when that is above the broker's limit.
 */
export async function transactionIdentity(
  cluster: KafkaCluster,
  transactionalId: string,
  timeoutMs: number,
): Promise<TransactionIdentity> {
  try {
    const answer = await cluster.callCoordinator({
      kind: 'transaction',
      key: transactionalId,
      doing: `a producer id for "${transactionalId}"`,
      request: (connection) =>
        connection.call(initProducerIdV4.api, transactionalId, timeoutMs, -1n, -1),
      errorOf: ({ errorCode }) => errorCode,
    })
    return {
      transactionalId,
      producerId: Number(answer.producerId),
      epoch: answer.producerEpoch,
    }
  } catch (error) {
    if (kafkaErrorOf(error) !== KAFKA_ERRORS.INVALID_TRANSACTION_TIMEOUT) throw error
    throw await timeoutTooLong(cluster, timeoutMs, error)
  }
}

async function timeoutTooLong(
  cluster: KafkaCluster,
  timeoutMs: number,
  cause: unknown,
): Promise<WeirError> {
  const allowed = await describeBrokerConfig(cluster, 'transaction.max.timeout.ms').catch(
    () => undefined,
  )
  const limit = allowed === undefined ? '' : ` of ${allowed} ms`
  const message = `a transaction timeout of ${timeoutMs} ms is above the broker's transaction.max.timeout.ms${limit}: lower transactionTimeoutMs or raise the broker's; it must cover the checkpoint interval and the longest restart`
  return new WeirError('INVALID_ARGUMENT', message, { cause })
}

/** Answers to the end of a transaction that has ended already: here another transaction does not help. */
const ENDED_OTHERWISE: ReadonlySet<number | undefined> = new Set([
  KAFKA_ERRORS.INVALID_TXN_STATE,
  KAFKA_ERRORS.INVALID_PRODUCER_ID_MAPPING,
  KAFKA_ERRORS.TRANSACTION_ABORTABLE,
])

/**
 * Commits or aborts a transaction by its handle, also after a crash of its producer. Repeating it is
 * harmless as long as the id has no newer epoch. Throws INVALID_TRANSACTION when it ended the other
 * way, TRANSACTION_FENCED when there is a newer epoch.
 */
export async function endTransaction(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  commit: boolean,
): Promise<void> {
  const { transactionalId, producerId, epoch } = identity
  try {
    await cluster.callCoordinator({
      kind: 'transaction',
      key: transactionalId,
      doing: `${commit ? 'commit' : 'abort'} of "${transactionalId}"`,
      request: (connection) =>
        connection.call(endTxnV3.api, transactionalId, BigInt(producerId), epoch, commit),
      errorOf: ({ errorCode }) => errorCode,
    })
  } catch (error) {
    if (!isWeirError(error) || !ENDED_OTHERWISE.has(kafkaErrorOf(error))) throw error
    const { message, details } = error
    throw new WeirError('INVALID_TRANSACTION', message, { cause: error, details })
  }
}

/** Whether an error means that a newer epoch of the id exists. */
export function isFenced(error: unknown): boolean {
  return isWeirError(error, 'TRANSACTION_FENCED')
}
