import { isUtf8 } from 'node:buffer'
import { requireArgument, WeirError } from '../core/errors.ts'

/**
 * Limits of JSON that a client sends. It is parsed on a thread that answers others, and its objects take up to fifty
 * times the memory of their text, so these limits are narrower than those of a body.
 */
export interface JsonLimits {
  /** Bytes, after decompression. */
  readonly bytes: number
  /** Numbers, texts, lists and objects together. */
  readonly values: number
  /** Lists and objects. */
  readonly containers: number
  /** Fields of all objects together. */
  readonly keys: number
  /** Lists and objects around a value. */
  readonly depth: number
}

/** The limits of a route without limits of its own: parsing takes at most about 40 ms of processor time. */
export const JSON_LIMITS: JsonLimits = {
  bytes: 4 * 1024 * 1024,
  values: 512 * 1024,
  containers: 64 * 1024,
  keys: 64 * 1024,
  depth: 64,
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The value of a body of JSON, by `parse`. Throws FRAME_TOO_LARGE and INVALID_ARGUMENT. */
export function parseJsonBody(
  bytes: Buffer,
  limits: JsonLimits = JSON_LIMITS,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  const text = jsonTextOf(bytes, limits)
  try {
    return parse(text)
  } catch (cause) {
    throw new WeirError('INVALID_ARGUMENT', 'the body is no JSON', { cause })
  }
}

/** The text of a body of JSON that keeps the limits; it may still be no JSON. Throws as `parseJsonBody`. */
export function jsonTextOf(bytes: Buffer, limits: JsonLimits = JSON_LIMITS): string {
  requireJsonBytes(bytes.length, limits)
  requireArgument(isUtf8(bytes), 'the body is no UTF-8')
  if (!certainlyFits(bytes, limits)) requireFits(bytes, limits)
  return bytes.toString('utf8')
}

/** Throws FRAME_TOO_LARGE for more bytes of JSON than a client may send. */
export function requireJsonBytes(length: number, { bytes }: JsonLimits = JSON_LIMITS): void {
  if (length <= bytes) return
  const message = `the JSON has ${length} bytes, more than ${bytes}; send tensors as binary data, and long lists in parts`
  throw new WeirError('FRAME_TOO_LARGE', message)
}

/** Whether so few bytes could be structure that no limit is reached: a search for bytes is faster than a look at each. */
function certainlyFits(bytes: Buffer, { values, containers, keys, depth }: JsonLimits): boolean {
  const most = Math.min(containers, depth)
  if (bytes.length <= Math.min(values, most, keys)) return true
  return (
    bytes.length < values &&
    countOf(bytes, OPEN_LIST, most) + countOf(bytes, OPEN_OBJECT, most) <= most &&
    countOf(bytes, COLON, Math.min(keys, MOST_SEARCHES)) <= Math.min(keys, MOST_SEARCHES)
  )
}

/** Beyond so many hits a look at each byte is faster. */
const MOST_SEARCHES = 256

function countOf(bytes: Buffer, byte: number, most: number): number {
  let count = 0
  for (let at = bytes.indexOf(byte); at >= 0 && count <= most; at = bytes.indexOf(byte, at + 1)) {
    count += 1
  }
  return count
}

/**
 * Throws FRAME_TOO_LARGE at the first byte beyond a limit, INVALID_ARGUMENT for deep nesting. The loop is long because it
 * looks at each byte in place.
 */
function requireFits(bytes: Buffer, limits: JsonLimits): void {
  let values = 0
  let containers = 0
  let keys = 0
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) at = endOfText(bytes, at)
    else if (byte === COMMA) {
      if (++values > limits.values) throw tooMany('values', limits.values)
    } else if (byte === COLON) {
      if (++keys > limits.keys) throw tooMany('fields', limits.keys)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values++
      if (++containers > limits.containers) throw tooMany('lists and objects', limits.containers)
      if (++depth > limits.depth) {
        throw new WeirError('INVALID_ARGUMENT', `the JSON is nested deeper than ${limits.depth}`)
      }
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
  }
}

/** Index of the quote that ends the text that begins at `from`; the end of the bytes without one. */
function endOfText(bytes: Buffer, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return bytes.length
}

function tooMany(what: string, limit: number): WeirError {
  const message = `the JSON has more than ${limit} ${what}; send tensors as binary data, and long lists in parts`
  return new WeirError('FRAME_TOO_LARGE', message)
}
