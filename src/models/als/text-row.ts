import { requireArgument, WeirError } from '../../core/errors.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import type { AlsRow } from './row.ts'

/** A row as the text of the ancestor, `<id>,U|I,f1;f2;...`. Throws INVALID_ARGUMENT if the id holds a comma or line break. */
export function formatTextRow(row: AlsRow): string {
  requireArgument(!/[,\r\n]/.test(row.id), `the id "${row.id}" cannot be written in a text row`)
  return `${row.id},${row.kind},${Array.from(row.factors).join(';')}`
}

/**
 * Reads `<id>,U|I,f1;f2;...`. Throws UNPARSABLE_RECORD that names `line` and the column (both from
 * 1) where the text stops making sense.
 */
export function parseTextRow(text: string, line = 1): AlsRow {
  if (typeof text !== 'string') refuseArgument('parseTextRow(...)', text, 'a row, a text')
  if (!Number.isSafeInteger(line))
    refuseArgument('parseTextRow(...)', line, 'the number of the line')
  const firstComma = text.indexOf(',')
  if (firstComma <= 0) throw textRowError(line, 1, 'an id followed by a comma')
  const kind = text[firstComma + 1]
  if ((kind !== 'U' && kind !== 'I') || text[firstComma + 2] !== ',') {
    throw textRowError(line, firstComma + 2, 'U or I followed by a comma')
  }
  const factors = parseFactors(text, firstComma + 3, line)
  return { id: text.slice(0, firstComma), kind, factors }
}

function parseFactors(text: string, start: number, line: number): Float32Array {
  const factors: number[] = []
  for (let from = start; from <= text.length; ) {
    const semicolon = text.indexOf(';', from)
    const to = semicolon < 0 ? text.length : semicolon
    const part = text.slice(from, to).trim()
    const factor = part === '' ? Number.NaN : Number(part)
    if (!Number.isFinite(factor)) throw textRowError(line, from + 1, 'a finite number')
    factors.push(factor)
    from = to + 1
  }
  return Float32Array.from(factors)
}

function textRowError(line: number, column: number, expected: string): WeirError {
  return new WeirError(
    'UNPARSABLE_RECORD',
    `line ${line}, column ${column} of the model rows: expected ${expected}; a row is <id>,U|I,f1;f2;...`,
    { details: { line, column } },
  )
}
