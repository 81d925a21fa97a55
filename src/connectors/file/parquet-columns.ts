import type { ParquetParsers, SchemaElement, SchemaTree } from 'hyparquet'
import { formatCsvField } from '../../core/formats/csv-row.ts'

/** A field of a line: its text, or bytes that are not UTF-8. Empty for a null. */
export type Field = string | Uint8Array

/** Makes the field of a value of a column. */
export type FieldOf = (value: unknown) => Field

/** From here on a number is a time in ms for readers of lines; a smaller one would be seconds. */
const MILLISECONDS_FROM = 1e11
/** Most ms of a `Date`. */
const LAST_DATE_MS = 8.64e15
const DAY_MS = 24 * 60 * 60 * 1000

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of bytes; the bytes themselves where they are not UTF-8: a reader of lines says so. */
function textOrBytes(bytes: Uint8Array | undefined): Field {
  try {
    return bytes === undefined ? '' : utf8.decode(bytes)
  } catch {
    return bytes!.slice()
  }
}

/** A time as readers of lines take it. */
function timeField(ms: unknown): string {
  if (typeof ms !== 'number') return ''
  return ms >= MILLISECONDS_FROM || Math.abs(ms) > LAST_DATE_MS
    ? String(ms)
    : new Date(ms).toISOString()
}

/** What annotated values become, in place of the objects of the library: times are ms since 1970. */
export const PARSERS: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (ms) => (isNull(ms) ? ms : Number(ms)),
  timestampFromMicroseconds: (us) => (isNull(us) ? us : Number(us / 1000n)),
  timestampFromNanoseconds: (ns) => (isNull(ns) ? ns : Number(ns / 1_000_000n)),
  dateFromDays: (days) => (isNull(days) ? days : days * DAY_MS),
  stringFromBytes: textOrBytes,
  jsonFromBytes: textOrBytes,
}

/** Annotations of values that are no text, number or time. */
const UNREAD: ReadonlySet<string | undefined> = new Set([
  ...['TIME', 'TIME_MILLIS', 'TIME_MICROS', 'INTERVAL', 'BSON'],
  ...['VARIANT', 'GEOMETRY', 'GEOGRAPHY', 'FILE'],
])
const TIMES: ReadonlySet<string> = new Set([
  ...['TIMESTAMP_MILLIS', 'TIMESTAMP_MICROS', 'TIMESTAMP', 'DATE'],
])
const READ_OF_FIXED_BYTES: ReadonlySet<string | undefined> = new Set(['UUID', 'FLOAT16'])

/** How a column becomes fields, or why it cannot: words after "is". Takes what it does itself from the library. */
export function fieldOfColumn(column: SchemaTree): FieldOf | { readonly problem: string } {
  const { element } = column
  const { type, converted_type: converted, logical_type: logical } = element
  if (column.children.length > 0 || element.repetition_type === 'REPEATED') {
    return { problem: 'a list, a map or a group of columns' }
  }
  const unread = [logical?.type, converted].find((name) => UNREAD.has(name))
  if (unread !== undefined) return { problem: `of the type ${unread}` }
  if (isDecimal(element)) return decimalField(element)
  if (type === 'FIXED_LEN_BYTE_ARRAY' && !READ_OF_FIXED_BYTES.has(logical?.type)) {
    return { problem: 'of bytes that are no text' }
  }
  if (isTime(element)) return timeField
  return type === 'FLOAT' ? (value) => fieldOf(floatOf(value)) : fieldOf
}

function isDecimal({ converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  return converted === 'DECIMAL' || logical?.type === 'DECIMAL'
}

function isTime(element: SchemaElement): boolean {
  const { type, converted_type: converted, logical_type: logical } = element
  const names: readonly (string | undefined)[] = [converted, logical?.type]
  return type === 'INT96' || names.some((name) => name !== undefined && TIMES.has(name))
}

/** The library makes decimals floating-point numbers, in which long ids become equal: here it gives what is stored. */
function decimalField(element: SchemaElement): FieldOf | { readonly problem: string } {
  const { type, logical_type: logical } = element
  if (type === 'BYTE_ARRAY') return { problem: 'a decimal number of any length' }
  const scale = element.scale ?? (logical?.type === 'DECIMAL' ? logical.scale : 0)
  delete element.converted_type
  delete element.logical_type
  return (value) => (isNull(value) ? '' : decimalText(integerOf(value), scale))
}

/** The integer of a decimal as it is stored: a number, or bytes in two's complement with the highest first. */
function integerOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  const bits = value.length * 8
  return BigInt.asIntN(bits, BigInt(`0x0${Buffer.from(value).toString('hex')}`))
}

/** A decimal number without zeros at the end of its fraction. */
function decimalText(integer: bigint, scale: number): string {
  if (scale === 0) return String(integer)
  const digits = String(integer < 0n ? -integer : integer).padStart(scale + 1, '0')
  const fraction = digits.slice(-scale).replace(/0+$/, '')
  const whole = `${integer < 0n ? '-' : ''}${digits.slice(0, -scale)}`
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** The shortest decimal number that is the same 32-bit float: 4.1 rather than 4.099999904632568. */
function floatOf(value: unknown): unknown {
  if (typeof value !== 'number' || Number.isInteger(value * 8)) return value
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

function fieldOf(value: unknown): Field {
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

const isNull = (value: unknown): value is null | undefined => value === null || value === undefined
