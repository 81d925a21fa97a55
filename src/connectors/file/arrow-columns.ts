import type { Data, DataType } from 'apache-arrow'
import type { Arrow } from './arrow-package.ts'
import {
  DAY_MS,
  decimalText,
  type Field,
  fieldOf,
  floatOf,
  textOrBytes,
  timeField,
} from './table-lines.ts'

/** The field of a row of a column. */
export type RowField = (row: number) => Field

/** Makes the fields of a column in one batch of rows. */
export type FieldsOf = (data: Data) => RowField

/** How a column of a type becomes fields, or why it cannot: words after "is". */
export function fieldsOfColumn(
  arrow: Arrow,
  type: DataType,
): FieldsOf | { readonly problem: string } {
  const valuesOf = plainValues(arrow, type)
  if (valuesOf !== undefined) {
    return (data) => {
      const value = valuesOf(data)
      return (row) => (data.getValid(row) ? value(row) : '')
    }
  }
  if (arrow.DataType.isDictionary(type)) return dictionaryFields(arrow, type.dictionary)
  const isNested = type.children !== undefined && type.children !== null && type.children.length > 0
  if (isNested) return { problem: 'a list, a map or a group of columns' }
  if (arrow.DataType.isFixedSizeBinary(type)) return { problem: 'of bytes that are no text' }
  return { problem: `of the type ${type}` }
}

/** The fields of values that are there; undefined for a type that is not read, and for the words of a dictionary. */
function plainValues(arrow: Arrow, type: DataType): FieldsOf | undefined {
  const { DataType: is } = arrow
  if (is.isNull(type)) return () => () => ''
  if (is.isBool(type)) return ({ values, offset }) => boolField(values, offset)
  if (is.isInt(type)) return ({ values, length }) => numberField(values, length)
  if (is.isFloat(type)) return floatFields(arrow, type.precision)
  if (is.isDecimal(type)) return decimalFields(type.bitWidth, type.scale)
  if (is.isDate(type)) return dateFields(type.unit === arrow.DateUnit.DAY)
  if (is.isTimestamp(type)) return timeFields(arrow, type.unit)
  if (is.isUtf8View(type) || is.isBinaryView(type)) return viewFields
  const isText =
    is.isUtf8(type) || is.isLargeUtf8(type) || is.isBinary(type) || is.isLargeBinary(type)
  return isText ? ({ values, valueOffsets }) => textFields(values, valueOffsets) : undefined
}

/** Numbers in the memory of a column. */
type Numbers = ArrayLike<number | bigint>

/** Throws where a batch has fewer values than rows: a row would be without one. */
function requireValues(values: ArrayLike<unknown>, count: number): void {
  if (values.length < count) throw new Error(`${values.length} of ${count} values of a column`)
}

function numberField(values: Numbers, rows: number): RowField {
  requireValues(values, rows)
  return (row) => fieldOf(values[row])
}

const boolField =
  (bits: Uint8Array, offset: number): RowField =>
  (row) => {
    const byte = bits[(offset + row) >> 3]
    if (byte === undefined) throw new Error('a column of true and false ends early')
    return (byte & (1 << ((offset + row) & 7))) === 0 ? 'false' : 'true'
  }

function floatFields(arrow: Arrow, precision: number): FieldsOf {
  if (precision === arrow.Precision.HALF) {
    return (data) => {
      const vector = new arrow.Vector([data])
      return (row) => fieldOf(floatOf(vector.get(row)))
    }
  }
  if (precision === arrow.Precision.DOUBLE) {
    return ({ values, length }) => numberField(values, length)
  }
  return ({ values, length }) => {
    requireValues(values, length)
    return (row) => fieldOf(floatOf(values[row]))
  }
}

/** Integers in two's complement, of words of 32 bits with the lowest first. */
function decimalFields(bitWidth: number, scale: number): FieldsOf {
  const words = bitWidth / 32
  return ({ values, length }) => {
    const own: Uint32Array = values
    requireValues(own, length * words)
    return (row) => {
      let integer = 0n
      for (let word = words - 1; word >= 0; word--) {
        integer = (integer << 32n) | BigInt(own[row * words + word]!)
      }
      return decimalText(BigInt.asIntN(bitWidth, integer), scale)
    }
  }
}

function dateFields(isOfDays: boolean): FieldsOf {
  return ({ values, length }) => {
    requireValues(values, length)
    return (row) => timeField(isOfDays ? values[row] * DAY_MS : Number(values[row]))
  }
}

function timeFields(arrow: Arrow, unit: number): FieldsOf {
  const { TimeUnit } = arrow
  const msOf = (value: bigint): number => {
    if (unit === TimeUnit.SECOND) return Number(value * 1000n)
    if (unit === TimeUnit.MILLISECOND) return Number(value)
    return Number(value / (unit === TimeUnit.MICROSECOND ? 1000n : 1_000_000n))
  }
  return ({ values, length }) => {
    requireValues(values, length)
    return (row) => timeField(msOf(BigInt(values[row])))
  }
}

function textFields(bytes: Uint8Array, offsets: Numbers): RowField {
  return (row) => fieldIn(bytes, Number(offsets[row]), Number(offsets[row + 1]))
}

function fieldIn(bytes: Uint8Array, start: number, end: number): Field {
  if (start >= 0 && start <= end && end <= bytes.length) {
    return fieldOf(textOrBytes(bytes.subarray(start, end)))
  }
  throw new Error(`a text from byte ${start} to ${end} of ${bytes.length}`)
}

/** A view: the bytes of a text, then the text itself, or four bytes of it, the number of a buffer, and a place in it. */
const VIEW_BYTES = 16
const LENGTH_BYTES = 4
const MOST_INSIDE = 12

function viewFields({ values, length, variadicBuffers }: Data): RowField {
  const bytes: Uint8Array = values
  requireValues(bytes, length * VIEW_BYTES)
  const views = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return (row) => {
    const at = row * VIEW_BYTES
    const size = views.getInt32(at, true)
    const inside = at + LENGTH_BYTES
    if (size <= MOST_INSIDE) return fieldIn(bytes, inside, inside + size)
    const buffer = variadicBuffers[views.getInt32(at + 8, true)]
    const start = views.getInt32(at + 12, true)
    return fieldIn(buffer ?? new Uint8Array(0), start, start + size)
  }
}

/** Words of a dictionary: each is made a field once, as long as batches have the same dictionary. */
function dictionaryFields(arrow: Arrow, type: DataType): ReturnType<typeof fieldsOfColumn> {
  const fieldsOf = fieldsOfColumn(arrow, type)
  if (typeof fieldsOf !== 'function') return fieldsOf
  const known = new WeakMap<object, readonly Field[]>()
  return (data) => {
    const { dictionary, values, length } = data
    if (dictionary === undefined) throw new Error('a column without its dictionary')
    const words =
      known.get(dictionary) ??
      dictionary.data.flatMap((chunk: Data) => {
        const field = fieldsOf(chunk)
        return Array.from({ length: chunk.length }, (_, row) => field(row))
      })
    known.set(dictionary, words)
    requireValues(values, length)
    return (row) => {
      if (!data.getValid(row)) return ''
      const word = words[Number(values[row])]
      if (word === undefined) throw new Error(`word ${values[row]} of ${words.length}`)
      return word
    }
  }
}
