import type { ByteWriter } from '../../core/byte-writer.ts'

const LIST = 9
const STRUCT = 12
/** Most elements that the head of a list counts itself. */
const SHORT_LIST = 15

/** A value of Thrift. */
export type ThriftValue =
  | { readonly type: 'i32' | 'i64'; readonly value: number }
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'struct'; readonly fields: ThriftFields }
  | {
      readonly type: 'list'
      readonly of: ThriftValue['type']
      readonly values: readonly ThriftValue[]
    }

/** The fields of a structure by their ids, in ascending order. */
export type ThriftFields = readonly (readonly [id: number, value: ThriftValue])[]

const CODES = { i32: 5, i64: 6, text: 8, list: LIST, struct: STRUCT } as const

/** A number of 32 bits. */
export const i32 = (value: number): ThriftValue => ({ type: 'i32', value })
/** A whole number that a double holds exactly. */
export const i64 = (value: number): ThriftValue => ({ type: 'i64', value })
/** A text. */
export const text = (value: string): ThriftValue => ({ type: 'text', value })
/** A structure. */
export const struct = (...fields: ThriftFields): ThriftValue => ({ type: 'struct', fields })
/** A list of values of one type. */
export const list = (of: ThriftValue['type'], values: readonly ThriftValue[]): ThriftValue => ({
  type: 'list',
  of,
  values,
})

/** Appends a structure in Thrift's compact protocol, in which Parquet writes its metadata. */
export function writeStruct(writer: ByteWriter, fields: ThriftFields): void {
  let before = 0
  for (const [id, value] of fields) {
    // Ids of Parquet are close to each other.
    writer.uint8(((id - before) << 4) | CODES[value.type])
    before = id
    writeValue(writer, value)
  }
  writer.uint8(0)
}

function writeValue(writer: ByteWriter, value: ThriftValue): void {
  switch (value.type) {
    case 'i32':
    case 'i64':
      writeZigzag(writer, BigInt(value.value))
      return
    case 'text':
      writer.text(value.value)
      return
    case 'struct':
      writeStruct(writer, value.fields)
      return
    case 'list':
      writeList(writer, CODES[value.of], value.values)
  }
}

function writeList(writer: ByteWriter, code: number, values: readonly ThriftValue[]): void {
  const { length } = values
  writer.uint8((Math.min(length, SHORT_LIST) << 4) | code)
  if (length >= SHORT_LIST) writer.varuint(length)
  for (const value of values) writeValue(writer, value)
}

function writeZigzag(writer: ByteWriter, value: bigint): void {
  let rest = value < 0n ? -value * 2n - 1n : value * 2n
  while (rest > 0x7fn) {
    writer.uint8(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  writer.uint8(Number(rest))
}
