import { WeirError } from '../errors.ts'

const QUOTE = '"'

/** One field of a row. `quoted` distinguishes the empty text `""` from no value. */
export interface CsvField {
  readonly text: string
  readonly quoted: boolean
}

/**
 * Splits one row of RFC 4180: fields are between separators; those in quotes may hold separators, line
 * breaks and quotes (doubled). One line end after the last field is skipped. Throws
 * UNPARSABLE_RECORD that names the column (from 1).
 */
export function splitCsvRow(row: string, separator: string): CsvField[] {
  const text = withoutLineEnd(row)
  const fields: CsvField[] = []
  for (let from = 0; ; ) {
    const quoted = text[from] === QUOTE
    const end = quoted
      ? closingQuote(text, from, fields.length + 1) + 1
      : plainEnd(text, from, separator)
    if (quoted) {
      fields.push({ text: text.slice(from + 1, end - 1).replaceAll('""', QUOTE), quoted })
      if (end < text.length && text[end] !== separator) {
        throw csvError(fields.length, `"${text[end]}" follows the closing quote`)
      }
    } else fields.push({ text: checked(text.slice(from, end), fields.length + 1), quoted })
    if (end >= text.length) return fields
    from = end + 1
  }
}

function withoutLineEnd(row: string): string {
  if (!row.endsWith('\n')) return row
  return row.slice(0, row.endsWith('\r\n') ? -2 : -1)
}

function plainEnd(text: string, from: number, separator: string): number {
  const end = text.indexOf(separator, from)
  return end < 0 ? text.length : end
}

function closingQuote(text: string, open: number, column: number): number {
  for (let at = open + 1; ; at += 2) {
    at = text.indexOf(QUOTE, at)
    if (at < 0) throw csvError(column, 'the closing quote is missing')
    if (text[at + 1] !== QUOTE) return at
  }
}

function checked(text: string, column: number): string {
  if (/["\r\n]/.test(text)) throw csvError(column, 'a quote or line break is outside of quotes')
  return text
}

/** One field as text, in quotes where it needs them. */
export function formatCsvField({ text, quoted }: CsvField, separator: string): string {
  const needed = quoted || text.includes(separator) || /["\r\n]/.test(text)
  return needed ? `"${text.replaceAll(QUOTE, '""')}"` : text
}

/** The error of a row; columns count from 1. */
export function csvError(column: number, problem: string): WeirError {
  return new WeirError('UNPARSABLE_RECORD', `column ${column} of the CSV row: ${problem}`, {
    details: { column },
  })
}
