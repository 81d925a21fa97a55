import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { WeirError } from '../../../../core/errors.ts'

/** Most bytes of one answer of a broker; librdkafka's limit is 100 MB, and a fetch asks for 50 MiB. */
export const MAX_ANSWER_BYTES = 256 * 1024 * 1024

const SIZE_BYTES = 4

/**
 * Sizes of the answers in a stream of bytes. An answer begins with its size: a signed integer of four bytes,
 * high byte first, which does not count itself.
 */
export class AnswerSizes {
  private left = 0
  private size = 0
  private sizeBytes = 0

  /** Takes the next bytes. Returns the first size that no answer has, or undefined. */
  take(bytes: Uint8Array): number | undefined {
    let at = Math.min(this.left, bytes.length)
    this.left -= at
    while (at < bytes.length) {
      this.size = (this.size << 8) | bytes[at++]!
      if (++this.sizeBytes < SIZE_BYTES) continue
      const size = this.size
      if (size < SIZE_BYTES || size > MAX_ANSWER_BYTES) return size
      this.size = 0
      this.sizeBytes = 0
      this.left = size - Math.min(size, bytes.length - at)
      at += size - this.left
    }
    return undefined
  }
}

/** Watch over the answers that come on a socket. */
export interface AnswerWatch {
  /** Why the socket was closed, once a size was refused: CONNECTOR_FAILED. */
  readonly refusal: WeirError | undefined
  /** Whether a byte has come. */
  readonly hasAnswered: boolean
}

/**
 * Closes a socket that connects at the first size that no answer has. The library stores bytes until an answer is
 * whole, whatever its size: a peer that is no broker, or is damaged, would fill the memory.
 */
export function watchAnswers(socket: Socket, name: string): AnswerWatch {
  const sizes = new AnswerSizes()
  const watch = { refusal: undefined as WeirError | undefined, hasAnswered: false }
  const check = (bytes: Buffer): void => {
    if (socket.destroyed) return
    watch.hasAnswered = true
    const size = sizes.take(bytes)
    if (size === undefined) return
    const message = `what answers at ${name} is no Kafka broker, or its answer is damaged: it announces ${size} bytes, at most ${MAX_ANSWER_BYTES} are read; check the port of the broker`
    watch.refusal = new WeirError('CONNECTOR_FAILED', message)
    socket.destroy()
  }
  // Reading begins with the library's listener, after this event.
  socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', () => {
    socket.on('data', check)
  })
  return watch
}
