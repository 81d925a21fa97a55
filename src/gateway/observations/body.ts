import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { RatingsParser } from '../../models/ratings/parser.ts'
import { LARGEST_RATING, type Rating } from '../../models/ratings/rating.ts'
import { MAX_ID_LENGTH, OBSERVED_ID_SCHEMA } from '../http/schemas.ts'

/** An observation as JSON. */
export interface JsonObservation {
  readonly user: string
  readonly item: string
  readonly rating: number
  /** Unix milliseconds. */
  readonly timestamp?: number
}

/** The last millisecond that a line of a topic can say: its seconds would otherwise be read as milliseconds. */
const LATEST_MS = 99_999_999_999_999

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
      maximum: LATEST_MS,
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

/**
 * The observation of a body of JSON that certainly is what the schema says; undefined for every other body. A character of the
 * text is a byte.
 */
export function plainObservationOf(body: string): Rating | undefined {
  const text = utf8Of(body)
  const value = text === undefined ? undefined : jsonOf(text)
  return isPlain(value) ? observationOf(value) : undefined
}

/** The text of bytes, a character each; undefined if they are no UTF-8. */
function utf8Of(text: string): string | undefined {
  if (Buffer.byteLength(text) === text.length) return text
  const bytes = Buffer.from(text, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

function isPlain(value: unknown): value is JsonObservation {
  if (typeof value !== 'object' || value === null) return false
  const { user, item, rating, timestamp } = value as Partial<Record<string, unknown>>
  const fields = Object.keys(value).length
  return (
    isPlainId(user) &&
    isPlainId(item) &&
    typeof rating === 'number' &&
    Math.abs(rating) <= LARGEST_RATING &&
    (fields === 3 || (fields === 4 && isTime(timestamp)))
  )
}

function isPlainId(id: unknown): boolean {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && !/[\r\n]/.test(id)
}

function isTime(ms: unknown): boolean {
  return Number.isInteger(ms) && (ms as number) >= 0 && (ms as number) <= LATEST_MS
}

/**
 * Observations of CSV: `user,item,rating[,seconds]` a line, with or without a header. Throws UNPARSABLE_RECORD, and
 * INVALID_ARGUMENT for bytes that are no UTF-8.
 */
export async function observationsOfCsv(body: Buffer): Promise<Rating[]> {
  const observations: Rating[] = []
  const parser = new RatingsParser(
    (user, item, rating, timestamp) => observations.push({ user, item, rating, timestamp }),
    { format: 'csv' },
  )
  await eachSlice(body, (lines) => parser.push(lines))
  parser.end()
  return observations
}

/**
 * Observations of NDJSON: an object a line; empty lines are skipped. `isValid` checks the shape. Throws
 * UNPARSABLE_RECORD with the number of the line.
 */
export async function observationsOfNdjson(
  body: Buffer,
  isValid: (value: unknown) => value is JsonObservation,
): Promise<Rating[]> {
  const observations: Rating[] = []
  await eachSlice(body, (lines, first) => {
    for (const [i, line] of lines.toString('utf8').split('\n').entries()) {
      if (line.trim() !== '') observations.push(observationOfLine(line, first + i, isValid))
    }
  })
  return observations
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

/** Bytes that are read in one turn: a body has up to eight million lines, and other clients wait for their turn. */
const SLICE_BYTES = 64 * 1024

/**
 * Gives a body to `take` in slices of whole lines, with the number of their first line, one in each turn. Throws
 * INVALID_ARGUMENT for bytes that are no UTF-8, which would become one id of question marks, and UNPARSABLE_RECORD
 * for a line that is too long.
 */
async function eachSlice(
  body: Buffer,
  take: (lines: Buffer, first: number) => void,
): Promise<void> {
  requireArgument(isUtf8(body), 'the body is no UTF-8')
  let line = 1
  for (let at = 0; at < body.length; ) {
    if (at > 0) await nextTurn()
    const end = endOfSlice(body, at)
    const lines = body.subarray(at, end)
    const next = requireShortLines(lines, line)
    take(lines, line)
    at = end
    line = next
  }
}

/** End of a slice that begins at `at`: of its last whole line, or in the middle of a line that is too long. */
function endOfSlice(body: Buffer, at: number): number {
  if (body.length - at <= SLICE_BYTES) return body.length
  const end = body.lastIndexOf('\n', at + SLICE_BYTES - 1) + 1
  return end > at ? end : at + SLICE_BYTES
}

/** A longer line is no observation: two ids and two numbers. */
const MAX_LINE_BYTES = 16 * 1024

/** The number of the line after these. Throws UNPARSABLE_RECORD with the number of a line that is too long. */
function requireShortLines(lines: Buffer, first: number): number {
  let line = first
  for (let at = 0; at < lines.length; line++) {
    const end = lines.indexOf('\n', at)
    const next = end < 0 ? lines.length : end + 1
    if (next - at > MAX_LINE_BYTES) {
      const message = `line ${line} has more than ${MAX_LINE_BYTES} bytes: an observation has two ids and two numbers`
      throw new WeirError('UNPARSABLE_RECORD', message, { details: { line } })
    }
    at = next
  }
  return line
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
