import { isUtf8 } from 'node:buffer'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { RatingsParser } from '../../models/ratings/parser.ts'
import { LARGEST_RATING, type Rating } from '../../models/ratings/rating.ts'
import { OBSERVED_ID_SCHEMA } from '../http/schemas.ts'

/** An observation as JSON. */
export interface JsonObservation {
  readonly user: string
  readonly item: string
  readonly rating: number
  /** Unix milliseconds. */
  readonly timestamp?: number
}

/** Schema of an observation as JSON. */
export const OBSERVATION_SCHEMA = {
  type: 'object',
  required: ['user', 'item', 'rating'],
  additionalProperties: false,
  properties: {
    user: OBSERVED_ID_SCHEMA,
    item: OBSERVED_ID_SCHEMA,
    rating: { type: 'number', minimum: -LARGEST_RATING, maximum: LARGEST_RATING },
    timestamp: {
      type: 'integer',
      minimum: 0,
      maximum: 253_402_300_799_999,
      description: 'Unix milliseconds; without it the topic has the time of arrival only.',
    },
  },
} as const

/** Schema of observations as CSV. */
export const CSV_SCHEMA = {
  type: 'string',
  description:
    'A line `user,item,rating[,Unix seconds]` for each observation; a header line is skipped.',
} as const

/** The observation of a JSON object. */
export function observationOf({ user, item, rating, timestamp }: JsonObservation): Rating {
  return { user, item, rating, timestamp: timestamp ?? NO_TIMESTAMP }
}

/** Observations of CSV: `user,item,rating[,seconds]` a line, with or without a header. Throws UNPARSABLE_RECORD. */
export function observationsOfCsv(body: Buffer): Rating[] {
  const observations: Rating[] = []
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => observations.push({ user, item, rating, timestamp }),
    { format: 'csv' },
  )
  requireUtf8(body)
  requireShortLines(body)
  parser.push(body)
  parser.end()
  return observations
}

/**
 * Observations of NDJSON: an object a line; empty lines are skipped. `isValid` checks the shape. Throws
 * UNPARSABLE_RECORD with the number of the line.
 */
export function observationsOfNdjson(
  body: Buffer,
  isValid: (value: unknown) => value is JsonObservation,
): Rating[] {
  requireUtf8(body)
  return body
    .toString('utf8')
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [observationOfLine(line, i + 1, isValid)]))
}

function observationOfLine(
  line: string,
  number: number,
  isValid: (value: unknown) => value is JsonObservation,
): Rating {
  const value = jsonOf(line)
  if (isValid(value)) return observationOf(value)
  throw new WeirError(
    'UNPARSABLE_RECORD',
    `line ${number} is no observation; write {"user":"1","item":"50","rating":4}`,
    { details: { line: number } },
  )
}

/** Throws INVALID_ARGUMENT: other bytes would become one id of question marks. */
function requireUtf8(body: Buffer): void {
  requireArgument(isUtf8(body), 'the body is no UTF-8')
}

/** A longer line is no observation: two ids and two numbers. */
const MAX_LINE_CHARACTERS = 16 * 1024

/** Throws UNPARSABLE_RECORD with the number of a line that is too long. */
function requireShortLines(body: Buffer): void {
  let line = 1
  for (let at = 0; at < body.length; line++) {
    const end = body.indexOf('\n', at)
    const next = end < 0 ? body.length : end + 1
    if (next - at > MAX_LINE_CHARACTERS) {
      const message = `line ${line} has more than ${MAX_LINE_CHARACTERS} bytes; write user,item,rating`
      throw new WeirError('UNPARSABLE_RECORD', message, { details: { line } })
    }
    at = next
  }
}

function jsonOf(line: string): unknown {
  if (line.length > MAX_LINE_CHARACTERS) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Throws INVALID_ARGUMENT if there are no observations. */
export function requireObservations(observations: readonly Rating[]): void {
  requireArgument(observations.length > 0, 'the body holds no observation')
}
