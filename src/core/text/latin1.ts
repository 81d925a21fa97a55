/*
 * Bytes as strings of one character per byte: immutable, compact in V8, usable as Map keys, and
 * ordered by `<` as the bytes are.
 */

/** What `Buffer.toString('latin1', start, end)` calls. It takes any bytes, where a `Buffer` of them is an object for each text. */
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
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
