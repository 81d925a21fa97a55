import type { ServerHttp2Stream } from 'node:http2'
import { type CompressCallback, gunzip, inflate } from 'node:zlib'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { ByteBudget } from '../../http/access/byte-budget.ts'
import { REQUEST_TIMES } from '../../http/connection-share.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import {
  FREE_BYTES,
  MOST_RATIO,
  noRoomError,
  ratioError,
  UNCOUNTED_BYTES,
} from '../http/body-limits.ts'
import { StagedBytes } from '../http/staged-bytes.ts'

/*
 * A call of gRPC is a stream of HTTP/2 whose bytes are messages, each behind a head of five bytes: whether it is
 * compressed, and its length.
 */

const HEAD_BYTES = 5

/** How a stream is read. */
export interface StreamTerms {
  /** Memory for bytes that are not answered yet. */
  readonly budget: ByteBudget
  /** Whose share of it the stream takes. */
  readonly client: string
  /** `grpc-encoding` of the call. */
  readonly encoding: string
  /** Most bytes of a message. */
  readonly mostBytes: number
  readonly clock: Clock
}

/** What gets the messages of a stream. */
export interface MessageReceiver {
  /**
   * Takes a message; `done` gives its memory back. When it returns true, no more is read until `resume`.
   */
  take(bytes: Buffer, done: () => void): boolean
  /** The client sends no more. */
  end(): void
  /** The client broke a limit or the protocol, and no more is read. */
  fail(error: WeirError): void
}

type Decoder = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
  done: CompressCallback,
) => void

const DECODERS: Readonly<Record<string, Decoder>> = { gzip: gunzip, deflate: inflate }

/**
 * Reads the messages of a stream, as there is room for their bytes. From its first byte on, each must be whole in the
 * time that a request over HTTP has.
 */
export class MessageStream {
  private readonly stream: ServerHttp2Stream
  private readonly terms: StreamTerms
  private readonly receiver: MessageReceiver
  private readonly staged = new StagedBytes()
  private readonly head = Buffer.alloc(HEAD_BYTES)
  private headBytes = 0
  private bodyBytes = 0
  /** Bytes that came and are not read yet. */
  private chunk: Buffer = this.head.subarray(0, 0)
  /** Whether nothing is read now: the receiver, room or a decoder is waited for. */
  private isHeld = false
  private hasEnded = false
  private isOver = false
  /** Bytes that have come and are not answered. */
  private taken = 0
  /** Those of them that are taken of the budget. */
  private charged = 0
  private stopWaiting: Cancel | undefined
  private stopTimer: Cancel | undefined

  constructor(stream: ServerHttp2Stream, terms: StreamTerms, receiver: MessageReceiver) {
    this.stream = stream
    this.terms = terms
    this.receiver = receiver
    stream.on('data', this.onChunk)
    stream.once('end', this.onEnd)
  }

  /** Whether a message is awaited that is not whole yet. */
  get isAwaited(): boolean {
    return this.stopTimer !== undefined && !this.isOver
  }

  /** A message must be whole from now on in time, also before its first byte. */
  expect(): void {
    this.stopTimer ??= this.terms.clock.after(REQUEST_TIMES.requestTimeout, this.onLate)
  }

  /** The receiver takes more. */
  resume(): void {
    if (this.isOver || !this.isHeld) return
    this.isHeld = false
    this.read()
  }

  /** Reads nothing more, and gives all memory back. */
  close(): void {
    this.isOver = true
    this.stopWaiting?.()
    this.stopTimer?.()
    this.staged.release()
    this.give(this.taken)
  }

  private readonly onChunk = (chunk: Buffer): void => {
    if (this.isOver) return
    this.stream.pause()
    this.isHeld = true
    this.take(chunk.length, () => {
      this.chunk = chunk
      this.resume()
    })
  }

  /** Calls `go` when there is room for bytes. Small messages need none: there are not so many calls. */
  private take(bytes: number, go: () => void): void {
    const { budget, client } = this.terms
    const more = chargeOf(this.taken + bytes) - this.charged
    if (more <= 0) {
      this.taken += bytes
      go()
      return
    }
    let isTaken = false
    const cancel = budget.take(client, more, () => {
      isTaken = true
      this.taken += bytes
      this.charged += more
      if (this.isOver) this.give(bytes)
      else go()
    })
    if (cancel === undefined) this.fail(noRoomError('message'))
    else if (!isTaken) this.stopWaiting = cancel
  }

  private give(bytes: number): void {
    this.taken -= Math.min(bytes, this.taken)
    const given = this.charged - chargeOf(this.taken)
    if (given <= 0) return
    this.charged -= given
    this.terms.budget.give(this.terms.client, given)
  }

  private read(): void {
    while (this.chunk.length > 0 && !this.isHeld && !this.isOver) {
      if (this.headBytes < HEAD_BYTES) this.readHead()
      else this.readBody()
    }
    if (this.isHeld || this.isOver) return
    if (this.hasEnded) this.end()
    else this.stream.resume()
  }

  private readHead(): void {
    if (this.headBytes === 0) this.expect()
    const part = this.chunk.subarray(0, HEAD_BYTES - this.headBytes)
    this.head.set(part, this.headBytes)
    this.headBytes += part.length
    this.chunk = this.chunk.subarray(part.length)
    if (this.headBytes < HEAD_BYTES) return
    const { mostBytes } = this.terms
    if (this.length > mostBytes) this.fail(tooLong(this.length, mostBytes))
    else if (this.length === 0) this.whole(this.head.subarray(0, 0))
  }

  private get length(): number {
    return this.head.readUInt32BE(1)
  }

  private readBody(): void {
    const { length } = this
    const part = this.chunk.subarray(0, length - this.bodyBytes)
    this.chunk = this.chunk.subarray(part.length)
    if (part.length === length) this.whole(part)
    else this.stage(part)
  }

  private stage(part: Buffer): void {
    this.staged.add(part)
    this.bodyBytes += part.length
    if (this.bodyBytes < this.length) return
    const message = Buffer.concat([...this.staged.parts()])
    this.staged.release()
    this.whole(message)
  }

  private whole(bytes: Buffer): void {
    this.stopTimer?.()
    this.stopTimer = undefined
    this.headBytes = 0
    this.bodyBytes = 0
    const counted = HEAD_BYTES + bytes.length
    const decode = DECODERS[this.terms.encoding]
    if (this.head[0] === 0) this.hand(bytes, counted)
    else if (decode === undefined) this.fail(unknownCoding(this.terms.encoding))
    else this.decode(decode, bytes, counted)
  }

  private hand(bytes: Buffer, counted: number): void {
    if (this.receiver.take(bytes, () => this.give(counted))) this.isHeld = true
  }

  /** Decodes a message within the memory that its length allows, which is taken before. */
  private decode(decode: Decoder, bytes: Buffer, counted: number): void {
    this.isHeld = true
    const most = Math.min(this.terms.mostBytes, Math.max(FREE_BYTES, bytes.length * MOST_RATIO))
    this.take(most, () => {
      decode(bytes, { maxOutputLength: most }, (error, decoded) => {
        if (this.isOver) return
        if (error !== null) return this.fail(decodingError(error, most))
        this.give(counted + most - decoded.length)
        this.isHeld = false
        this.hand(decoded, decoded.length)
        if (!this.isHeld) this.read()
      })
    })
  }

  /** It also comes while nothing is read, when all that was sent has come. */
  private readonly onEnd = (): void => {
    this.hasEnded = true
    if (!this.isHeld && !this.isOver) this.end()
  }

  private end(): void {
    const isWhole = this.headBytes === 0
    if (isWhole) this.receiver.end()
    else this.fail(new WeirError('MALFORMED_DATA', 'the call ended in the middle of a message'))
  }

  private readonly onLate = (): void => {
    const seconds = REQUEST_TIMES.requestTimeout / 1000
    this.fail(new WeirError('DEADLINE_EXCEEDED', `the message was not whole within ${seconds} s`))
  }

  private fail(error: WeirError): void {
    if (this.isOver) return
    this.close()
    this.receiver.fail(error)
  }
}

/** Bytes of a budget that a call takes which has so many. */
const chargeOf = (bytes: number): number => Math.max(0, bytes - UNCOUNTED_BYTES)

function tooLong(length: number, most: number): WeirError {
  const what = most < MAX_FRAME_BYTES ? '; only requests that run a model may be longer' : ''
  const message = `the message has ${length} bytes, more than ${most}${what}`
  return new WeirError('FRAME_TOO_LARGE', message)
}

function unknownCoding(encoding: string): WeirError {
  const shown = encoding.slice(0, 40)
  const message = `the encoding "${shown}" is not known; send gzip, deflate or none`
  return new WeirError('UNSUPPORTED', message)
}

function decodingError({ code }: NodeJS.ErrnoException, most: number): WeirError {
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    return most < MAX_FRAME_BYTES ? ratioError('message') : tooLong(most + 1, most)
  }
  return new WeirError('MALFORMED_DATA', 'the message is not compressed as its call says')
}
