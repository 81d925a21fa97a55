import { WeirError } from '../../../core/errors.ts'
import type { KeyPair } from '../port/target.ts'

/** Requests with the times at which they are due. */
export interface Trace {
  /** ms after the start, ascending. [pairs] */
  readonly offsetsMs: Float64Array
  readonly pairs: readonly KeyPair[]
}

const SEPARATOR = /\t|::|,|;| +/

/** The lines of a text with their numbers, without empty ones, comments (`#`) and a header that `isHeader`. */
function linesOf(text: string, isHeader: (line: string) => boolean): [string, number][] {
  return text
    .split(/\r?\n/)
    .map((line, index): [string, number] => [line.trim(), index + 1])
    .filter(([line]) => line !== '' && !line.startsWith('#'))
    .filter(([line], index) => index > 0 || !isHeader(line))
}

const malformed = (line: number, problem: string): WeirError =>
  new WeirError('MALFORMED_DATA', `line ${line}: ${problem}`, { details: { line } })

/**
 * Keys of a text, one request a line: `USER,ITEM`, or one KEY. Columns end in a comma, semicolon, tab,
 * space or `::`; further columns are not read, so a file of ratings will do. Throws MALFORMED_DATA.
 */
export function parseKeys(text: string): readonly KeyPair[] {
  const pairs = linesOf(text, (line) => /^(user|key)/i.test(line)).map(([line, number]) =>
    pairOf(line.split(SEPARATOR), number),
  )
  if (pairs.length === 0) throw new WeirError('MALFORMED_DATA', 'there are no keys in it')
  return pairs
}

function pairOf([user = '', item = '']: readonly string[], line: number): KeyPair {
  if (user === '') throw malformed(line, 'the key is empty; write USER,ITEM or KEY')
  return { user, item }
}

/** A trace, one request a line: `MILLISECONDS,USER,ITEM` or `MILLISECONDS,KEY`. Throws MALFORMED_DATA. */
export function parseTrace(text: string): Trace {
  const lines = linesOf(text, (line) => /^(ms|milliseconds|offset|time)/i.test(line))
  if (lines.length === 0) throw new WeirError('MALFORMED_DATA', 'there are no requests in it')
  const offsetsMs = new Float64Array(lines.length)
  const pairs = lines.map(([line, number], i) => {
    const [offset = '', ...keys] = line.split(SEPARATOR)
    offsetsMs[i] = numberOf(offset, number)
    if (i > 0 && offsetsMs[i]! < offsetsMs[i - 1]!) {
      throw malformed(number, `${offset} ms is before the line above; sort the lines by time`)
    }
    return pairOf(keys, number)
  })
  return { offsetsMs, pairs }
}

/** Time intervals in microseconds, one a line. Throws MALFORMED_DATA. */
export function parseIntervals(text: string): Float64Array {
  const intervals = linesOf(text, () => false).map(([line, number]) => numberOf(line, number))
  if (intervals.every((interval) => interval === 0)) {
    throw new WeirError('MALFORMED_DATA', 'there is no interval above 0 in it')
  }
  return Float64Array.from(intervals)
}

function numberOf(text: string, line: number): number {
  const value = Number(text)
  if (text !== '' && Number.isFinite(value) && value >= 0) return value
  throw malformed(line, `"${text}" is not a number from 0`)
}
