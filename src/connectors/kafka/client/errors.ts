import { isWeirError, WeirError } from '../../../core/errors.ts'
import {
  type AccessRight,
  type KafkaRequest,
  missingRight,
  missingRightText,
} from './access-rights.ts'
import { kafkaErrorEntry } from './error-table.ts'

/** Error numbers of the protocol that the client handles. */
export const KAFKA_ERRORS = {
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  MESSAGE_TOO_LARGE: 10,
  OFFSET_METADATA_TOO_LARGE: 12,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  RECORD_LIST_TOO_LARGE: 18,
  ILLEGAL_GENERATION: 22,
  INCONSISTENT_GROUP_PROTOCOL: 23,
  UNKNOWN_MEMBER_ID: 25,
  INVALID_SESSION_TIMEOUT: 26,
  REBALANCE_IN_PROGRESS: 27,
  INVALID_TIMESTAMP: 32,
  TOPIC_ALREADY_EXISTS: 36,
  OUT_OF_ORDER_SEQUENCE_NUMBER: 45,
  DUPLICATE_SEQUENCE_NUMBER: 46,
  INVALID_PRODUCER_EPOCH: 47,
  INVALID_TXN_STATE: 48,
  INVALID_PRODUCER_ID_MAPPING: 49,
  INVALID_TRANSACTION_TIMEOUT: 50,
  CONCURRENT_TRANSACTIONS: 51,
  OPERATION_NOT_ATTEMPTED: 55,
  UNKNOWN_PRODUCER_ID: 59,
  MEMBER_ID_REQUIRED: 79,
  GROUP_MAX_SIZE_REACHED: 81,
  FENCED_INSTANCE_ID: 82,
  INVALID_RECORD: 87,
  UNSTABLE_OFFSET_COMMIT: 88,
  PRODUCER_FENCED: 90,
  UNKNOWN_TOPIC_ID: 100,
  TRANSACTIONAL_ID_NOT_FOUND: 105,
  TRANSACTION_ABORTABLE: 120,
} as const

/**
 * The typed error of a number that a broker answered, as `KAFKA_ERROR_TABLE` says: a retriable one is
 * CONNECTOR_FAILED, an abortable one TRANSACTION_ABORTED or TRANSACTION_FENCED, and a fatal one without its own
 * code is UNSUPPORTED. ACCESS_DENIED names the right that the user needs.
 */
export function kafkaError(
  error: number,
  request: KafkaRequest,
  detail?: string | null,
): WeirError {
  const { name, code = 'UNSUPPORTED' } = kafkaErrorEntry(error)
  const right = missingRight(error, request)
  if (right !== undefined) return accessDenied(error, right, request)
  const { doing } = request
  const because = detail === undefined || detail === null || detail === '' ? '' : ` (${detail})`
  return new WeirError(code, `${doing}: the broker answered ${name}${because}`, {
    details: { kafkaError: error, kafkaErrorName: name },
  })
}

function accessDenied(
  error: number,
  right: AccessRight,
  { doing, principal }: KafkaRequest,
): WeirError {
  const message = `${doing} is not allowed: ${missingRightText(right, principal)}`
  const details = { kafkaError: error, kafkaErrorName: kafkaErrorEntry(error).name, ...right }
  return new WeirError('ACCESS_DENIED', message, {
    details: principal === undefined ? details : { ...details, principal },
  })
}

/** Throws unless `error` is 0. */
export function throwKafkaError(
  error: number,
  request: KafkaRequest,
  detail?: string | null,
): void {
  if (error !== KAFKA_ERRORS.NONE) throw kafkaError(error, request, detail)
}

/** Whether a broker refused a batch because of its size: above the topic's limit, or its segment size. */
export function isTooLarge(error: number): boolean {
  return error === KAFKA_ERRORS.MESSAGE_TOO_LARGE || error === KAFKA_ERRORS.RECORD_LIST_TOO_LARGE
}

/** Whether no repetition of the request succeeds, but another transaction or producer id does. */
export function isAbortable(error: unknown): boolean {
  const number = kafkaErrorOf(error)
  return number !== undefined && kafkaErrorEntry(number).kind === 'abortable'
}

/** The number that a broker answered; undefined for other errors. */
export function kafkaErrorOf(error: unknown): number | undefined {
  if (!isWeirError(error)) return undefined
  const number = error.details['kafkaError']
  return typeof number === 'number' ? number : undefined
}
