import type { ParquetParsers, SchemaElement, SchemaTree } from 'hyparquet'
import {
  DAY_MS,
  decimalText,
  type Field,
  fieldOf,
  floatOf,
  isNull,
  textOrBytes,
  timeField,
} from './table-lines.ts'

/** Makes the field of a value of a column. */
export type FieldOf = (value: unknown) => Field

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
