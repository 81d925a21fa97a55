import { type ErrorCode, isWeirError, WeirError } from '../../../core/errors.ts'
import {
  type AccessRight,
  type KafkaRequest,
  missingRight,
  missingRightText,
} from './access-rights.ts'
import { protocolErrorsCodesById } from './library.ts'

/** Error numbers of the protocol that the client handles. */
export const KAFKA_ERRORS = {
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  MESSAGE_TOO_LARGE: 10,
  COORDINATOR_NOT_AVAILABLE: 15,
  NOT_COORDINATOR: 16,
  RECORD_LIST_TOO_LARGE: 18,
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
  PRODUCER_FENCED: 90,
  UNKNOWN_TOPIC_ID: 100,
  TRANSACTIONAL_ID_NOT_FOUND: 105,
} as const

/** Numbers after which the same request may succeed later, mostly with new metadata. */
const RETRYABLE = new Set([
  -1, 2, 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 88,
  89, 100, 103, 106,
])

const CODES: ReadonlyMap<number, ErrorCode> = new Map([
  [1, 'OFFSET_OUT_OF_RANGE'],
  [10, 'FRAME_TOO_LARGE'],
  [18, 'FRAME_TOO_LARGE'],
  [29, 'ACCESS_DENIED'],
  [30, 'ACCESS_DENIED'],
  [31, 'ACCESS_DENIED'],
  [36, 'TOPIC_EXISTS'],
  [47, 'TRANSACTION_FENCED'],
  [48, 'INVALID_TRANSACTION'],
  [49, 'INVALID_TRANSACTION'],
  [50, 'INVALID_ARGUMENT'],
  [53, 'ACCESS_DENIED'],
  [58, 'UNAUTHENTICATED'],
  [90, 'TRANSACTION_FENCED'],
  [105, 'INVALID_TRANSACTION'],
])

const NAMES: Readonly<Record<number, string>> = protocolErrorsCodesById

/** The protocol's name of an error number, such as `NOT_LEADER_OR_FOLLOWER`. */
function kafkaErrorName(error: number): string {
  return NAMES[error] ?? `error ${error}`
}

/**
 * The typed error of a number that a broker answered. A temporary error is CONNECTOR_FAILED, which is
 * retryable; a permanent one without its own code is UNSUPPORTED. ACCESS_DENIED names the right that
 * the user needs.
 */
export function kafkaError(
  error: number,
  request: KafkaRequest,
  detail?: string | null,
): WeirError {
  const name = kafkaErrorName(error)
  const right = missingRight(error, request)
  if (right !== undefined) return accessDenied(error, right, request)
  const { doing } = request
  const code = RETRYABLE.has(error) ? 'CONNECTOR_FAILED' : (CODES.get(error) ?? 'UNSUPPORTED')
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
  const details = { kafkaError: error, kafkaErrorName: kafkaErrorName(error), ...right }
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

/** The number that a broker answered; undefined for other errors. */
export function kafkaErrorOf(error: unknown): number | undefined {
  if (!isWeirError(error)) return undefined
  const number = error.details['kafkaError']
  return typeof number === 'number' ? number : undefined
}
