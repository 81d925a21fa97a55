import { isUtf8 } from 'node:buffer'
import { ByteReader } from '../byte-reader.ts'
import { ByteWriter } from '../byte-writer.ts'
import { WeirError } from '../errors.ts'
import { refuseArgument } from '../text/refuse-argument.ts'
import { type PlainKey, readPlainKey, writePlainKey } from './plain-key.ts'

/*
 * Keys of state as texts, as queries have them. A text is itself. A key of another type is U+10FFFF, which no text of a
 * language has, and then the key as JSON: 5, true, ["u5",5], and {"bigint":"5"}. Other bytes that are no UTF-8 are
 * hexadecimal digits there: 0xfbff. U+10FFFF alone comes after all keys, and a character U+0000 at the end of JSON makes
 * the smallest key after a key.
 */

const OTHER = '\u{10ffff}'
/** Longer than the first bytes of a negative whole number, which are 0xff, too. */
const AFTER_ALL = new Uint8Array(64).fill(0xff)
/** The lowest byte with which a key begins that is no text. */
const FIRST_OF_OTHERS = 0xf8
const HEX = /^0x((?:[0-9a-f]{2})+)$/
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** What may be the JSON of a key that is no text: few texts that are none get to the parser, whose errors cost time. */
const JSON_OF_OTHERS = /^(-?\d+(\.\d+)?(e[+-]?\d+)?|true|false|\[.*\]|\{"bigint":"-?\d+"\})$/i

/** The text of a key of any type. Throws INVALID_ARGUMENT for a number that is not finite, or another type. */
export function keyText(key: PlainKey): string {
  if (typeof key === 'string') return key
  // For what it refuses.
  writePlainKey(key, new ByteWriter(16))
  return `${OTHER}${JSON.stringify(key, jsonPart)}`
}

function jsonPart(_name: string, part: unknown): unknown {
  if (typeof part === 'bigint') return { bigint: part.toString() }
  if (typeof part !== 'number' || Number.isFinite(part)) return part
  throw new WeirError('INVALID_ARGUMENT', `a key that is looked up is a finite number, not ${part}`)
}

/** The key of a text; a text of a key that is none of the plain types is returned as it is. */
export function keyOfText(text: string): PlainKey {
  requireText(text)
  if (!text.startsWith(OTHER) || text === OTHER) return text
  return parsed(text.slice(OTHER.length)) ?? text
}

function requireText(given: unknown): void {
  if (typeof given !== 'string') refuseArgument('keyOfText(...)', given, 'the text of a key')
}

/** Whether a text is that of a key of another type. */
export function isOtherKey(text: string): boolean {
  return text.startsWith(OTHER) && text !== OTHER
}

/** A key for people: its text, or its JSON. */
export function readableKey(text: string): string {
  return text.startsWith(OTHER) ? text.slice(OTHER.length) : text
}

/** As `readableKey`, of the key's bytes. */
export function readableKeyOfBytes(bytes: Uint8Array): string {
  return readableKey(textOfKeyBytes(bytes))
}

/** The bytes of a key's text. Throws INVALID_ARGUMENT for U+10FFFF before anything but what stands there. */
export function bytesOfKeyText(text: string): Uint8Array {
  if (!text.startsWith(OTHER)) return encoder.encode(text)
  if (text === OTHER) return AFTER_ALL
  const digits = HEX.exec(text.slice(OTHER.length))?.[1]
  if (digits !== undefined) return Buffer.from(digits, 'hex')
  const isAfter = text.endsWith('\0')
  const key = parsed(text.slice(OTHER.length, isAfter ? -1 : undefined))
  if (key === undefined) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `U+10FFFF at the start of a key stands before the JSON of a number, a boolean or a tuple, not before "${readableKey(text)}"`,
    )
  }
  const bytes = bytesOf(key)
  return isAfter ? Buffer.concat([bytes, Uint8Array.of(0)]) : bytes
}

/**
 * The range of the keys that start with a text, or of the tuples that start with these elements, as texts: of its first key
 * and of the key before which it ends.
 */
export function prefixRange(prefix: string | readonly PlainKey[]): {
  readonly from: string
  readonly to: string
} {
  const from = keyText(prefix)
  const end = Buffer.from(bytesOfKeyText(from))
  // The next bytes of this length: those of keys are below 0xff, and an empty text stands for all texts.
  if (end.length === 0) return { from, to: `${OTHER}0x${FIRST_OF_OTHERS.toString(16)}` }
  end[end.length - 1]! += 1
  return { from, to: `${OTHER}0x${end.toString('hex')}` }
}

/** The text of a key's bytes. */
export function textOfKeyBytes(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return decoder.decode(bytes)
  const key = keyOfBytes(bytes)
  if (key !== undefined) return keyText(key)
  const before = bytes.at(-1) === 0 ? keyOfBytes(bytes.subarray(0, -1)) : undefined
  return before === undefined
    ? `${OTHER}0x${Buffer.from(bytes).toString('hex')}`
    : `${keyText(before)}\0`
}

/** The key with exactly these bytes, if it has a text. */
function keyOfBytes(bytes: Uint8Array): PlainKey | undefined {
  try {
    const key = readPlainKey(new ByteReader(bytes))
    if (typeof key === 'string') return undefined
    const isWhole = Buffer.compare(bytesOf(key), bytes) === 0
    return isWhole && bytesOfKeyText(keyText(key)).length === bytes.length ? key : undefined
  } catch {
    return undefined
  }
}

/** The number, boolean or tuple that a text is as JSON, or the bigint that it is with its n; undefined if it is none. */
export function otherKeyOf(text: string): PlainKey | undefined {
  if (/^-?\d+n$/.test(text)) return BigInt(text.slice(0, -1))
  return JSON_OF_OTHERS.test(text) ? parsed(text) : undefined
}

function parsed(json: string): PlainKey | undefined {
  try {
    const key: unknown = JSON.parse(json, (_name, part: unknown) => withBigint(part))
    if (typeof key === 'string') return undefined
    bytesOf(key as PlainKey)
    return key as PlainKey
  } catch {
    return undefined
  }
}

function withBigint(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
  return BigInt((part as { readonly bigint: string }).bigint)
}

function bytesOf(key: PlainKey): Uint8Array {
  const writer = new ByteWriter(16)
  writePlainKey(key, writer)
  return writer.bytes.slice(0, writer.length)
}
