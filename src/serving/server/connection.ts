import type { Socket } from 'node:net'
import { sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { giveChunk } from '../../core/lifetime/give-chunk.ts'
import { tracer } from '../../core/tracing/tracer.ts'
import type { ByteBudget } from '../../http/access/byte-budget.ts'
import type { AccessControl } from '../../http/access/control.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import { answerErrorOf } from '../../wire/answer.ts'
import { FrameReader, KIND, PROTOCOL_VERSION } from '../../wire/frame.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'
import { HELLO_LIMIT, type Hello, readHello, writeWelcome } from '../../wire/hello.ts'
import type { WriterPool } from '../../wire/writer-pool.ts'
import type { ConnectionOutput } from './connection-output.ts'
import { ConnectionRequests, type RequestContext } from './connection-requests.ts'
import type { ConnectionTurns } from './connection-turns.ts'
import { HeldFrame } from './held-frame.ts'

/** Shared state of the connections of a server. */
export interface ConnectionContext extends RequestContext {
  readonly writers: WriterPool
  readonly turns: ConnectionTurns
  readonly access: AccessControl
  /** Memory for frames that are not whole. */
  readonly received: ByteBudget
  /** The holder of the hello's token. Throws UNAUTHENTICATED or UNAVAILABLE. */
  admit(hello: Hello, from: Socket): Principal
  /** The connection is gone. */
  closed(connection: QueryConnection): void
}

/** Time that a peer has to read the last error before the socket is destroyed. */
const LINGER_MS = 2_000
/** Time without a hello after which a connection gives way to a new one when there are too many. */
const SILENT_MS = 500
/** Silence after which the operating system probes the peer. */
const KEEP_ALIVE_MS = 30_000
/** Time after which a connection that has more to serve waits for its next turn. */
const QUANTUM_MS = 0.25
/** Bytes of frames that are served between two looks at the clock. */
const LOOK_BYTES = 512
/** Bytes of a frame that is not whole above which its other chunks are read in later turns. */
const LARGE_BYTES = 32 * 1024

/** Time between two checks whether the requests of a closing connection are answered. */
const DRAIN_POLL_MS = 5

type Phase = 'hello' | 'open' | 'closing' | 'closed'

/**
 * One client of a query server: reads frames and answers them within the limits. The file is long
 * because reading, turns and writing share the buffers of one socket.
 */
export class QueryConnection implements ConnectionOutput {
  readonly address: string
  principal: Principal | undefined
  clientFrameBytes = HELLO_LIMIT
  private readonly socket: Socket
  private readonly context: ConnectionContext
  private readonly frames: FrameReader
  private readonly requests: ConnectionRequests
  private readonly held: HeldFrame
  private phase: Phase = 'hello'
  /** The chunk that frames are read from in place. */
  private inPlace: Uint8Array | undefined
  private flushScheduled = false
  /** Output that is not sent; a connection without any holds no buffer. */
  private unsent: FrameWriter | undefined
  /** Whether it waits for its next turn; input is paused meanwhile. */
  private inTurn = false
  /** Whether input is paused, because the client has too much unread output. */
  private blocked = false
  private readonly openedAt: number
  private lastReadAt: number
  private lastProgressAt: number
  private lastUnsent = 0
  private closingAt = 0

  constructor(socket: Socket, address: string, context: ConnectionContext) {
    this.socket = socket
    this.address = address
    this.context = context
    this.requests = new ConnectionRequests(context, this)
    this.held = new HeldFrame(context.received)
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

  get writer(): FrameWriter {
    this.unsent ??= this.context.writers.acquire()
    return this.unsent
  }

  get room(): number {
    const { maxOutputBytes } = this.context.options.limits
    return maxOutputBytes - (this.unsent?.length ?? 0) - this.socket.writableLength
  }

  /** Whether it has sent no hello for longer than a client needs. */
  isSilent(now: number): boolean {
    return this.phase === 'hello' && now - this.openedAt > SILENT_MS
  }

  /** Whether it waits for the rest of a frame, and its client for no answer. */
  get isHalf(): boolean {
    return this.isReading && this.frames.buffered > 0 && this.requests.outstanding === 0
  }

  private get isReading(): boolean {
    const { phase, inTurn, blocked, requests } = this
    return phase === 'open' && !inTurn && !blocked && !requests.isSuspended
  }

  isFull(): boolean {
    return (this.unsent?.length ?? 0) >= this.context.options.limits.maxOutputBytes
  }

  private readonly onData = (chunk: Uint8Array): void => {
    if (this.phase === 'closing' || this.phase === 'closed') return
    const { options, metrics } = this.context
    const startedAt = options.clock.monotonicMs()
    metrics.bytesIn.increment(chunk.length)
    if (!this.frames.append(chunk)) this.inPlace = chunk
    else {
      this.giveBack()
      giveChunk(chunk)
    }
    if (!this.inTurn) {
      if (this.serve(startedAt + QUANTUM_MS)) this.lastReadAt = startedAt
      // The rest of a large frame may come in dozens of chunks, which Node reads in one turn.
      else if (this.frames.buffered > LARGE_BYTES) this.waitForTurn()
    }
    metrics.latencyMs.observe(options.clock.monotonicMs() - startedAt)
  }

  /**
   * Gives the chunk back that frames were read from in place, which none is read from any more. Chunks that wait for the
   * collector make V8 mark the heap of the thread several times a second.
   */
  private giveBack(): void {
    const { inPlace } = this
    if (inPlace === undefined || this.requests.isSuspended) return
    this.inPlace = undefined
    this.frames.detach()
    giveChunk(inPlace)
  }

  /**
   * Serves frames until none is whole, the client has too much to read, or other connections should have
   * their turn; sends the answers. Returns whether a frame was whole: single bytes do not keep an idle
   * connection open.
   */
  private serve(untilMs: number): boolean {
    const { frames, requests } = this
    let served = false
    let bytes = 0
    try {
      while (this.relieve()) {
        // A suspended frame comes first: it is still the reader's current frame.
        if (requests.isSuspended) requests.resume()
        else if (!frames.next()) break
        else {
          served = true
          if (this.phase === 'hello') this.greet()
          else requests.serve(frames)
        }
        bytes += frames.end - frames.start
        if (bytes < LOOK_BYTES || (frames.buffered === 0 && !requests.isSuspended)) continue
        bytes = 0
        if (this.context.options.clock.monotonicMs() < untilMs) continue
        this.waitForTurn()
        break
      }
      this.flush()
      if (!this.block() && !this.inTurn) this.giveBack()
      const { buffered } = frames
      if (this.held.concerns(buffered)) this.held.note(this.client, buffered)
    } catch (error) {
      this.fail(answerErrorOf(error))
    }
    return served
  }

  /** Who has a share of the server's memory: the holder of the token, or the address without tokens. */
  private get client(): string {
    const { principal, address } = this
    return principal === undefined || !this.context.access.needsToken ? address : principal.id
  }

  private waitForTurn(): void {
    this.inTurn = true
    this.socket.pause()
    this.context.turns.wait(this.onTurn)
  }

  private readonly onTurn = (): void => {
    this.inTurn = false
    if (this.phase !== 'open' && this.phase !== 'hello') return
    const now = this.context.options.clock.monotonicMs()
    if (this.serve(now + QUANTUM_MS)) this.lastReadAt = now
    this.readOn()
  }

  /** Reads input again unless something holds it back. */
  private readOn(): void {
    if (!this.blocked && !this.inTurn) this.socket.resume()
  }

  /** Sends full output; false when the client does not read it, so that serving must wait. */
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
    if (this.inTurn) return
    this.serve(this.context.options.clock.monotonicMs() + QUANTUM_MS)
    this.readOn()
  }

  private greet(): void {
    const { options, backend, metrics } = this.context
    const hello = readHello(this.frames)
    metrics.asked(KIND.hello, 1)
    this.principal = this.context.admit(hello, this.socket)
    this.accessChanged()
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
      traces: tracer !== undefined,
    })
  }

  /** The accepted tokens have changed: closes the connection if its own is not accepted any more. */
  accessChanged(): void {
    const { principal } = this
    if (principal === undefined) return
    const { access } = this.context
    if (access.holds(principal)) this.requests.rate = access.bucketOf(principal)
    else {
      const message =
        'the token of this connection was revoked or has expired; connect with another'
      this.fail(new WeirError('UNAUTHENTICATED', message))
    }
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
    const writer = this.unsent
    if (writer === undefined || this.phase === 'closed') return
    this.unsent = undefined
    const { writers, metrics } = this.context
    if (writer.length === 0) {
      writers.release(writer)
      return
    }
    metrics.bytesOut.increment(writer.length)
    this.socket.write(writer.written(), () => {
      writers.release(writer)
      this.requests.pump()
    })
  }

  /** Sends the error and closes. Input that still comes is dropped. */
  fail(error: WeirError): void {
    if (this.phase === 'closing' || this.phase === 'closed') return
    this.unsent?.abandon()
    this.requests.answerError(0, error)
    this.shut()
  }

  private shut(): void {
    this.flush()
    this.phase = 'closing'
    this.requests.leave()
    this.held.release()
    this.frames.release()
    this.closingAt = this.context.options.clock.monotonicMs()
    this.socket.end()
    // Unread input would reset the connection before the peer reads the last error.
    this.socket.resume()
  }

  /** Closes once every started request is answered. */
  async drain(): Promise<void> {
    while ((this.requests.outstanding > 0 || this.inTurn) && this.phase === 'open') {
      await sleep(this.context.options.clock, DRAIN_POLL_MS)
    }
    if (this.phase === 'open' || this.phase === 'hello') this.shut()
  }

  /** Ends the connection when it is idle, stuck or closing for too long. Called about once a second. */
  sweep(now: number): void {
    const { limits } = this.context.options
    this.frames.shrink()
    this.accessChanged()
    this.endHeldUp(now)
    this.requests.shrink()
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

  /** Ends the connection when a frame does not become whole. */
  private endHeldUp(now: number): void {
    try {
      this.held.check(this.isReading && this.frames.buffered > 0, this.lastReadAt, now)
    } catch (error) {
      this.fail(answerErrorOf(error))
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
    this.requests.leave()
    this.held.release()
    this.frames.release()
    if (this.unsent !== undefined) this.context.writers.release(this.unsent)
    this.unsent = undefined
    this.context.metrics.closedConnections.increment()
    this.context.closed(this)
  }
}
