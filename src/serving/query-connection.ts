import type { Socket } from 'node:net'
import { sleep } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import { asWeirError } from '../wire/answer.ts'
import { FrameReader, KIND, PROTOCOL_VERSION } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import { HELLO_LIMIT, type Hello, readHello, writeWelcome } from '../wire/hello.ts'
import type { WriterPool } from '../wire/writer-pool.ts'
import {
  type ConnectionOutput,
  ConnectionRequests,
  type RequestContext,
} from './connection-requests.ts'

/** What the connections of a server share. */
export interface ConnectionContext extends RequestContext {
  readonly writers: WriterPool
  /** Throws UNAUTHENTICATED or UNAVAILABLE. */
  admit(hello: Hello): void
  /** The connection is gone. */
  closed(connection: QueryConnection): void
}

/** How long a peer may take to read the last error before the socket is destroyed. */
const LINGER_MS = 2_000
/** Silence after which the system probes whether the peer still lives. */
const KEEP_ALIVE_MS = 30_000

/** How often a closing connection looks whether its requests are answered. */
const DRAIN_POLL_MS = 5

type Phase = 'hello' | 'open' | 'closing' | 'closed'

/** One client of a query server: reads frames, answers them, never holds more than its limits. */
export class QueryConnection implements ConnectionOutput {
  writer: FrameWriter
  clientFrameBytes = HELLO_LIMIT
  private readonly socket: Socket
  private readonly context: ConnectionContext
  private readonly frames: FrameReader
  private readonly requests: ConnectionRequests
  private phase: Phase = 'hello'
  private flushScheduled = false
  /** The client has too much to read: its own bytes wait. */
  private blocked = false
  private readonly openedAt: number
  private lastReadAt: number
  private lastProgressAt: number
  private lastUnsent = 0
  private closingAt = 0

  constructor(socket: Socket, context: ConnectionContext) {
    this.socket = socket
    this.context = context
    this.writer = context.writers.acquire()
    this.requests = new ConnectionRequests(context, this)
    const { limits, clock } = context.options
    this.frames = new FrameReader(() =>
      this.phase === 'hello' ? HELLO_LIMIT : limits.maxFrameBytes,
    )
    this.openedAt = clock.monotonicMs()
    this.lastReadAt = this.openedAt
    this.lastProgressAt = this.openedAt
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.on('data', this.onData)
    socket.on('drain', this.onDrain)
    socket.on('error', this.onGone)
    socket.on('close', this.onGone)
  }

  get isOpen(): boolean {
    return this.phase === 'open'
  }

  isFull(): boolean {
    return this.writer.length >= this.context.options.limits.maxOutputBytes
  }

  private readonly onData = (chunk: Uint8Array): void => {
    if (this.phase === 'closing' || this.phase === 'closed') return
    const { options, metrics } = this.context
    const startedAt = options.clock.monotonicMs()
    this.lastReadAt = startedAt
    metrics.bytesIn.increment(chunk.length)
    this.frames.append(chunk)
    this.serve()
    metrics.latencyMs.observe(options.clock.monotonicMs() - startedAt)
  }

  /** Serves frames until none is whole or the client has too much to read; sends the answers. */
  private serve(): void {
    try {
      while (this.relieve()) {
        // The frame in progress comes first: the reader still stands on it.
        if (this.requests.isSuspended) this.requests.resume()
        else if (!this.frames.next()) break
        else if (this.phase === 'hello') this.greet()
        else this.requests.serve(this.frames)
      }
      this.flush()
      this.block()
    } catch (error) {
      this.fail(asWeirError(error))
    }
  }

  /** Sends full output; false when the client does not take it and serving must wait. */
  private relieve(): boolean {
    if (this.isFull()) this.flush()
    return !this.block()
  }

  private block(): boolean {
    if (this.blocked) return true
    if (this.socket.writableLength < this.context.options.limits.maxOutputBytes) return false
    this.blocked = true
    this.socket.pause()
    return true
  }

  private readonly onDrain = (): void => {
    if (!this.blocked || this.phase !== 'open') return
    this.blocked = false
    this.serve()
    if (!this.blocked) this.socket.resume()
  }

  private greet(): void {
    const { options, backend, metrics } = this.context
    const hello = readHello(this.frames)
    metrics.asked(KIND.hello, 1)
    this.context.admit(hello)
    this.clientFrameBytes = hello.maxFrameBytes
    this.phase = 'open'
    writeWelcome(this.writer, {
      version: PROTOCOL_VERSION,
      maxFrameBytes: options.limits.maxFrameBytes,
      routingEpoch: backend.routingEpoch(),
      server: options.server,
      job: backend.routing().job,
      idleTimeoutMs: options.limits.idleTimeoutMs,
      maxOutstanding: options.limits.maxOutstanding,
    })
  }

  flushSoon(): void {
    if (this.flushScheduled) return
    this.flushScheduled = true
    setImmediate(this.flushNow)
  }

  private readonly flushNow = (): void => {
    this.flushScheduled = false
    this.flush()
    if (this.phase === 'open') this.block()
  }

  private flush(): void {
    const writer = this.writer
    if (writer.length === 0 || this.phase === 'closed') return
    const { writers, metrics } = this.context
    metrics.bytesOut.increment(writer.length)
    this.writer = writers.acquire()
    this.socket.write(writer.written(), () => writers.release(writer))
  }

  /** Says why and closes; what the peer still sends is dropped. */
  fail(error: WeirError): void {
    if (this.phase === 'closing' || this.phase === 'closed') return
    this.writer.abandon()
    this.requests.answerError(0, error)
    this.shut()
  }

  private shut(): void {
    this.flush()
    this.phase = 'closing'
    this.closingAt = this.context.options.clock.monotonicMs()
    this.socket.end()
    // The peer reads the last error only if its own bytes are taken from the socket.
    this.socket.resume()
  }

  /** Closes once every started request is answered. */
  async drain(): Promise<void> {
    while (this.requests.outstanding > 0 && this.phase === 'open') {
      await sleep(this.context.options.clock, DRAIN_POLL_MS)
    }
    if (this.phase === 'open' || this.phase === 'hello') this.shut()
  }

  /** Called about once a second: ends what is idle, stuck, silent or already said goodbye. */
  sweep(now: number): void {
    const { limits } = this.context.options
    this.frames.shrink()
    if (this.phase === 'closing') {
      if (now - this.closingAt > LINGER_MS) this.destroy()
    } else if (this.phase === 'hello') {
      if (now - this.openedAt > limits.helloTimeoutMs) this.destroy()
    } else if (this.isStuck(now)) this.destroy()
    else if (now - this.lastReadAt > limits.idleTimeoutMs && this.requests.outstanding === 0) {
      this.fail(
        new WeirError('UNAVAILABLE', `nothing was sent for ${limits.idleTimeoutMs} ms; reconnect`),
      )
    }
  }

  private isStuck(now: number): boolean {
    const unsent = this.socket.writableLength
    if (unsent === 0 || unsent < this.lastUnsent || this.lastUnsent === 0) this.lastProgressAt = now
    this.lastUnsent = unsent
    return now - this.lastProgressAt > this.context.options.limits.stuckTimeoutMs
  }

  /** Closes at once. */
  destroy(): void {
    this.socket.destroy()
    this.onGone()
  }

  private readonly onGone = (): void => {
    if (this.phase === 'closed') return
    this.phase = 'closed'
    this.context.metrics.closedConnections.increment()
    this.context.closed(this)
  }
}
