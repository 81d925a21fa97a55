import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import {
  bytesOfKeyText,
  isOtherKey,
  keyText,
  otherKeyOf,
  readableKey,
  textOfKeyBytes,
} from '../../core/formats/key-text.ts'
import { float64Serializer, int53Serializer, type Serializer } from '../../core/serializer.ts'

/** Serializers of numbers other than that of plain keys, by id. Their bytes are not in the order of the numbers. */
const NUMBERS = new Map<string | undefined, Serializer<number>>(
  [float64Serializer, int53Serializer].map((one) => [one.id, one]),
)
/** Bytes of a key that one of them writes. */
const NUMBER_BYTES = 8

/** Whether the keys of this format are numbers that have no bytes of their own, only those of a serializer of numbers. */
export function hasNumberKeys(format: string | undefined): boolean {
  return NUMBERS.has(format)
}

/**
 * The bytes of a key that a query asks for by its text, in a state whose keys have this format. Throws
 * INVALID_ARGUMENT.
 */
export function askedKey(text: string, format: string | undefined): Uint8Array {
  const serializer = NUMBERS.get(format)
  if (serializer === undefined) return bytesOfKeyText(text)
  const isAfter = isOtherKey(text) && text.endsWith('\0')
  const number = otherKeyOf(readableKey(isAfter ? text.slice(0, -1) : text))
  if (typeof number !== 'number') return bytesOfKeyText(text)
  if (serializer === int53Serializer && !Number.isSafeInteger(number)) return bytesOfKeyText(text)
  const writer = new ByteWriter(16)
  serializer.write(number, writer)
  if (isAfter) writer.uint8(0)
  return writer.bytes.slice(0, writer.length)
}

/** The text of a key of this format, for which `askedKey` gives its bytes. */
export function listedKey(bytes: Uint8Array, format: string | undefined): string {
  const serializer = NUMBERS.get(format)
  if (serializer === undefined) return textOfKeyBytes(bytes)
  const isAfter = bytes.length === NUMBER_BYTES + 1 && bytes[NUMBER_BYTES] === 0
  if (bytes.length !== NUMBER_BYTES && !isAfter) return textOfKeyBytes(bytes)
  const number = numberOf(bytes.subarray(0, NUMBER_BYTES), serializer)
  if (number === undefined) return textOfKeyBytes(bytes)
  const text = `${keyText(number)}${isAfter ? '\0' : ''}`
  // JSON has one zero, and no NaN.
  return Buffer.compare(askedKey(text, format), bytes) === 0 ? text : textOfKeyBytes(bytes)
}

/** Undefined for bytes that are no number, or one that no text has. */
function numberOf(bytes: Uint8Array, serializer: Serializer<number>): number | undefined {
  try {
    const number = serializer.read(new ByteReader(bytes))
    return Number.isFinite(number) ? number : undefined
  } catch {
    return undefined
  }
}

/** Throws INVALID_ARGUMENT for a range that ends at a number where keys are not in the order of the numbers. */
export function requireOrder(state: string, to: string, format: string | undefined): void {
  if (!NUMBERS.has(format) || typeof otherKeyOf(readableKey(to)) !== 'number') return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the keys of "${state}" have the bytes of "${format}", whose order is not that of the numbers, so that no range of them ends at ${readableKey(to)}; scan up to U+10FFFF and select, or call keyBy without that serializer`,
  )
}
