import { WeirError } from '../../core/errors.ts'

/**
 * Key, namespace and map key as one byte string, the key of an entry within its state:
 *
 *   +--------------+-------+--------------------+-------+-------------------+
 *   | key, escaped | 00 01 | namespace, escaped | 00 01 | map key, as it is |
 *   +--------------+-------+--------------------+-------+-------------------+
 *
 * Escaping writes 00 FF for 00. So byte order of composite keys is the order of (key, namespace,
 * map key), and all entries of one key and namespace share a prefix that no other entry has. State
 * without map keys ends after the second terminator. The form is stored in segments.
 */

/** What follows a zero byte that ends a part. */
export const TERMINATOR = 0x01
const ESCAPED_ZERO = 0xff

/** The parts of a composite key; every part is a copy. */
export interface CompositeKey {
  readonly key: Uint8Array
  readonly namespace: Uint8Array
  /** Empty when the state has no map keys. */
  readonly mapKey: Uint8Array
}

/** Bytes that a part takes at most once it is escaped and terminated. */
export function escapedCapacity(part: Uint8Array): number {
  return part.length * 2 + 2
}

/**
 * Writes `part` (or `length` bytes of it from `start`), escaped and terminated, into `target` from `at`.
 * There must be room for `escapedCapacity(part)`. Returns the position after it.
 */
export function writeEscaped(
  part: Uint8Array,
  target: Uint8Array,
  at: number,
  start = 0,
  length: number = part.length,
): number {
  let position = at
  for (let i = start; i < start + length; i++) {
    const byte = part[i]!
    target[position++] = byte
    if (byte === 0) target[position++] = ESCAPED_ZERO
  }
  target[position++] = 0
  target[position++] = TERMINATOR
  return position
}

/** Whether `text`, one character a byte, is the composite key of a key and a namespace without a map key. */
export function isCompositeOf(text: string, key: Uint8Array, namespace: Uint8Array): boolean {
  const keyEnd = endIfEscaped(text, 0, key)
  return keyEnd >= 0 && endIfEscaped(text, keyEnd, namespace) === text.length
}

/** The end of `part`, escaped and terminated, where it is at `start`; -1 where it is not. */
function endIfEscaped(text: string, start: number, part: Uint8Array): number {
  if (text.length < start + part.length + 2) return -1
  let at = start
  for (let i = 0; i < part.length; i++) {
    const byte = part[i]!
    if (text.charCodeAt(at++) !== byte) return -1
    if (byte === 0 && text.charCodeAt(at++) !== ESCAPED_ZERO) return -1
  }
  return text.charCodeAt(at) === 0 && text.charCodeAt(at + 1) === TERMINATOR ? at + 2 : -1
}

/** The composite key of a key and a namespace, without a map key. */
export function encodePrefix(key: Uint8Array, namespace: Uint8Array): Uint8Array {
  const target = new Uint8Array(escapedCapacity(key) + escapedCapacity(namespace))
  const end = writeEscaped(namespace, target, writeEscaped(key, target, 0))
  return target.subarray(0, end)
}

/** A composite key of its parts. */
export function encodeComposite({ key, namespace, mapKey }: CompositeKey): Uint8Array {
  const prefix = encodePrefix(key, namespace)
  const composite = new Uint8Array(prefix.length + mapKey.length)
  composite.set(prefix)
  composite.set(mapKey, prefix.length)
  return composite
}

/** Splits a composite key. Throws MALFORMED_DATA when a terminator is missing. */
export function decodeComposite(composite: Uint8Array): CompositeKey {
  const keyEnd = endOfEscaped(composite, 0)
  const namespaceEnd = endOfEscaped(composite, keyEnd)
  return {
    key: unescapePart(composite, 0, keyEnd),
    namespace: unescapePart(composite, keyEnd, namespaceEnd),
    mapKey: composite.slice(namespaceEnd),
  }
}

/** The parts of composite keys one after the other, in memory that is used again. */
export class PartReader {
  /** The part, unescaped, up to `length`. */
  bytes = new Uint8Array(256)
  length = 0

  /** Reads the part that begins at `start`, and returns its end. Throws MALFORMED_DATA when its terminator is missing. */
  read(composite: Uint8Array, start: number): number {
    if (composite.length > this.bytes.length) this.bytes = new Uint8Array(composite.length * 2)
    const { bytes } = this
    let length = 0
    for (let i = start; i + 1 < composite.length; i++) {
      const byte = composite[i]!
      if (byte === 0 && composite[++i] === TERMINATOR) {
        this.length = length
        return i + 1
      }
      bytes[length++] = byte
    }
    throw missingEnd()
  }
}

/** End of the prefix (key and namespace) of a composite key. Throws MALFORMED_DATA. */
export function prefixLength(composite: Uint8Array): number {
  return endOfEscaped(composite, endOfEscaped(composite, 0))
}

/** As `prefixLength`, of a key with one character a byte. */
export function prefixLengthOf(composite: string): number {
  return endOfEscapedText(composite, endOfEscapedText(composite, 0))
}

function endOfEscapedText(text: string, start: number): number {
  for (let i = start; i + 1 < text.length; i++) {
    if (text.charCodeAt(i) !== 0) continue
    if (text.charCodeAt(i + 1) === TERMINATOR) return i + 2
    i += 1
  }
  throw missingEnd()
}

function endOfEscaped(bytes: Uint8Array, start: number): number {
  for (let i = start; i + 1 < bytes.length; i++) {
    if (bytes[i] !== 0) continue
    if (bytes[i + 1] === TERMINATOR) return i + 2
    i += 1
  }
  throw missingEnd()
}

/** The error of a composite key that ends within a part. */
export function missingEnd(): WeirError {
  return new WeirError('MALFORMED_DATA', 'a stored key has no end of its key or namespace')
}

function unescapePart(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const part = new Uint8Array(end - 2 - start)
  let length = 0
  for (let i = start; i < end - 2; i++) {
    part[length++] = bytes[i]!
    if (bytes[i] === 0) i += 1
  }
  return part.slice(0, length)
}
