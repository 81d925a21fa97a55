import type { Socket } from 'node:net'
import { shareHolderOf } from '../../http/access/control.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import type { CountedConnection } from '../../http/address-share.ts'
import { RequestOwner } from '../../serving/port/request-owner.ts'
import { type HotLimits, type HotRequest, type Reading, RequestReader } from './request-reader.ts'

/** Requests of one connection that wait for answers; a client that sends more has to wait. */
const MAX_WAITING = 64
/** A body whose rest has not come after this time is left to node:http, whose timeouts then count. */
const BODY_MS = 250

/** Kinds of requests without a body. */
const BODILESS: ReadonlySet<HotRequest['kind']> = new Set(['pair', 'recommend'])

/** What a connection needs of its listener. */
export interface ConnectionOwner {
  /** Longest body of a hot request. */
  readonly limits: HotLimits
  /** Answers a request: calls `exchange.finish` once, now or later. */
  answer(exchange: HotExchange, token: string | undefined): void
  /** The connection sends something else: node:http takes it over, with these bytes unread. */
  handOver(connection: HotConnection, unread: Buffer): void
  /** The connection has sent its first whole request; it is counted with what this returns. */
  requested(connection: HotConnection): CountedConnection | undefined
  /** The connection is gone. */
  closed(connection: HotConnection): void
}

/** An answer in a buffer that is used again. */
export interface AnswerBytes {
  readonly bytes: Uint8Array
  /** Called when the bytes are sent, or the connection is gone; not if it goes before they could be sent. */
  readonly sent: () => void
}

/** A whole answer; a text has a character a byte. */
export type HotAnswer = string | AnswerBytes

/** A hot request and its answer. */
export class HotExchange {
  readonly request: HotRequest
  /** Monotonic ms of the thread. */
  readonly startedMs: number
  /** The whole answer; undefined while it is awaited. */
  answer: HotAnswer | undefined
  private readonly connection: HotConnection

  /** As `HotConnection.owner`. */
  get owner(): RequestOwner {
    return this.connection.owner
  }

  constructor(connection: HotConnection, request: HotRequest) {
    this.connection = connection
    this.request = request
    this.startedMs = performance.now()
  }

  /** As `HotConnection.shareHolder`. */
  shareHolder(principal: Principal | undefined): string | undefined {
    return this.connection.shareHolder(principal)
  }

  /** Where the request came from. */
  get from(): Socket {
    return this.connection.socket
  }

  /** Sends the answer, as soon as those of all requests before this one are sent. */
  finish(answer: HotAnswer): void {
    this.answer = answer
    this.connection.flush()
  }
}

/**
 * One connection as long as it sends nothing but hot requests. They are answered in their order. With the
 * first byte of anything else node:http takes the connection over and keeps it.
 */
export class HotConnection {
  readonly socket: Socket
  /** Looks at idle connections since the last request. */
  idleLooks = 0
  private readonly listener: ConnectionOwner
  private runsFor: RequestOwner | undefined
  private holder:
    | { readonly principal: Principal | undefined; readonly name: string | undefined }
    | undefined
  private readonly reader: RequestReader
  /** Requests without a sent answer, oldest first. */
  private readonly exchanges: HotExchange[] = []
  /** Received bytes that no request was read from, a character a byte. */
  private unread = ''
  /** Length of `unread` from which there is a whole request again. */
  private wholeAt = 0
  /** A whole request has been read. */
  private hasRequested = false
  private counted: CountedConnection | undefined
  /** Runs while the rest of a body is awaited. */
  private bodyTimer: NodeJS.Timeout | undefined
  /** The newest request has a body: it is answered before the next one is read. */
  private hasBody = false
  /** Requests are read from `unread` now. */
  private isTaking = false
  /** Node:http takes over when all answers are sent. */
  private isOther = false
  /** No request follows: the connection ends when all answers are sent. */
  private isEnding = false
  /** The client does not read its answers. */
  private isBlocked = false

  constructor(socket: Socket, listener: ConnectionOwner) {
    this.socket = socket
    this.listener = listener
    this.reader = new RequestReader(listener.limits)
    socket.on('data', this.onData)
    socket.on('drain', this.onDrain)
    socket.on('end', this.onEnd)
    socket.on('error', this.onError)
    socket.on('close', this.onClose)
  }

  /** Owner of the requests that a model runs: it is gone when the client is. */
  get owner(): RequestOwner {
    this.runsFor ??= new RequestOwner()
    return this.runsFor
  }

  /** As `shareHolderOf`, of its client; it is found once for all requests with one token. */
  shareHolder(principal: Principal | undefined): string | undefined {
    if (this.holder === undefined || this.holder.principal !== principal) {
      this.holder = { principal, name: shareHolderOf(principal, this.socket.remoteAddress ?? '') }
    }
    return this.holder.name
  }

  /** Ends the connection after the answers that it waits for. */
  readonly end = (): void => {
    this.isEnding = true
    this.goOn()
  }

  /** The client sends no more. No HTTP client waits for an answer after that, so nothing is run for it. */
  private readonly onEnd = (): void => {
    this.runsFor?.leave()
    this.end()
  }

  /** Sends the answers that are complete and whose turn it is. */
  flush(): void {
    const { exchanges } = this
    if (exchanges[0]?.answer === undefined) return
    let text = ''
    while (exchanges[0]?.answer !== undefined) {
      const answer = exchanges.shift()!.answer!
      if (typeof answer === 'string') text += answer
      else {
        this.write(text)
        this.block(this.socket.write(answer.bytes, answer.sent))
        text = ''
      }
    }
    this.write(text)
    this.count()
    if (exchanges.length === 0) this.hasBody = false
    if (this.isEnding || this.isBlocked || this.unread !== '') this.goOn()
  }

  private count(): void {
    if (this.counted !== undefined) this.counted.pending = this.exchanges.length
  }

  private write(text: string): void {
    if (text !== '') this.block(this.socket.write(text, 'latin1'))
  }

  private block(canTakeMore: boolean): void {
    if (!canTakeMore) this.isBlocked = true
  }

  private readonly onData = (chunk: Buffer): void => {
    this.idleLooks = 0
    if (this.takeWhole(chunk)) return
    this.unread += chunk.toString('latin1')
    if (this.unread.length >= this.wholeAt) this.take()
  }

  /** Takes bytes that are one inference, without a text of them. */
  private takeWhole(chunk: Buffer): boolean {
    const isNext = this.unread === '' && !this.hasBody && this.exchanges.length < MAX_WAITING
    if (!isNext || !this.reader.readWhole(chunk)) return false
    this.isTaking = true
    this.accept()
    this.isTaking = false
    if (this.isBlocked) this.goOn()
    return true
  }

  /** Has the request that was read answered. */
  private accept(): void {
    const { request, token } = this.reader
    const exchange = new HotExchange(this, request)
    this.exchanges.push(exchange)
    if (!this.hasRequested) {
      this.hasRequested = true
      this.counted = this.listener.requested(this)
    }
    this.count()
    this.hasBody = !BODILESS.has(request.kind)
    this.listener.answer(exchange, token)
  }

  private take(): void {
    const { unread, reader, exchanges } = this
    let at = 0
    let reading: Reading = 'whole'
    this.isTaking = true
    while (at < unread.length && exchanges.length < MAX_WAITING && !this.hasBody) {
      reading = reader.read(unread, at)
      if (reading !== 'whole') break
      at = reader.end
      this.accept()
    }
    this.isTaking = false
    this.unread = at === unread.length ? '' : unread.slice(at)
    this.isOther = reading === 'other'
    this.awaitBody(reading === 'part' ? reader.end - at : 0)
    if (this.unread !== '' && reading !== 'part') this.socket.pause()
    if (this.unread !== '' || this.isBlocked) this.goOn()
    // It was paused when the request came that has just been taken.
    else if (this.socket.isPaused()) this.socket.resume()
  }

  /** Waits for the rest of a body, up to so many characters of `unread`; 0 if there is nothing to wait for. */
  private awaitBody(wholeAt: number): void {
    this.wholeAt = wholeAt
    if (wholeAt > 0) this.bodyTimer ??= setTimeout(this.leaveBody, BODY_MS).unref()
    else if (this.bodyTimer !== undefined) {
      clearTimeout(this.bodyTimer)
      this.bodyTimer = undefined
    }
  }

  private readonly leaveBody = (): void => {
    this.awaitBody(0)
    this.isOther = true
    this.socket.pause()
    this.goOn()
  }

  /** Takes the next step, if all answers are sent. */
  private goOn(): void {
    if (this.isTaking) return
    if (this.isBlocked) this.socket.pause()
    else if (this.exchanges.length > 0) return
    else if (this.isOther) this.handOver()
    else if (this.wholeAt > 0 && !this.socket.readableEnded) this.socket.resume()
    else if (this.wholeAt === 0 && this.unread !== '') this.take()
    else if (this.isEnding) this.socket.destroySoon()
    else this.socket.resume()
  }

  private handOver(): void {
    const { socket } = this
    this.awaitBody(0)
    socket.off('data', this.onData)
    socket.off('drain', this.onDrain)
    socket.off('end', this.onEnd)
    socket.off('error', this.onError)
    socket.off('close', this.onClose)
    this.listener.handOver(this, Buffer.from(this.unread, 'latin1'))
  }

  private readonly onDrain = (): void => {
    this.isBlocked = false
    this.goOn()
  }

  private readonly onError = (): void => {
    this.socket.destroy()
  }

  private readonly onClose = (): void => {
    this.awaitBody(0)
    this.runsFor?.leave()
    this.listener.closed(this)
  }
}
