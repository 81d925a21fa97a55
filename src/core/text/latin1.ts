/*
 * Bytes as strings of one character per byte: immutable, compact in V8, usable as Map keys, and
 * ordered by `<` as the bytes are.
 */

/** Up to this length, bytes are copied to a buffer that is there: a view of them costs more. */
const SHORT = 40
const short = Buffer.alloc(SHORT)

/**
 * The string of the bytes from `start` to `start + length`. It is flat, where concatenated characters
 * would be a tree.
 */
export function latin1Of(bytes: Uint8Array, length: number = bytes.length, start = 0): string {
  if (length > SHORT) {
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString('latin1')
  }
  for (let i = 0; i < length; i++) short[i] = bytes[start + i]!
  return short.toString('latin1', 0, length)
}

/** Writes the bytes of `text` into `target` from `at`, which has the room; returns the end. */
export function writeLatin1(text: string, target: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) target[at + i] = text.charCodeAt(i)
  return at + text.length
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
