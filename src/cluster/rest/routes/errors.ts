import { type ErrorCode, isWeirError, messageOf } from '../../../core/errors.ts'

/** HTTP status of each code that means something else than 500. */
const STATUS_OF: Readonly<Partial<Record<ErrorCode, number>>> = {
  NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  CHECKPOINT_NOT_FOUND: 404,
  UNKNOWN_TOPIC: 404,
  UNKNOWN_STATE: 404,
  UNKNOWN_KEY: 404,
  UNKNOWN_VERSION: 404,
  INVALID_ARGUMENT: 400,
  UNKNOWN_OPTION: 400,
  INVALID_GRAPH: 400,
  KEY_TOO_LONG: 400,
  FRAME_TOO_LARGE: 413,
  UNAUTHENTICATED: 401,
  ACCESS_DENIED: 403,
  ILLEGAL_STATE: 409,
  PROMOTION_REFUSED: 409,
  REGISTRY_CONFLICT: 409,
  UNSUPPORTED: 501,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
  RESTORING: 503,
  NOT_UP_TO_BOUND: 503,
  SLOT_LOST: 503,
  LOG_LOCKED: 503,
  CONNECTOR_FAILED: 503,
  DEADLINE_EXCEEDED: 504,
}

/** An answer to a request that failed, in Flink's form. */
export interface ErrorAnswer {
  readonly status: number
  readonly body: { readonly errors: readonly string[] }
}

/** The answer to an error of a route; of an error that is no WeirError the client learns the message only. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (isWeirError(error)) {
    return { status: STATUS_OF[error.code] ?? 500, body: errors(`${error.code}: ${error.message}`) }
  }
  const status = statusOf(error)
  return { status, body: errors(messageOf(error)) }
}

function errors(sentence: string): ErrorAnswer['body'] {
  return { errors: [sentence] }
}

/** Fastify's errors about a request (schema, size, content type) have their status. */
function statusOf(error: unknown): number {
  const given = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof given === 'number' && given >= 400 && given < 600 ? given : 500
}
