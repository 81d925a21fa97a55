import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { messageOf, WeirError } from '../core/errors.ts'
import { AnswerCursor, asWeirError, readErrorFrame } from '../wire/answer.ts'
import type { DeadlineWheel } from '../wire/deadline-wheel.ts'
import { ANSWER, FrameReader, KIND, PROTOCOL_VERSION } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import { readWelcome, type Welcome, writeHello } from '../wire/hello.ts'
import { type RoutingTable, readRouting } from '../wire/routing-table.ts'
import type { WriterPool } from '../wire/writer-pool.ts'
import type { ResolvedClientOptions } from './client-options.ts'
import { channels } from './diagnostics.ts'
import type { InFlight } from './in-flight.ts'

/** What the connections of a client share. */
export interface ClientContext {
  readonly options: ResolvedClientOptions
  readonly wheel: DeadlineWheel
  readonly writers: WriterPool
  /** An answer came with this routing epoch. */
  epochSeen(epoch: number): void
  /** The connection is gone; what it had in flight has failed. */
  lost(connection: ClientConnection): void
}

const READ_BYTES = 64 * 1024
/** Frames from this length on are not copied together with others. */
const LONG_FRAME = 32 * 1024
/** A server that sends nothing for so long after it was asked whether it is there is gone. */
const SILENCE_MS = 2000

/** One pipelined connection to a query server. */
export class ClientConnection {
  readonly host: string
  readonly port: number
  /** What the server said; undefined until it has. */
  welcome: Welcome | undefined
  /** Calls that wait for an answer. */
  calls = 0
  private readonly context: ClientContext
  private readonly socket: Socket
  private readonly frames: FrameReader
  private readonly cursor = new AnswerCursor()
  private readonly inFlight = new Map<number, InFlight>()
  private readonly routingWaiters = new Map<number, (table: RoutingTable | WeirError) => void>()
  private readonly greeting = Promise.withResolvers<Welcome>()
  private writer: FrameWriter
  private nextId = 1
  private flushScheduled = false
  private closed = false
  private closedWith: WeirError | undefined
  private cancelPing: (() => void) | undefined
  private cancelProbe: (() => void) | undefined
  /** Pieces that came. */
  private heard = 0

  constructor(host: string, port: number, context: ClientContext) {
    this.host = host
    this.port = port
    this.context = context
    this.writer = context.writers.acquire()
    this.frames = new FrameReader(() => context.options.maxFrameBytes)
    this.socket = this.open()
    this.socket.setNoDelay(true)
    this.socket.setKeepAlive(true, 30_000)
    this.socket.on('error', (cause) => this.lose(unreachable(host, port, messageOf(cause), cause)))
    this.socket.on('close', () => this.lose(unreachable(host, port, 'the connection was closed')))
    this.greet()
  }

  /** Sockets without TLS read into one buffer of their own; nothing is allocated per read. */
  private open(): Socket {
    const { host, port } = this
    const { tls } = this.context.options
    if (tls !== undefined) {
      const socket = connectTls({ ...tls, host, port })
      socket.on('data', (chunk) => this.receive(chunk))
      return socket
    }
    const buffer = new Uint8Array(READ_BYTES)
    return connectTcp({
      host,
      port,
      onread: {
        buffer,
        callback: (length: number): boolean => {
          this.receive(buffer.subarray(0, length))
          this.frames.detach()
          return true
        },
      },
    })
  }

  private greet(): void {
    const { options } = this.context
    writeHello(this.writer, {
      minVersion: PROTOCOL_VERSION,
      maxVersion: PROTOCOL_VERSION,
      maxFrameBytes: options.maxFrameBytes,
      token: options.token,
      job: options.job,
      client: options.client,
    })
    this.flush()
    // Without this a server that never answers would keep `connect` waiting.
    const cancel = options.clock.after(options.deadlineMs, () =>
      this.lose(unreachable(this.host, this.port, `no hello within ${options.deadlineMs} ms`)),
    )
    this.greeting.promise.then(cancel, cancel)
  }

  /** Resolves when the server has accepted; rejects with why it did not. */
  opened(): Promise<Welcome> {
    return this.greeting.promise
  }

  /** Whether requests can be sent. */
  get isOpen(): boolean {
    return this.welcome !== undefined && !this.closed
  }

  /** Largest frame the server accepts. */
  get maxFrameBytes(): number {
    return this.welcome?.maxFrameBytes ?? 0
  }

  /** Requests that wait for an answer. */
  get outstanding(): number {
    return this.inFlight.size
  }

  /** Takes an id for the next request; 0 is the connection's own. */
  newRequestId(): number {
    const id = this.nextId
    this.nextId = id === 0xffffffff ? 1 : id + 1
    return id
  }

  /**
   * Sends one complete frame whose request id is `request.requestId` and awaits its answers. Returns
   * the writer for the next frame: a short one is copied and its writer given back, a long one leaves
   * from where it was written, and another writer, an empty one, is given for it.
   */
  send(request: InFlight, frame: FrameWriter): FrameWriter {
    this.inFlight.set(request.requestId, request)
    this.calls += request.calls
    this.context.wheel.add(request)
    if (frame.length < LONG_FRAME) {
      this.writer.raw(frame.written())
      this.flushSoon()
      return frame
    }
    this.flush()
    const empty = this.writer
    this.writer = frame
    this.flush()
    return empty
  }

  /** A request's deadline has passed: its answer will be ignored, and the server has to say a word. */
  forget(request: InFlight): void {
    if (this.inFlight.delete(request.requestId)) this.calls -= request.calls
    this.probe()
  }

  /**
   * Finds out whether the server is still there. A connection that a firewall forgot, or whose peer
   * vanished, looks open for hours.
   */
  private probe(): void {
    if (this.cancelProbe !== undefined || !this.isOpen) return
    const { heard } = this
    this.ping()
    this.cancelProbe = this.context.options.clock.after(SILENCE_MS, () => {
      this.cancelProbe = undefined
      if (this.heard !== heard) return
      this.lose(unreachable(this.host, this.port, `it was silent for ${SILENCE_MS} ms`))
    })
  }

  private ping(): void {
    this.writer.begin(KIND.ping, 0, this.newRequestId())
    this.writer.end(0)
    this.flushSoon()
  }

  /** Asks for the routing table. Rejects when the connection is lost; a silent one is. */
  routing(): Promise<RoutingTable> {
    const { promise, resolve, reject } = Promise.withResolvers<RoutingTable>()
    if (this.closed) return Promise.reject(this.closedWith)
    const id = this.newRequestId()
    this.routingWaiters.set(id, (result) => {
      if (result instanceof WeirError) reject(result)
      else resolve(result)
    })
    this.writer.begin(KIND.routing, 0, id)
    this.writer.end(0)
    this.flushSoon()
    const { clock, deadlineMs } = this.context.options
    const cancel = clock.after(deadlineMs, () => this.probe())
    promise.then(cancel, cancel)
    return promise
  }

  /** What was written in this turn of the loop leaves in one write. */
  private flushSoon(): void {
    if (this.flushScheduled) return
    this.flushScheduled = true
    process.nextTick(this.flush)
  }

  /** Sends what was written at once. */
  readonly flush = (): void => {
    this.flushScheduled = false
    const writer = this.writer
    if (writer.length === 0 || this.closed) return
    const { writers } = this.context
    this.writer = writers.acquire()
    this.socket.write(writer.written(), () => writers.release(writer))
  }

  private receive(chunk: Uint8Array): void {
    if (this.closed) return
    this.heard += 1
    try {
      this.frames.append(chunk)
      while (!this.closed && this.frames.next()) this.take()
    } catch (error) {
      this.lose(asWeirError(error))
    }
  }

  private take(): void {
    const { frames } = this
    const { kind, requestId } = frames
    if (kind === KIND.error) this.takeError(requestId)
    else if (kind === KIND.hello + ANSWER) this.takeWelcome()
    else if (kind === KIND.routing + ANSWER) this.settleRouting(requestId, readRouting(frames))
    else if (kind !== KIND.ping + ANSWER) this.takeAnswer(requestId)
  }

  private takeAnswer(requestId: number): void {
    const request = this.inFlight.get(requestId)
    this.cursor.open(this.frames)
    this.context.epochSeen(this.cursor.routingEpoch)
    if (request === undefined) return
    if (!request.answer(this.cursor, this.welcome?.server ?? '')) return
    this.release(request)
  }

  private release(request: InFlight): void {
    this.inFlight.delete(request.requestId)
    this.calls -= request.calls
    this.context.wheel.remove(request)
  }

  private takeError(requestId: number): void {
    const error = readErrorFrame(this.frames)
    if (requestId === 0) {
      this.lose(error)
      return
    }
    this.settleRouting(requestId, error)
    const request = this.inFlight.get(requestId)
    if (request === undefined) return
    this.release(request)
    request.fail(error)
  }

  private settleRouting(requestId: number, result: RoutingTable | WeirError): void {
    this.routingWaiters.get(requestId)?.(result)
    this.routingWaiters.delete(requestId)
  }

  private takeWelcome(): void {
    this.welcome = readWelcome(this.frames)
    this.greeting.resolve(this.welcome)
    channels.connected.publish({ host: this.host, port: this.port, server: this.welcome.server })
    this.schedulePing(this.welcome.idleTimeoutMs)
  }

  /** The server closes what is silent; a ping three times per timeout keeps it open. */
  private schedulePing(idleTimeoutMs: number): void {
    if (idleTimeoutMs <= 0) return
    this.cancelPing = this.context.options.clock.after(idleTimeoutMs / 3, () => {
      if (this.closed) return
      this.frames.shrink()
      this.ping()
      this.schedulePing(idleTimeoutMs)
    })
  }

  /** The connection is over: everything in flight fails, once. */
  private lose(error: WeirError): void {
    if (this.closed) return
    this.closed = true
    this.closedWith = error
    this.cancelPing?.()
    this.cancelProbe?.()
    this.socket.destroy()
    this.greeting.reject(error)
    this.greeting.promise.catch(() => {})
    for (const settle of this.routingWaiters.values()) settle(error)
    this.routingWaiters.clear()
    channels.disconnected.publish({ host: this.host, port: this.port, error })
    this.context.lost(this)
    const requests = [...this.inFlight.values()]
    this.inFlight.clear()
    this.calls = 0
    for (const request of requests) {
      this.context.wheel.remove(request)
      request.fail(error)
    }
  }

  /** Closes; what is in flight fails with UNAVAILABLE. */
  close(): void {
    this.lose(unreachable(this.host, this.port, 'the client was closed'))
  }
}

function unreachable(host: string, port: number, why: string, cause?: unknown): WeirError {
  return new WeirError('UNAVAILABLE', `no answer from ${host}:${port}: ${why}`, {
    cause,
    details: { host, port },
  })
}
