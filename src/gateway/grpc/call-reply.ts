import type { ServerHttp2Stream } from 'node:http2'
import { type CallEnd, trailersOf } from './status.ts'

const HEAD = {
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
}
const HEAD_BYTES = 5
const UNSUPPORTED_MEDIA_TYPE = 415

/** The answers of one call, and its end. */
export class CallReply {
  private readonly stream: ServerHttp2Stream
  private hasHead = false
  private hasEnded = false

  constructor(stream: ServerHttp2Stream) {
    this.stream = stream
  }

  /** Sends a message; `sent` is called when its bytes have left, not when the client is gone. */
  send(message: Uint8Array, sent: () => void = () => {}): void {
    const { stream } = this
    if (this.isOver) return
    if (!this.hasHead) stream.respond(HEAD, { waitForTrailers: true })
    this.hasHead = true
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeUInt32BE(message.length, 1)
    stream.cork()
    stream.write(head)
    stream.write(message, (error) => {
      if (error == null) sent()
    })
    stream.uncork()
  }

  /** Ends the call, well or with an error. The first end counts. */
  end(how?: CallEnd): void {
    const { stream } = this
    if (this.isOver) return
    this.hasEnded = true
    const trailers = trailersOf(how)
    if (!this.hasHead) {
      stream.once('finish', this.leave)
      stream.respond({ ...HEAD, ...trailers }, { endStream: true })
      return
    }
    stream.once('wantTrailers', () => {
      stream.sendTrailers(trailers)
      this.leave()
    })
    stream.end()
  }

  /** Refuses a request that is no call. */
  refuse(): void {
    if (this.isOver) return
    this.hasEnded = true
    this.stream.respond({ ':status': UNSUPPORTED_MEDIA_TYPE }, { endStream: true })
  }

  private get isOver(): boolean {
    return this.hasEnded || this.stream.destroyed || this.stream.closed
  }

  /** A client that still sends need not: nothing more is read. What was sent to it leaves before that. */
  private readonly leave = (): void => {
    setImmediate(() => {
      if (!this.stream.destroyed && !this.stream.readableEnded) this.stream.close()
    })
  }
}
