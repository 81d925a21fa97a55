import { ByteReader } from '../byte-reader.ts'
import type { ByteWriter } from '../byte-writer.ts'
import { WeirError } from '../errors.ts'
import { describeValue } from '../text/describe-value.ts'
import { INSTEAD_OF_PROMISES } from '../text/instead-of-promises.ts'

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
/** Tuples in tuples that are read: a call for each. No key of a job has so many. */
const DEEPEST = 1_000

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

/** The bytes of a number in the order of the machine: this costs less than a DataView for each key. */
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
/** Position of the high half of a double among its two words. */
const HIGH = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 1 : 0
const LOW = 1 - HIGH

function writeNumber(value: number, writer: ByteWriter): void {
  if (Number.isNaN(value)) refuse('NaN')
  double[0] = value === 0 ? 0 : value
  const high = words[HIGH]!
  const isNegative = high >>> 31 === 1
  writer.reserve(9)
  const { bytes, length } = writer
  bytes[length] = NUMBER
  setUint32(bytes, length + 1, isNegative ? ~high : high ^ 0x80000000)
  setUint32(bytes, length + 5, isNegative ? ~words[LOW]! : words[LOW]!)
  writer.length = length + 9
}

function readNumber(reader: ByteReader): number {
  const high = int32Of(reader)
  const low = int32Of(reader)
  const isNegative = high >>> 31 === 0
  words[HIGH] = isNegative ? ~high : high ^ 0x80000000
  words[LOW] = isNegative ? ~low : low
  return double[0]!
}

/** The next four bytes, big-endian, as an int32. */
function int32Of(reader: ByteReader): number {
  return (reader.uint8() << 24) | (reader.uint8() << 16) | (reader.uint8() << 8) | reader.uint8()
}

/** Big-endian. */
function setUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

function writeTuple(parts: readonly PlainKey[], writer: ByteWriter): void {
  writer.uint8(TUPLE)
  for (const part of parts) {
    const lengthAt = writer.length
    writer.uint32(0)
    writePlainKey(part, writer)
    setUint32(writer.bytes, lengthAt, writer.length - lengthAt - 4)
  }
}

function readTuple(reader: ByteReader, depth: number): PlainKey[] {
  if (depth === DEEPEST) {
    throw new WeirError('MALFORMED_DATA', `a key has tuples in tuples, more than ${DEEPEST} deep`)
  }
  const parts: PlainKey[] = []
  while (reader.remaining > 0) {
    parts.push(readPart(new ByteReader(reader.raw(int32Of(reader) >>> 0)), depth + 1))
  }
  return parts
}

function readBigint(reader: ByteReader): bigint {
  const digits = decoder.decode(reader.raw(reader.remaining))
  if (/^-?\d+$/.test(digits)) return BigInt(digits)
  throw new WeirError('MALFORMED_DATA', 'a key that is a bigint has other characters than digits')
}

/** Writes a key. Throws INVALID_ARGUMENT for NaN, a lone surrogate and other types, UNSUPPORTED for a promise. */
export function writePlainKey(value: unknown, writer: ByteWriter): void {
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
  } else {
    if (value instanceof Promise) refusePromise(value)
    refuse(describeValue(value))
  }
}

/** Reads a key, to the end of the bytes. Throws MALFORMED_DATA. */
export function readPlainKey(reader: ByteReader): PlainKey {
  return readPart(reader, 0)
}

/** Reads a key that is `depth` tuples deep. */
function readPart(reader: ByteReader, depth: number): PlainKey {
  if (reader.remaining === 0 || reader.bytes[reader.position]! < NUMBER) {
    return decoder.decode(reader.raw(reader.remaining))
  }
  const tag = reader.uint8()
  if (tag === NUMBER) return readNumber(reader)
  if (tag === BOOLEAN) return reader.uint8() === 1
  if (tag === BIGINT) return readBigint(reader)
  if (tag === TUPLE) return readTuple(reader, depth)
  throw new WeirError('MALFORMED_DATA', `a key cannot start with the byte ${tag}`)
}

/** The type of a key by its bytes, for people: `string`, `tuple of string and number`; `bytes` of other serializers. */
export function plainKeyType(bytes: Uint8Array): string {
  const tag = bytes[0] ?? 0
  if (tag < NUMBER) return 'string'
  if (tag === NUMBER) return 'number'
  if (tag === BOOLEAN) return 'boolean'
  if (tag === BIGINT) return 'bigint'
  return tag === TUPLE ? tupleType(bytes) : 'bytes'
}

function tupleType(bytes: Uint8Array): string {
  const types: string[] = []
  const reader = new ByteReader(bytes, 1)
  try {
    while (reader.remaining > 0) types.push(plainKeyType(reader.raw(int32Of(reader) >>> 0)))
  } catch {
    return 'bytes'
  }
  return `tuple of ${types.join(' and ') || 'nothing'}`
}

function refusePromise(key: Promise<unknown>): never {
  // The error below is reported; a rejection of the promise adds nothing.
  key.catch(() => undefined)
  throw new WeirError(
    'UNSUPPORTED',
    `the function of keyBy returned a promise; ${INSTEAD_OF_PROMISES}`,
  )
}

function refuse(what: string): never {
  throw new WeirError(
    'INVALID_ARGUMENT',
    `a key is a string, number, boolean, bigint or a tuple of these, not ${what}: look at the function of keyBy`,
  )
}
