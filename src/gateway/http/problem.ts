import type { ErrorCode, ErrorDetails, WeirError } from '../../core/errors.ts'

/** Error answer of the gateway (RFC 9457), as `application/problem+json`. */
export interface Problem {
  /** `urn:weir:error:<code>`. */
  readonly type: string
  /** The code in words. */
  readonly title: string
  readonly status: number
  /** What happened, where, and what to do. */
  readonly detail: string
  readonly code: string
  readonly retryable: boolean
  readonly details?: ErrorDetails
}

/** A problem below `/v2`: clients of the Open Inference Protocol read its field `error`. */
export function inferenceProblem(problem: Problem): Problem & { readonly error: string } {
  return { ...problem, error: problem.detail }
}

/** Media type of a problem. */
export const PROBLEM_TYPE = 'application/problem+json'

/** Seconds after which a request that failed with 429 or 503 may be repeated. */
const RETRY_AFTER_SECONDS = 1

/** HTTP statuses of the codes that are not failures of the server itself (500). */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  UNKNOWN_OPTION: 400,
  MALFORMED_DATA: 400,
  UNPARSABLE_RECORD: 400,
  KEY_TOO_LONG: 400,
  DIMENSION_MISMATCH: 400,
  NOT_FINITE: 400,
  SIGNATURE_MISMATCH: 400,
  UNAUTHENTICATED: 401,
  ACCESS_DENIED: 403,
  UNKNOWN_KEY: 404,
  UNKNOWN_STATE: 404,
  UNKNOWN_TAG: 404,
  UNKNOWN_VERSION: 404,
  UNKNOWN_TOPIC: 404,
  UNKNOWN_MODEL: 404,
  TOPIC_EXISTS: 409,
  VERSION_EXISTS: 409,
  REGISTRY_CONFLICT: 409,
  PROMOTION_REFUSED: 409,
  SEQUENCE_LOST: 409,
  SEQUENCE_OUT_OF_STEP: 409,
  FRAME_TOO_LARGE: 413,
  POISONED_REQUEST: 422,
  MODEL_MEMORY_EXCEEDED: 422,
  UNSUPPORTED: 501,
  REMOTE_MODEL_FAILED: 502,
  OVERLOADED: 503,
  RESTORING: 503,
  MODEL_NOT_LOADED: 503,
  WORKER_LOST: 503,
  NOT_OWNER: 503,
  NOT_UP_TO_BOUND: 503,
  UNAVAILABLE: 503,
  CONNECTOR_FAILED: 503,
  LOG_LOCKED: 503,
  DISK_FULL: 507,
  DEADLINE_EXCEEDED: 504,
}

/** The HTTP status of an error code. */
export function statusOf(code: ErrorCode): number {
  return STATUSES[code] ?? 500
}

/** The problem of an error. */
export function problemOf(error: WeirError): Problem {
  return {
    ...httpProblem(statusOf(error.code), error.code, error.message),
    retryable: error.retryable,
    ...(Object.keys(error.details).length === 0 ? {} : { details: error.details }),
  }
}

/** Header fields that go with a problem: `Retry-After` where waiting helps. */
export function problemFieldsOf({ status }: Problem): Readonly<Record<string, string>> {
  return status === 429 || status === 503 ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {}
}

/** A problem that HTTP itself has, without an error of Weir: an unknown path, a body that is too large. */
export function httpProblem(status: number, code: string, detail: string): Problem {
  return {
    type: `urn:weir:error:${code}`,
    title: code.toLowerCase().replaceAll('_', ' '),
    status,
    detail,
    code,
    retryable: status === 429 || status === 503,
  }
}
