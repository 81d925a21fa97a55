import { WeirError } from '../../core/errors.ts'
import { type Field, MESSAGES } from './schema.ts'

/*
 * What a decoder of protobuf makes of a message may take a hundred times its bytes: 64 MiB of numbers of one byte are 67
 * million texts. So its values are counted first, in place. A message is a sequence of fields, each a tag (number * 8 +
 * wire type) and a value:
 *
 *   wire type 0: varint | 1: 8 bytes | 2: length (varint) and bytes | 5: 4 bytes
 *
 * Numbers of a list may lie one behind the other in the bytes of one field.
 */

/** Numbers of one message, texts and messages with their weights: a decoder takes about 30 ms for them. */
export const MOST_VALUES: number = 192 * 1024
/** Bytes of a message apart from the raw bytes of tensors. */
export const MOST_PLAIN_BYTES: number = 4 * 1024 * 1024

/** What values count as, by the time that they take: the digits of a number of 64 bits are read twice. */
const WEIGHTS = { number: 1, wide: 6, text: 4, message: 8 } as const
const MOST_VARINT = 10
/** Largest tag and length: a decoder looks at 32 bits of them only, and would see others than the count. */
const MOST_UINT32 = 0xffff_ffff

const [VARINT, BYTES_8, DELIMITED, BYTES_4] = [0, 1, 2, 5]

/** A field, as the count needs it. */
interface CountedField {
  /** Wire type of the field, which a decoder does not look at. */
  readonly wire: number
  /** The message in it; undefined for a number, a text or bytes. */
  readonly message: CountedFields | undefined
  /** Whether its numbers may lie in the bytes of one field. */
  readonly isPackable: boolean
  /** What each value counts as. */
  readonly weight: number
  /** Whether its bytes are used where they are. */
  readonly isRaw: boolean
}

/** The fields of a message, by their numbers. */
type CountedFields = Map<number, CountedField>

const WIDE = new Set(['int64', 'uint64'])
const WIRES: Readonly<Record<string, number>> = {
  float: BYTES_4,
  double: BYTES_8,
  string: DELIMITED,
  bytes: DELIMITED,
}
const RAW = 'raw_input_contents'

const known = new Map<string, CountedFields>()

function fieldsOf(message: string): CountedFields {
  const found = known.get(message)
  if (found !== undefined) return found
  const fields: CountedFields = new Map()
  known.set(message, fields)
  for (const [name, field] of Object.entries(MESSAGES[message]!)) {
    fields.set(field[1], { ...countedOf(field), isRaw: name === RAW })
  }
  return fields
}

function countedOf([type, , kind]: Field): CountedField {
  const message = kind === 'map' ? entryOf(type) : innerOf(type)
  const wire = message === undefined ? (WIRES[type] ?? VARINT) : DELIMITED
  return {
    wire,
    message,
    isRaw: false,
    isPackable: kind === 'list' && wire !== DELIMITED,
    weight: WEIGHTS[weightOf(type, message)],
  }
}

function weightOf(type: string, message: CountedFields | undefined): keyof typeof WEIGHTS {
  if (message !== undefined) return 'message'
  if (WIRES[type] === DELIMITED) return 'text'
  return WIDE.has(type) ? 'wide' : 'number'
}

const innerOf = (type: string): CountedFields | undefined =>
  Object.hasOwn(MESSAGES, type) ? fieldsOf(type) : undefined

/** An entry of a map is a message with a key and a value. */
const entryOf = (type: string): CountedFields =>
  new Map([
    [1, countedOf(['string', 1])],
    [2, countedOf([type, 2])],
  ])

/** Throws FRAME_TOO_LARGE for bytes that a decoder would make too much of, and MALFORMED_DATA for those of no message. */
export function requireFewValues(message: string, bytes: Uint8Array): void {
  const { rawBytes } = new ValueCount(bytes).count(fieldsOf(message))
  const plain = bytes.length - rawBytes
  if (plain > MOST_PLAIN_BYTES) throw tooMuch(`${MOST_PLAIN_BYTES} bytes beside raw ones`)
}

class ValueCount {
  /** Bytes of tensors, which are used where they are. */
  rawBytes = 0
  private readonly bytes: Uint8Array
  private at = 0
  private values = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  count(fields: CountedFields): this {
    this.message(fields, this.bytes.length)
    return this
  }

  private message(fields: CountedFields, end: number): void {
    while (this.at < end) {
      const tag = this.uint32(end)
      const wire = tag & 7
      const field = fields.get(tag >>> 3)
      if (field !== undefined && !isOf(field, wire)) throw malformed()
      this.take(field?.weight ?? 1)
      if (wire === DELIMITED) this.delimited(field, end)
      else if (wire === VARINT) this.varint(end)
      else this.skip(wire === BYTES_8 ? 8 : wire === BYTES_4 ? 4 : Number.NaN, end)
    }
  }

  private delimited(field: CountedField | undefined, end: number): void {
    const length = this.uint32(end)
    const from = this.at
    this.skip(length, end)
    if (field === undefined) return
    if (field.isRaw) this.rawBytes += length
    if (field.isPackable) this.packed(field, from)
    if (field.message === undefined) return
    this.at = from
    this.message(field.message, from + length)
  }

  /** Counts the numbers between a place and the one that is reached. */
  private packed({ wire, weight }: CountedField, from: number): void {
    if (wire === VARINT) {
      for (let at = from; at < this.at; at++) if (this.bytes[at]! < 0x80) this.take(weight)
    } else this.take((this.at - from) / (wire === BYTES_8 ? 8 : 4))
  }

  private take(count: number): void {
    this.values += count
    if (this.values > MOST_VALUES) throw tooMuch(`${MOST_VALUES} values`)
  }

  private skip(length: number, end: number): void {
    this.at += length
    if (!(this.at <= end)) throw malformed()
  }

  /** A tag or a length. */
  private uint32(end: number): number {
    const value = this.varint(end)
    if (value > MOST_UINT32) throw malformed()
    return value
  }

  private varint(end: number): number {
    let value = 0
    let factor = 1
    for (let i = 0; i < MOST_VARINT && this.at < end; i++) {
      const byte = this.bytes[this.at++]!
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 0x80
    }
    throw malformed()
  }
}

function isOf(field: CountedField, wire: number): boolean {
  return wire === field.wire || (field.isPackable && wire === DELIMITED)
}

function tooMuch(limit: string): WeirError {
  const message = `the message has more than ${limit}; send tensors as raw_input_contents`
  return new WeirError('FRAME_TOO_LARGE', message)
}

/** The error of bytes that are no message of the protocol. */
export function malformed(cause?: unknown): WeirError {
  return new WeirError('MALFORMED_DATA', 'the bytes are no message of the protocol', { cause })
}
