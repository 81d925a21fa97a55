import { requireArgument } from '../../core/errors.ts'
import { CONSISTENCY_GRAMMAR, parseConsistency } from '../../wire/consistency-text.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'

/** Milliseconds until a request without a deadline ends with DEADLINE_EXCEEDED. */
export const DEFAULT_DEADLINE_MS = 5000

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
        maximum: 60_000,
        default: DEFAULT_DEADLINE_MS,
        description: 'Milliseconds until the request ends with DEADLINE_EXCEEDED.',
      },
    },
  },
  version: {
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Model version to read; without it the live one.',
  },
} as const

/** Header fields of `QUERY_OPTION_SCHEMAS.headers` after validation. */
export interface QueryOptionHeaders {
  readonly 'weir-consistency': string
  readonly 'weir-deadline-ms': number
}

/** The options of a request's reads. Throws INVALID_ARGUMENT. */
export function queryOptionsOf(
  headers: QueryOptionHeaders,
  version: number | undefined,
): QueryOptions {
  const text = headers['weir-consistency']
  const consistency = parseConsistency(text)
  requireArgument(
    consistency !== undefined,
    `the header weir-consistency must be ${CONSISTENCY_GRAMMAR}, not "${text}"`,
  )
  const deadlineMs = headers['weir-deadline-ms']
  return version === undefined ? { consistency, deadlineMs } : { consistency, deadlineMs, version }
}
