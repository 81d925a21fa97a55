import { ByteWriter } from '../core/byte-writer.ts'
import { WeirError } from '../core/errors.ts'
import { readFloat32, readFloat64, readInt53 } from './little-endian.ts'

/**
 * MessagePack for rare frames: hello, errors, the routing table. It is a subset: nil, booleans, numbers,
 * text, arrays, and maps with text keys. The decoder checks every length against the bytes that are left
 * before it allocates, so that a peer cannot make it reserve memory. Loading a library took 25 ms of
 * every thread's start; the tests compare this codec with the library.
 */

/** Value in a general envelope. */
export type GeneralValue =
  | null
  | boolean
  | number
  | string
  | readonly GeneralValue[]
  | { readonly [key: string]: GeneralValue }

/** A general envelope: a map with text keys. */
export type GeneralMap = { readonly [key: string]: GeneralValue }

const MAX_DEPTH = 8
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Encodes an envelope, each value in its shortest form. */
export function encodeGeneral(envelope: GeneralMap): Uint8Array {
  const writer = new ByteWriter(256)
  writeValue(writer, envelope)
  return writer.toBytes()
}

function writeValue(writer: ByteWriter, value: GeneralValue): void {
  if (value === null) writer.uint8(0xc0)
  else if (typeof value === 'boolean') writer.uint8(value ? 0xc3 : 0xc2)
  else if (typeof value === 'number') writeNumber(writer, value)
  else if (typeof value === 'string') writeText(writer, value)
  else if (Array.isArray(value)) writeArray(writer, value)
  else writeMap(writer, value as GeneralMap)
}

function writeArray(writer: ByteWriter, values: readonly GeneralValue[]): void {
  writeLength(writer, values.length, ARRAY)
  for (const value of values) writeValue(writer, value)
}

function writeMap(writer: ByteWriter, map: GeneralMap): void {
  const entries = Object.entries(map)
  writeLength(writer, entries.length, MAP)
  for (const [key, value] of entries) {
    writeText(writer, key)
    writeValue(writer, value)
  }
}

function writeText(writer: ByteWriter, text: string): void {
  const bytes = encoder.encode(text)
  writeLength(writer, bytes.length, TEXT)
  writer.raw(bytes)
}

/** Tokens of one type: the short form with its limit, then one token for each width of the length. */
interface LengthTokens {
  readonly short: number
  readonly limit: number
  readonly byte?: number
  readonly two: number
  readonly four: number
}

const TEXT: LengthTokens = { short: 0xa0, limit: 32, byte: 0xd9, two: 0xda, four: 0xdb }
const ARRAY: LengthTokens = { short: 0x90, limit: 16, two: 0xdc, four: 0xdd }
const MAP: LengthTokens = { short: 0x80, limit: 16, two: 0xde, four: 0xdf }

function writeLength(writer: ByteWriter, length: number, tokens: LengthTokens): void {
  if (length < tokens.limit) writer.uint8(tokens.short | length)
  else if (length < 0x100 && tokens.byte !== undefined) writeUint(writer, tokens.byte, length, 1)
  else if (length < 0x10000) writeUint(writer, tokens.two, length, 2)
  else writeUint(writer, tokens.four, length, 4)
}

function writeNumber(writer: ByteWriter, value: number): void {
  const whole = Number.isInteger(value) && !Object.is(value, -0)
  if (!whole || value < -0x80000000 || value > 0xffffffff) writeDouble(writer, value)
  else if (value >= 0) writeNatural(writer, value)
  else if (value >= -32) writer.uint8(value + 256)
  else if (value >= -0x80) writeUint(writer, 0xd0, value, 1)
  else if (value >= -0x8000) writeUint(writer, 0xd1, value, 2)
  else writeUint(writer, 0xd2, value, 4)
}

function writeNatural(writer: ByteWriter, value: number): void {
  if (value < 0x80) writer.uint8(value)
  else if (value < 0x100) writeUint(writer, 0xcc, value, 1)
  else if (value < 0x10000) writeUint(writer, 0xcd, value, 2)
  else writeUint(writer, 0xce, value, 4)
}

/** The token and the low bytes of a whole number, big-endian. */
function writeUint(writer: ByteWriter, token: number, value: number, width: 1 | 2 | 4): void {
  writer.uint8(token)
  for (let shift = 8 * (width - 1); shift >= 0; shift -= 8) writer.uint8((value >>> shift) & 0xff)
}

function writeDouble(writer: ByteWriter, value: number): void {
  writer.uint8(0xcb)
  const at = writer.length
  writer.float64(value)
  writer.bytes.subarray(at, writer.length).reverse()
}

/** Decodes an envelope that fills `bytes` from `start` to `end`. Throws PROTOCOL_ERROR. */
export function decodeGeneral(bytes: Uint8Array, start: number, end: number): GeneralMap {
  const cursor = new Cursor(bytes, start, end)
  const value = cursor.value(0)
  if (cursor.at !== end) throw malformed('bytes follow its end')
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw malformed('it is not a map')
  }
  return value as GeneralMap
}

class Cursor {
  at: number
  private readonly bytes: Uint8Array
  private readonly end: number

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes
    this.at = start
    this.end = Math.min(end, bytes.length)
  }

  private take(count: number): number {
    const at = this.at
    if (count > this.end - at) throw malformed(`${count} bytes are missing at its end`)
    this.at = at + count
    return at
  }

  private uint(width: 1 | 2 | 4): number {
    const at = this.take(width)
    let value = 0
    for (let i = 0; i < width; i++) value = value * 256 + this.bytes[at + i]!
    return value
  }

  value(depth: number): GeneralValue {
    if (depth > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH}`)
    const token = this.uint(1)
    if (token < 0x80) return token
    if (token < 0x90) return this.map(token & 0x0f, depth)
    if (token < 0xa0) return this.array(token & 0x0f, depth)
    if (token < 0xc0) return this.text(token & 0x1f)
    if (token >= 0xe0) return token - 256
    return this.sizedOrNumber(token, depth)
  }

  private sizedOrNumber(token: number, depth: number): GeneralValue {
    switch (token) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xd9:
        return this.text(this.uint(1))
      case 0xda:
        return this.text(this.uint(2))
      case 0xdb:
        return this.text(this.uint(4))
      case 0xdc:
        return this.array(this.uint(2), depth)
      case 0xdd:
        return this.array(this.uint(4), depth)
      case 0xde:
        return this.map(this.uint(2), depth)
      case 0xdf:
        return this.map(this.uint(4), depth)
      default:
        return this.number(token)
    }
  }

  private number(token: number): number {
    switch (token) {
      case 0xca:
        return readFloat32(this.reversed(4), 0)
      case 0xcb:
        return readFloat64(this.reversed(8), 0)
      case 0xcc:
        return this.uint(1)
      case 0xcd:
        return this.uint(2)
      case 0xce:
        return this.uint(4)
      case 0xd0:
        return (this.uint(1) << 24) >> 24
      case 0xd1:
        return (this.uint(2) << 16) >> 16
      case 0xd2:
        return this.uint(4) | 0
      case 0xcf:
      case 0xd3:
        return this.wide()
      default:
        throw malformed(`type 0x${token.toString(16)} is not part of the protocol`)
    }
  }

  private wide(): number {
    const value = readInt53(this.reversed(8), 0)
    if (Number.isNaN(value)) throw malformed('a number needs more than 53 bits')
    return value
  }

  /** MessagePack is big-endian; our readers are little-endian. */
  private reversed(count: number): Uint8Array {
    const at = this.take(count)
    return this.bytes.slice(at, at + count).reverse()
  }

  private text(length: number): string {
    const at = this.take(length)
    try {
      return decoder.decode(this.bytes.subarray(at, at + length))
    } catch (cause) {
      throw new WeirError('PROTOCOL_ERROR', 'an envelope is malformed: a text is not UTF-8', {
        cause,
      })
    }
  }

  private array(length: number, depth: number): GeneralValue[] {
    if (length > this.end - this.at) throw malformed('an array is longer than its bytes')
    const values: GeneralValue[] = []
    for (let i = 0; i < length; i++) values.push(this.value(depth + 1))
    return values
  }

  private map(length: number, depth: number): GeneralMap {
    if (length * 2 > this.end - this.at) throw malformed('a map is longer than its bytes')
    const entries: [string, GeneralValue][] = []
    for (let i = 0; i < length; i++) {
      const key = this.value(depth + 1)
      if (typeof key !== 'string') throw malformed('a key is not text')
      entries.push([key, this.value(depth + 1)])
    }
    // fromEntries defines own properties, so that a key such as __proto__ is only a key.
    return Object.fromEntries(entries)
  }
}

function malformed(why: string): WeirError {
  return new WeirError('PROTOCOL_ERROR', `an envelope is malformed: ${why}`)
}

/** A text field, or `fallback` when it is missing or of another type. */
export function textField(map: GeneralMap, name: string, fallback = ''): string {
  const value = map[name]
  return typeof value === 'string' ? value : fallback
}

/** A number field, or `fallback` when it is missing or of another type. */
export function numberField(map: GeneralMap, name: string, fallback = 0): number {
  const value = map[name]
  return typeof value === 'number' ? value : fallback
}

/** The maps of a list field; what is not a map is left out. */
export function mapsField(map: GeneralMap, name: string): GeneralMap[] {
  const value = map[name]
  if (!Array.isArray(value)) return []
  return value.filter(
    (item): item is GeneralMap => item !== null && typeof item === 'object' && !Array.isArray(item),
  )
}
