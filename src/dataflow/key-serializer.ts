import { ByteReader } from '../core/byte-reader.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { bytesSerializer, type Serializer } from '../core/serializer.ts'

/*
 * The bytes of keys. Equal keys have equal bytes; keys of different types have different bytes. A string is
 * plain UTF-8, so that producers and clients in any language get the same hash. Every other type starts with
 * a byte with which UTF-8 cannot start.
 *
 *   string    | UTF-8 bytes ...                                                   |
 *   number    | F8 | float64, big-endian, sign bit flipped (all bits if negative) |
 *   boolean   | F9 | 0 or 1                                                       |
 *   bigint    | FA | decimal digits in ASCII, "-" before a negative one           |
 *   tuple     | FB | part ... where part = | uint32 length, big-endian | bytes |   |
 *
 * Numbers have the order of their bytes. -0 is 0. NaN, lone surrogates and other types are refused.
 */

/** A key of the default serializer, and a part of a tuple key. */
export type PlainKey = string | number | boolean | bigint | readonly PlainKey[]

const NUMBER = 0xf8
const BOOLEAN = 0xf9
const BIGINT = 0xfa
const TUPLE = 0xfb

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Up to this length, strings are first written as ASCII byte by byte, which is faster than the native encoder. */
const SHORT_TEXT = 48

function writeText(value: string, writer: ByteWriter): void {
  const length = value.length
  if (length <= SHORT_TEXT) {
    writer.reserve(length)
    const { bytes, length: at } = writer
    let i = 0
    for (; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) break
      bytes[at + i] = code
    }
    if (i === length) {
      writer.length = at + length
      return
    }
  }
  if (!value.isWellFormed()) refuse('a string with a lone surrogate')
  writer.raw(encoder.encode(value))
}

function writeNumber(value: number, writer: ByteWriter): void {
  if (Number.isNaN(value)) refuse('NaN')
  writer.reserve(9)
  writer.uint8(NUMBER)
  const view = new DataView(writer.bytes.buffer, writer.length, 8)
  view.setFloat64(0, value === 0 ? 0 : value)
  const high = view.getUint32(0)
  view.setUint32(0, high >>> 31 === 0 ? high ^ 0x80000000 : ~high)
  if (high >>> 31 === 1) view.setUint32(4, ~view.getUint32(4))
  writer.length += 8
}

function readNumber(reader: ByteReader): number {
  const view = new DataView(new ArrayBuffer(8))
  new Uint8Array(view.buffer).set(reader.raw(8))
  const high = view.getUint32(0)
  view.setUint32(0, high >>> 31 === 1 ? high ^ 0x80000000 : ~high)
  if (high >>> 31 === 0) view.setUint32(4, ~view.getUint32(4))
  return view.getFloat64(0)
}

function writeTuple(parts: readonly PlainKey[], writer: ByteWriter): void {
  writer.uint8(TUPLE)
  for (const part of parts) {
    const lengthAt = writer.length
    writer.uint32(0)
    writeKey(part, writer)
    const length = writer.length - lengthAt - 4
    new DataView(writer.bytes.buffer).setUint32(lengthAt, length)
  }
}

function readTuple(reader: ByteReader): PlainKey[] {
  const parts: PlainKey[] = []
  while (reader.remaining > 0) {
    const size = reader.raw(4)
    const length = new DataView(size.buffer, size.byteOffset, 4).getUint32(0)
    parts.push(readKey(new ByteReader(reader.raw(length))))
  }
  return parts
}

function writeKey(value: unknown, writer: ByteWriter): void {
  if (typeof value === 'string') writeText(value, writer)
  else if (typeof value === 'number') writeNumber(value, writer)
  else if (typeof value === 'boolean') {
    writer.uint8(BOOLEAN)
    writer.uint8(value ? 1 : 0)
  } else if (typeof value === 'bigint') {
    writer.uint8(BIGINT)
    writer.raw(encoder.encode(value.toString()))
  } else if (Array.isArray(value)) writeTuple(value, writer)
  else if (value instanceof Uint8Array) {
    refuse('a Uint8Array (pass rawKeySerializer as second argument of keyBy, it keeps keys raw)')
  } else refuse(value === null ? 'null' : `a value of type ${typeof value}`)
}

function readKey(reader: ByteReader): PlainKey {
  if (reader.remaining === 0 || reader.bytes[reader.position]! < NUMBER) {
    return decoder.decode(reader.raw(reader.remaining))
  }
  const tag = reader.uint8()
  if (tag === NUMBER) return readNumber(reader)
  if (tag === BOOLEAN) return reader.uint8() === 1
  if (tag === BIGINT) return BigInt(decoder.decode(reader.raw(reader.remaining)))
  if (tag === TUPLE) return readTuple(reader)
  throw new WeirError('MALFORMED_DATA', `a key cannot start with the byte ${tag}`)
}

function refuse(what: string): never {
  throw new WeirError(
    'INVALID_ARGUMENT',
    `a key is a string, number, boolean, bigint or a tuple of these, not ${what}`,
  )
}

const plain: Serializer<PlainKey> = { id: 'key/1', write: writeKey, read: readKey }

/** Serializer of keys of plain types, in the layout above. Writing another type throws INVALID_ARGUMENT. */
export function plainKeySerializer<K extends PlainKey>(): Serializer<K> {
  return plain as unknown as Serializer<K>
}

/** Serializer of keys that are bytes, stored and hashed unchanged. */
export const rawKeySerializer: Serializer<Uint8Array> = bytesSerializer
