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

function jsonOf(line: string): unknown {
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
