import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { messageOf, WeirError } from '../core/errors.ts'
import { encodeContext } from '../core/tracing/context.ts'
import { AnswerCursor, answerErrorOf, readErrorFrame } from '../wire/answer.ts'
import type { DeadlineWheel } from '../wire/deadline-wheel.ts'
import { ANSWER, FrameReader, KIND, PROTOCOL_VERSION } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import { readWelcome, type Welcome, writeHello } from '../wire/hello.ts'
import { type RoutingTable, readRouting } from '../wire/routing-table.ts'
import type { WriterPool } from '../wire/writer-pool.ts'
import { channels } from './diagnostics.ts'
import type { InFlight } from './in-flight.ts'
import type { ResolvedClientOptions } from './options.ts'
import { RoutingRequests } from './routing-requests.ts'
import { type ProbedConnection, ServerProbe } from './server-probe.ts'

/** Shared state of the connections of a client. */
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
/** Frames of this length or longer are not copied together with others. */
const LONG_FRAME = 32 * 1024

/**
 * One pipelined connection to a query server. Above 300 lines because opening, sending, receiving and loss
 * share the socket and what is in flight.
 */
export class ClientConnection implements ProbedConnection {
  readonly host: string
  readonly port: number
  /** The server's welcome; undefined before it. */
  welcome: Welcome | undefined
  /** Calls that wait for an answer. */
  calls = 0
  private readonly context: ClientContext
  private readonly socket: Socket
  private readonly frames: FrameReader
  private readonly cursor = new AnswerCursor()
  private readonly inFlight = new Map<number, InFlight>()
  private readonly routingRequests = new RoutingRequests()
  private readonly greeting = Promise.withResolvers<Welcome>()
  private writer: FrameWriter
  private nextId = 1
  private flushScheduled = false
  private closed = false
  private closedWith: WeirError | undefined
  private readonly probe: ServerProbe

  constructor(host: string, port: number, context: ClientContext) {
    this.host = host
    this.port = port
    this.context = context
    this.writer = context.writers.acquire()
    this.frames = new FrameReader(() => context.options.maxFrameBytes)
    this.probe = new ServerProbe(context.options.clock, this)
    this.socket = this.open()
    this.socket.setNoDelay(true)
    this.socket.setKeepAlive(true, 30_000)
    this.socket.on('error', (cause) => this.lose(unreachable(this, whyNot(cause), cause)))
    this.socket.on('close', () => this.lose(unreachable(this, this.whyClosed())))
    this.greet()
  }

  /** A socket without TLS reads into one buffer: nothing is allocated per read. */
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
      this.lose(
        unreachable(
          this,
          `no hello within ${options.deadlineMs} ms; does it speak Weir's query protocol?`,
        ),
      ),
    )
    this.greeting.promise.then(cancel, cancel)
  }

  /** Resolves when the server has accepted the client; rejects with its refusal. */
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

  /** The id of the next request; 0 stands for the connection. */
  newRequestId(): number {
    const id = this.nextId
    this.nextId = id === 0xffffffff ? 1 : id + 1
    return id
  }

  /**
   * Sends one complete frame whose request id is `request.requestId` and awaits its answers. Returns an
   * empty writer for the next frame: a short frame is copied and its own writer comes back; a long one
   * is sent from its writer, and another writer comes back.
   */
  send(request: InFlight, frame: FrameWriter): FrameWriter {
    this.inFlight.set(request.requestId, request)
    this.calls += request.calls
    this.context.wheel.add(request)
    if (request.trace !== undefined && this.welcome?.traces === true) {
      this.writer.begin(KIND.trace, 0, request.requestId)
      this.writer.raw(encodeContext(request.trace))
      this.writer.end(1)
    }
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

  /** A request's deadline has passed: its answer is ignored, and the server must answer a ping. */
  forget(request: InFlight): void {
    if (this.inFlight.delete(request.requestId)) this.calls -= request.calls
    this.probe.start()
  }

  ping(): void {
    this.frames.shrink()
    this.writer.begin(KIND.ping, 0, this.newRequestId())
    this.writer.end(0)
    this.flushSoon()
  }

  /** Fetches the routing table. Rejects when the connection is lost; a silent one counts as lost. */
  routing(): Promise<RoutingTable> {
    if (this.closed) return Promise.reject(this.closedWith)
    const promise = this.routingRequests.ask(this.writer, this.newRequestId())
    this.flushSoon()
    const { clock, deadlineMs } = this.context.options
    const cancel = clock.after(deadlineMs, () => this.probe.start())
    promise.then(cancel, cancel)
    return promise
  }

  /** All frames of one turn of the event loop are sent in one write. */
  private flushSoon(): void {
    if (this.flushScheduled) return
    this.flushScheduled = true
    process.nextTick(this.flush)
  }

  /** Sends at once what was written. */
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
    this.probe.onReceived()
    try {
      this.frames.append(chunk)
      while (!this.closed && this.frames.next()) this.take()
    } catch (thrown) {
      const error = answerErrorOf(thrown)
      this.lose(this.welcome === undefined ? notWeir(this, error) : error)
    }
  }

  private take(): void {
    const { frames } = this
    const { kind, requestId } = frames
    if (kind === KIND.error) this.takeError(requestId)
    else if (kind === KIND.hello + ANSWER) this.takeWelcome()
    else if (kind === KIND.routing + ANSWER)
      this.routingRequests.answer(requestId, readRouting(frames))
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
    this.routingRequests.fail(requestId, error)
    const request = this.inFlight.get(requestId)
    if (request === undefined) return
    this.release(request)
    request.fail(error)
  }

  private takeWelcome(): void {
    this.welcome = readWelcome(this.frames)
    this.greeting.resolve(this.welcome)
    channels.connected.publish({ host: this.host, port: this.port, server: this.welcome.server })
    this.probe.keepAlive(this.welcome.idleTimeoutMs)
  }

  silent(silentMs: number): void {
    this.lose(unreachable(this, `it was silent for ${silentMs} ms`))
  }

  /** The connection is over: everything in flight fails, once. */
  private lose(error: WeirError): void {
    if (this.closed) return
    this.closed = true
    this.closedWith = error
    this.probe.close()
    this.socket.destroy()
    this.greeting.reject(error)
    this.greeting.promise.catch(() => {})
    this.routingRequests.failAll(error)
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

  private whyClosed(): string {
    const { tls } = this.context.options
    if (tls !== undefined || this.welcome !== undefined) return 'the connection was closed'
    return 'the connection was closed before a word; if the port speaks TLS, ask for it with tls (--query-tls, or --query-tls-ca FILE)'
  }

  /** Closes; what is in flight fails with UNAVAILABLE. */
  close(): void {
    this.lose(unreachable(this, 'the client was closed'))
  }
}

/** Why a connection failed; a port without TLS is named as such, since OpenSSL's sentence says nothing. */
function whyNot(cause: unknown): string {
  const reason = messageOf(cause)
  if (!/wrong version number|packet length too long/i.test(reason)) return reason
  return 'it speaks plain, and TLS was asked for; leave out tls (--query-tls and the flags that begin so)'
}

/** The error of a connection that is lost. */
function unreachable({ host, port }: ClientConnection, why: string, cause?: unknown): WeirError {
  return new WeirError('UNAVAILABLE', `no answer from ${host}:${port}: ${why}`, {
    cause,
    details: { host, port },
  })
}

/** The error of a connection whose peer does not answer with frames of the query protocol. */
function notWeir({ host, port }: ClientConnection, cause: WeirError): WeirError {
  const { protocol } = cause.details ?? {}
  const why = protocol === undefined ? 'its answer is not a frame' : `it answered in ${protocol}`
  return new WeirError(
    'PROTOCOL_ERROR',
    `${host}:${port} does not speak Weir's query protocol: ${why}; check host, port and TLS`,
    { cause, details: { host, port } },
  )
}
