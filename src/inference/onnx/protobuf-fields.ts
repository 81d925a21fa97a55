/*
 * Fields of a protobuf message, read where they are: a model has gigabytes of weights that are never read here. A
 * message is a sequence of fields, each a tag (number * 8 + wire type) and a value:
 *
 *   wire type 0: varint | 1: 8 bytes | 2: length (varint) and bytes | 5: 4 bytes
 */

import { WeirError } from '../../core/errors.ts'

/** Bytes of a file or of a buffer. */
export interface ByteSource {
  readonly length: number
  /** The bytes from `at` on; at least `length` of them, which the caller does not keep. */
  read(at: number, length: number): Uint8Array
}

/** One field: its number, and its value or the place of its bytes. */
export interface ProtobufField {
  readonly number: number
  /** Value of a varint, as a signed number of 64 bits; 0 for other fields. */
  readonly value: number
  /** Where its bytes begin and end; the place of the value where it is no varint. */
  readonly from: number
  readonly to: number
}

const MOST_VARINT = 10

/** The fields of the message between two places. Throws MALFORMED_DATA. */
export function* fieldsOf(source: ByteSource, from: number, to: number): Generator<ProtobufField> {
  for (let at = from; at < to; ) {
    const tag = varintAt(source, at, to)
    const number = Math.floor(tag.value / 8)
    const kind = tag.value % 8
    if (kind === 0) {
      const { value, end } = varintAt(source, tag.end, to)
      yield { number, value, from: tag.end, to: end }
      at = end
      continue
    }
    const head = kind === 2 ? varintAt(source, tag.end, to) : { value: FIXED[kind], end: tag.end }
    const end = head.value === undefined || head.value < 0 ? Number.NaN : head.end + head.value
    if (!(end <= to)) throw malformed(at)
    yield { number, value: 0, from: head.end, to: end }
    at = end
  }
}

const FIXED: readonly (number | undefined)[] = [undefined, 8, undefined, undefined, undefined, 4]

/** The text of a field. */
export function textAt(source: ByteSource, { from, to }: ProtobufField): string {
  return Buffer.from(source.read(from, to - from).subarray(0, to - from)).toString('utf8')
}

/** At most one more than `most` numbers of a repeated field of varints: packed ones and single ones have the same bytes. */
export function numbersAt(source: ByteSource, field: ProtobufField, most: number): number[] {
  const numbers: number[] = []
  for (let at = field.from; at < field.to && numbers.length <= most; ) {
    const { value, end } = varintAt(source, at, field.to)
    numbers.push(value)
    at = end
  }
  return numbers
}

/** Bytes of a varint whose value fits into 32 bits with a sign. */
const SHORT = 4

function varintAt(source: ByteSource, at: number, to: number) {
  const length = Math.min(MOST_VARINT, to - at)
  const bytes = source.read(at, length)
  let low = 0
  for (let i = 0; i < Math.min(length, SHORT); i++) {
    low |= (bytes[i]! & 127) << (7 * i)
    if (bytes[i]! < 128) return { value: low, end: at + i + 1 }
  }
  let value = BigInt(low)
  for (let i = SHORT; i < length; i++) {
    value |= BigInt(bytes[i]! & 127) << BigInt(7 * i)
    if (bytes[i]! < 128) return { value: Number(BigInt.asIntN(64, value)), end: at + i + 1 }
  }
  throw malformed(at)
}

function malformed(at: number): WeirError {
  return new WeirError('MALFORMED_DATA', `the bytes at ${at} are no protobuf message`)
}
