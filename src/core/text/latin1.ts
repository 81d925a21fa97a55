/*
 * Bytes as strings of one character per byte: immutable, compact in V8, usable as Map keys, and
 * ordered by `<` as the bytes are.
 */

/** Below this length a loop is faster than the call of `latin1Write` (measured on Node 24). */
const SHORT_TEXT = 18

/**
 * What `Buffer.toString('latin1', start, end)` and `Buffer.write(text, start, length, 'latin1')` call. They take any bytes,
 * where a `Buffer` of them is an object for each text.
 */
const { latin1Slice, latin1Write } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
  latin1Write(this: Uint8Array, text: string, start: number, length: number): number
}

/**
 * The string of the bytes from `start` to `start + length`. It is flat, where concatenated characters
 * would be a tree.
 */
export function latin1Of(bytes: Uint8Array, length: number = bytes.length, start = 0): string {
  return latin1Slice.call(bytes, start, start + length)
}

/** Writes the bytes of `text` into `target` from `at`, which has the room; returns the end. */
export function writeLatin1(text: string, target: Uint8Array, at: number): number {
  const { length } = text
  if (length < SHORT_TEXT) {
    for (let i = 0; i < length; i++) target[at + i] = text.charCodeAt(i)
  } else latin1Write.call(target, text, at, length)
  return at + length
}

/** The bytes of `text`. */
export function bytesOfLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  writeLatin1(text, bytes, 0)
  return bytes
}

/** Whether `text` is exactly the first `length` bytes. */
export function equalsLatin1(text: string, bytes: Uint8Array, length: number): boolean {
  if (text.length !== length) return false
  for (let i = length - 1; i >= 0; i--) {
    if (text.charCodeAt(i) !== bytes[i]) return false
  }
  return true
}
