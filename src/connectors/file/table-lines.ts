import { formatCsvField } from '../../core/formats/csv-row.ts'

/*
 * The rows of a table, of whatever format, as lines of csv behind a header: one reader of lines then decides what a rating
 * is.
 */

/** A field of a line: its text, or bytes that are not UTF-8. Empty for a null. */
export type Field = string | Uint8Array

/** Lines of one piece. */
export const PIECE_LINES = 4096

/** The names of the columns as a line; without line breaks, which no line has. */
export function headerOf(columns: readonly string[]): Uint8Array {
  const names = columns.map((name) => textField(name.replaceAll(/[\r\n]+/g, ' ')))
  return Buffer.from(`${names.join(',')}\n`)
}

/** The lines of the rows `from` to `to`, from the field of each column in a row. */
export function linesOf(
  columns: readonly ((row: number) => Field)[],
  from: number,
  to: number,
): Uint8Array {
  const lines = new Lines()
  for (let row = from; row < to; row++) lines.addRow(columns, row)
  return lines.bytes()
}

/** Text with bytes in it that are none. */
class Lines {
  private readonly parts: Uint8Array[] = []
  private text = ''

  addRow(fields: readonly ((row: number) => Field)[], row: number): void {
    for (let at = 0; at < fields.length; at++) {
      if (at > 0) this.text += ','
      this.add(fields[at]!(row))
    }
    this.text += '\n'
  }

  private add(field: Field): void {
    if (typeof field === 'string') {
      this.text += field
      return
    }
    this.parts.push(Buffer.from(this.text), field)
    this.text = ''
  }

  bytes(): Uint8Array {
    return Buffer.concat([...this.parts, Buffer.from(this.text)])
  }
}

/** From here on a number is a time in ms for readers of lines; a smaller one would be seconds. */
const MILLISECONDS_FROM = 1e11
/** Most ms of a `Date`. */
const LAST_DATE_MS = 8.64e15
/** A day, ms. */
export const DAY_MS = 24 * 60 * 60 * 1000

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of bytes; the bytes themselves where they are not UTF-8: a reader of lines says so. */
export function textOrBytes(bytes: Uint8Array | undefined): Field {
  try {
    return bytes === undefined ? '' : utf8.decode(bytes)
  } catch {
    return bytes!.slice()
  }
}

/** A time, ms since 1970, as readers of lines take it; '' for no number. */
export function timeField(ms: unknown): string {
  if (typeof ms !== 'number') return ''
  return ms >= MILLISECONDS_FROM || Math.abs(ms) > LAST_DATE_MS
    ? String(ms)
    : new Date(ms).toISOString()
}

/** A decimal number without zeros at the end of its fraction. */
export function decimalText(integer: bigint, scale: number): string {
  if (scale === 0) return String(integer)
  const digits = String(integer < 0n ? -integer : integer).padStart(scale + 1, '0')
  const fraction = digits.slice(-scale).replace(/0+$/, '')
  const whole = `${integer < 0n ? '-' : ''}${digits.slice(0, -scale)}`
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** The shortest decimal number that is the same 32-bit float: 4.1 rather than 4.099999904632568. */
export function floatOf(value: unknown): unknown {
  if (typeof value !== 'number' || Number.isInteger(value * 8)) return value
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

/** The field of a value: a text, a number, or bytes that are no text. */
export function fieldOf(value: unknown): Field {
  if (typeof value === 'string') return textField(value)
  if (value instanceof Uint8Array) return value
  // pandas has no integers that may be missing: NaN is its null.
  if (isNull(value) || (typeof value === 'number' && !Number.isFinite(value))) return ''
  return String(value)
}

const NOT_PLAIN = /[",\r\n]/

/** A text in csv. One with a line break, which a line cannot have, is as none. */
export function textField(text: string): string {
  if (!NOT_PLAIN.test(text)) return text
  return /[\r\n]/.test(text) ? '' : formatCsvField({ text, quoted: true }, ',')
}

/** Whether a value is none. */
export const isNull = (value: unknown): value is null | undefined =>
  value === null || value === undefined
