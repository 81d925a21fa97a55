/** Room that `writeAscii` needs beyond the letters: a letter of up to four bytes that does not fit is not begun. */
export const ASCII_ROOM = 4
/** Below this length a loop is faster than the call (measured on Node 24). */
const SHORT_TEXT = 18

/** What `Buffer.write(text, start, length, 'utf8')` calls. It takes any bytes. */
const { utf8Write } = Buffer.prototype as unknown as {
  utf8Write(this: Uint8Array, text: string, start: number, length: number): number
}

/**
 * Writes a text into `target` from `at`, one byte a letter, and returns the end; -1 where a letter needs more. `target` must
 * have room for `ASCII_ROOM` bytes more than there are letters, whose contents are then undefined.
 */
export function writeAscii(text: string, target: Uint8Array, at: number): number {
  const { length } = text
  if (length >= SHORT_TEXT) {
    // With any other letter there are more bytes than letters, also when the last letters do not fit.
    const written = utf8Write.call(target, text, at, length + ASCII_ROOM)
    return written === length ? at + length : -1
  }
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) return -1
    target[at + i] = code
  }
  return at + length
}
