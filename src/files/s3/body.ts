import { Readable } from 'node:stream'

/** What a reader knows of a body before it comes. */
export interface BodyLength {
  /** Its length, where the server states it. */
  readonly bytes: number | undefined
  /** The most that was asked for. */
  readonly most: number
}

/**
 * Reads the body of an answer, into `into` if that is given. Rejects when it ends before its stated length or is longer
 * than allowed, which the caller repeats.
 */
export async function readBody(
  body: unknown,
  { bytes, most }: BodyLength,
  into?: Uint8Array,
): Promise<Uint8Array> {
  if (!(body instanceof Readable)) {
    if (bytes === 0) return new Uint8Array(0)
    throw new Error('the answer has no body')
  }
  const longest = Math.min(bytes ?? most, most)
  const target = new BodyTarget(into ?? new Uint8Array(bytes ?? 0))
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    // Leaving the loop ends the connection.
    if (target.used + piece.length > longest) {
      throw new Error(`the answer is longer than ${longest} bytes`)
    }
    target.add(piece)
  }
  if (bytes !== undefined && target.used < bytes) {
    throw new Error(`the answer ended after ${target.used} of ${bytes} bytes`)
  }
  return target.taken()
}

/** Memory that grows where the length of a body was not stated. */
class BodyTarget {
  used = 0
  private memory: Uint8Array

  constructor(memory: Uint8Array) {
    this.memory = memory
  }

  add(piece: Uint8Array): void {
    const wanted = this.used + piece.length
    if (wanted > this.memory.length) {
      const grown = new Uint8Array(Math.max(wanted, 2 * this.memory.length))
      grown.set(this.memory.subarray(0, this.used))
      this.memory = grown
    }
    this.memory.set(piece, this.used)
    this.used = wanted
  }

  taken(): Uint8Array {
    return this.memory.subarray(0, this.used)
  }
}
