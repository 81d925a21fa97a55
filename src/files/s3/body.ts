import { Readable } from 'node:stream'

/**
 * Reads the body of an answer of `bytes` bytes, into `into` if that is given. Rejects when it ends before, which the
 * caller repeats.
 */
export async function readBody(
  body: unknown,
  bytes: number,
  into?: Uint8Array,
): Promise<Uint8Array> {
  if (!(body instanceof Readable)) {
    if (bytes === 0) return new Uint8Array(0)
    throw new Error('the answer has no body')
  }
  const target = into ?? new Uint8Array(bytes)
  let at = 0
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    // Leaving the loop ends the connection.
    if (at + piece.length > bytes) throw new Error(`the answer is longer than ${bytes} bytes`)
    target.set(piece, at)
    at += piece.length
  }
  if (at < bytes) throw new Error(`the answer ended after ${at} of ${bytes} bytes`)
  return target.subarray(0, bytes)
}
