import type { IncomingHttpHeaders } from 'node:http'
import { requireArgument } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { CONSISTENCY_GRAMMAR, parseConsistency } from '../../wire/consistency-text.ts'
import type { Consistency, QueryOptions } from '../../wire/model-reader.ts'
import { consistencyOfSession, SESSION_HEADER, SESSION_SCHEMA } from './session.ts'

/** Milliseconds until a request without a deadline ends with DEADLINE_EXCEEDED. */
export const DEFAULT_DEADLINE_MS = 5000

const MAX_DEADLINE_MS = 60_000

/** Header of the time that a request has. */
export const DEADLINE_HEADER = 'weir-deadline-ms'

/** Header fields and query parameters that say how a route reads state. */
export const QUERY_OPTION_SCHEMAS = {
  headers: {
    type: 'object',
    properties: {
      'weir-consistency': {
        type: 'string',
        maxLength: 80,
        default: 'live',
        pattern: '^(live|checkpoint|bounded:[0-9]{1,15}|at-least(:[0-9]{1,15}){2,3})$',
        description: `How fresh or consistent the answer must be: ${CONSISTENCY_GRAMMAR}.`,
      },
      'weir-deadline-ms': {
        type: 'integer',
        minimum: 1,
        maximum: MAX_DEADLINE_MS,
        default: DEFAULT_DEADLINE_MS,
        description: 'Milliseconds until the request ends with DEADLINE_EXCEEDED.',
      },
      [SESSION_HEADER]: SESSION_SCHEMA,
    },
  },
  version: {
    type: 'integer',
    minimum: 1,
    maximum: HIGHEST_VERSION,
    description: 'Model version to read; without it the live one.',
  },
} as const

const { 'weir-deadline-ms': DEADLINE_SCHEMA } = QUERY_OPTION_SCHEMAS.headers.properties

/** Header fields of routes that append observations. */
export const WRITE_HEADERS = {
  type: 'object',
  properties: { 'weir-deadline-ms': DEADLINE_SCHEMA, [SESSION_HEADER]: SESSION_SCHEMA },
} as const

/** Header fields of `QUERY_OPTION_SCHEMAS.headers` after validation. */
export interface QueryOptionHeaders {
  readonly 'weir-consistency': string
  readonly 'weir-deadline-ms': number
  readonly [SESSION_HEADER]?: string
}

/** The options of a request's reads. Throws INVALID_ARGUMENT. */
export function queryOptionsOf(
  headers: QueryOptionHeaders,
  version: number | undefined,
): QueryOptions {
  const consistency = consistencyOf(headers['weir-consistency'], headers[SESSION_HEADER])
  const deadlineMs = headers['weir-deadline-ms']
  return version === undefined ? { consistency, deadlineMs } : { consistency, deadlineMs, version }
}

/**
 * The options that the header of a request gives, on a route that no schema validates; a field that is missing gives none.
 * Throws INVALID_ARGUMENT.
 */
export function givenQueryOptions(
  headers: IncomingHttpHeaders,
): Pick<QueryOptions, 'consistency' | 'deadlineMs'> {
  const { 'weir-consistency': text, 'weir-deadline-ms': deadline } = headers
  const session = headers[SESSION_HEADER]?.toString()
  return {
    ...(text === undefined && session === undefined
      ? {}
      : { consistency: consistencyOf(String(text ?? 'live'), session) }),
    ...(deadline === undefined ? {} : { deadlineMs: deadlineOf(String(deadline)) }),
  }
}

/** The consistency of a request: that of its session, if it has one. */
function consistencyOf(text: string, session: string | undefined): Consistency {
  const ofSession = session === undefined ? undefined : consistencyOfSession(session)
  if (ofSession !== undefined) {
    requireArgument(
      text === 'live',
      `a request has the header ${SESSION_HEADER} or weir-consistency, not both; leave one out`,
    )
    return ofSession
  }
  const consistency = parseConsistency(text)
  requireArgument(
    consistency !== undefined,
    `the header weir-consistency must be ${CONSISTENCY_GRAMMAR}, not "${text}"`,
  )
  return consistency
}

/** The milliseconds of the header `weir-deadline-ms`. Throws INVALID_ARGUMENT. */
export function deadlineOf(text: string): number {
  const deadlineMs = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
  requireArgument(
    deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS,
    `the header weir-deadline-ms must be a whole number from 1 to ${MAX_DEADLINE_MS}, not "${text.slice(0, 40)}"`,
  )
  return deadlineMs
}
