import { ERROR_CODES, type ErrorCode, WeirError } from '../../../core/errors.ts'

const MESSAGE_CHARACTERS = 200

/** Codes of statuses whose answers name none. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'ACCESS_DENIED',
  404: 'NOT_FOUND',
  405: 'UNSUPPORTED',
  408: 'DEADLINE_EXCEEDED',
  413: 'FRAME_TOO_LARGE',
  429: 'OVERLOADED',
  501: 'UNSUPPORTED',
  503: 'OVERLOADED',
  504: 'DEADLINE_EXCEEDED',
}

/**
 * The failure that an HTTP answer reports by its status; undefined if nothing failed. The code is that of
 * Weir's gateway if the answer has one.
 */
export function failureOf(status: number, body: Buffer): WeirError | undefined {
  return status < 400 ? undefined : errorOf(status, body)
}

/** As `failureOf`; predictions that were answered may contain the failure of one pair, too. */
export function predictionFailureOf(status: number, body: Buffer): WeirError | undefined {
  return status < 400 && !body.includes('"error":{') ? undefined : errorOf(status, body)
}

function errorOf(status: number, body: Buffer): WeirError {
  const text = body.toString('utf8')
  const named = /"code":"([A-Z_]+)"/.exec(text)?.[1]
  const quoted = /"detail":("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  const detail = quoted === undefined ? text : (JSON.parse(quoted) as string)
  return new WeirError(
    codeOf(status, named),
    `HTTP ${status}: ${detail.slice(0, MESSAGE_CHARACTERS)}`,
  )
}

function codeOf(status: number, named: string | undefined): ErrorCode {
  // A token that has used up its rate is refused for the load that it makes.
  if (status === 429) return 'OVERLOADED'
  if (named !== undefined && Object.hasOwn(ERROR_CODES, named)) return named as ErrorCode
  return CODES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'UNAVAILABLE')
}
