import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { Cancel, Clock } from '../core/clock.ts'
import { TrustedProxies } from './access/trusted-proxies.ts'
import {
  AddressShare,
  type CountedConnection,
  keyOf,
  PortConnection,
  type Received,
} from './address-share.ts'
import { Arrivals } from './arrivals.ts'
import { clientAddressOf, ForwardedClients } from './client-address.ts'
import { FairTurns } from './fair-turns.ts'

/** Limits of the connections of an HTTP port. */
export interface ConnectionLimits {
  /** Connections at a time; half of them may come from one address. */
  readonly most: number
  /** Time for TLS and the head of the first request, ms. @default 5,000 */
  readonly helloMs?: number
  /** Proxies before the port: each may have all connections, and its requests are those of the clients that it names. @default none */
  readonly proxies?: TrustedProxies | undefined
}

/**
 * Times of node:http for a request, ms: its head, and all of it from the first byte to the last, both looked at each
 * second. By default it looks every 30 s.
 */
export const REQUEST_TIMES = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
} as const

/** Time for the TLS handshake, ms; an option of an HTTPS server. */
export const HANDSHAKE_TIMES = { handshakeTimeout: 5_000 } as const

const HELLO_MS = 5_000
const SWEEP_MS = 1_000
/** Time beyond which node:http should have answered a half head with 408, ms. */
const ANSWER_MS = 1_500
/** Time without a byte after which a connection gives way to another one of its address, ms. */
const IDLE_MS = 5_000
/** Requests of a connection that are not answered. One that sends more without reading is closed. */
const MOST_UNANSWERED = 64

type Listener = (socket: Socket) => void
type Handler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Shares the connections of a server of HTTP. When it is full, or an address has its share, a connection of the address
 * with the most connections gives way: the oldest one whose request is not whole, of the kind that most of them are of
 * (`AddressShare.unfinished`), then the one that is idle for longest; without one the new connection is closed. One that
 * sends no head in time is closed, so that silent connections lock no one out.
 */
export class ConnectionShare implements Disposable {
  /** Turns of the clients of the port. */
  readonly turns: FairTurns
  private readonly arrivals: Arrivals
  private readonly clock: Clock
  private readonly most: number
  private readonly mostPerAddress: number
  private readonly helloMs: number
  private readonly clients: ForwardedClients
  /** Those that are open, by their peers. */
  private readonly open = new Map<string, PortConnection>()
  private readonly addresses = new Map<string, AddressShare>()
  private readonly known = new WeakMap<Socket, PortConnection>()
  private cancelSweep: Cancel | undefined
  /** When the next sweep is due, monotonic ms. */
  private sweepDueMs = 0

  constructor(limits: ConnectionLimits, clock: Clock) {
    const { most, helloMs = HELLO_MS, proxies = new TrustedProxies() } = limits
    this.clock = clock
    this.turns = new FairTurns(() => clock.monotonicMs())
    this.arrivals = new Arrivals(() => clock.monotonicMs())
    this.most = most
    this.mostPerAddress = Math.max(1, Math.ceil(most / 2))
    this.helloMs = helloMs
    this.clients = new ForwardedClients(proxies)
  }

  /** Takes the connections of a server, before all others that listen to them now. */
  attachConnections(server: NetServer): void {
    const others = server.listeners('connection') as Listener[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      if (!this.admit(socket)) return void socket.destroy()
      const begin = (): void => {
        // It has left, and the others would not see its end, which came before they listened.
        if (socket.readableEnded) return void socket.destroy()
        for (const listener of others) listener.call(server, socket)
      }
      this.arrivals.add(socket.remoteAddress!, socket, begin, server instanceof TlsServer)
    })
  }

  /** Takes the connections and requests of a server, before all others that listen to them now. */
  attach(server: Server): void {
    this.attachConnections(server)
    const handlers = server.listeners('request') as Handler[]
    server.removeAllListeners('request')
    server.on('request', (request, response) => {
      const { socket } = request
      if (socket.destroyed || !this.count(socket, request, response)) return
      this.clients.note(request)
      this.turns.run(clientAddressOf(request), 'small', () => {
        if (socket.destroyed) return
        for (const handler of handlers) handler.call(server, request, response)
      })
    })
  }

  /** Counts a request; false for one too many of its connection, which is closed. */
  private count(socket: Socket, request: IncomingMessage, response: ServerResponse): boolean {
    const entry = this.entryOf(socket)
    if (entry === undefined) return true
    this.hear(entry)
    if (entry.pending >= MOST_UNANSWERED) {
      stopParsing(socket)
      socket.destroy()
      return false
    }
    const body = hasBody(request) ? request : undefined
    response.once('close', entry.begin(body, this.clock.monotonicMs()))
    return true
  }

  /** A connection has sent a whole request without node:http; who answers counts its requests. */
  readonly hasRequested = (socket: Socket): CountedConnection | undefined => {
    const entry = this.entryOf(socket)
    if (entry !== undefined) this.hear(entry)
    return entry
  }

  /**
   * A request without node:http is under way on a connection, until what this returns is called. `received`: what of it may
   * not be whole.
   */
  readonly begin = (socket: Socket, received: Received): (() => void) => {
    const entry = this.entryOf(socket)
    if (entry === undefined) return () => {}
    this.hear(entry)
    return entry.begin(received, this.clock.monotonicMs())
  }

  /** Who serves a connection ends it: it gives way to no other. */
  readonly isServed = (socket: Socket): void => {
    const entry = this.entryOf(socket)
    if (entry === undefined) return
    this.hear(entry)
    entry.pending = 1
  }

  /** Open connections. */
  get size(): number {
    return this.open.size
  }

  [Symbol.dispose](): void {
    this.cancelSweep?.()
    this.cancelSweep = undefined
  }

  private admit(socket: Socket): boolean {
    const address = socket.remoteAddress
    // The peer has left already.
    if (address === undefined) return false
    const own = this.addresses.get(address)
    const hasShare = this.isProxy(address) || (own?.size ?? 0) < this.mostPerAddress
    if (!hasShare && !this.giveWay([own!])) return false
    if (this.size >= this.most && !this.makeRoom(own)) return false
    this.add(socket)
    return true
  }

  /** Of a full port: the address with the most connections gives one up, or another that has no fewer than the one that comes. */
  private makeRoom(own: AddressShare | undefined): boolean {
    const heaviest = this.heaviest(own)
    const idleMs = heaviest === own ? IDLE_MS : 0
    if (heaviest !== undefined && this.giveWay([heaviest], idleMs)) return true
    const least = own?.size ?? 0
    return this.giveWay([...this.addresses.values()].filter(({ size }) => size >= least))
  }

  /** The address with the most connections, which is the given one unless another has more. */
  private heaviest(own: AddressShare | undefined): AddressShare | undefined {
    let found = own
    for (const [address, share] of this.addresses) {
      if (share.size > (found?.size ?? 0) && !this.isProxy(address)) found = share
    }
    return found
  }

  private isProxy(address: string): boolean {
    return this.clients.proxies.trusts(address)
  }

  private add(socket: Socket): void {
    const entry = new PortConnection(socket, this.clock.monotonicMs())
    const share = this.addresses.get(entry.address) ?? new AddressShare()
    this.addresses.set(entry.address, share)
    share.add(entry)
    this.open.set(entry.key, entry)
    this.known.set(socket, entry)
    socket.once('close', () => this.remove(entry))
    if (this.cancelSweep === undefined) this.sweepLater()
  }

  private remove(entry: PortConnection): void {
    if (this.open.get(entry.key) === entry) this.open.delete(entry.key)
    const share = this.addresses.get(entry.address)
    if (share?.delete(entry) === true && share.size === 0) this.addresses.delete(entry.address)
  }

  /** Closes a connection of some addresses: one whose request is not whole, else one that is idle; false without one. */
  private giveWay(shares: readonly AddressShare[], idleMs = IDLE_MS): boolean {
    const [first] = shares
      .flatMap((share) => share.unfinished() ?? [])
      .sort((one, other) => other.of - one.of)
    if (first !== undefined) return this.drop(first.connection)
    const idleSinceMs = this.clock.monotonicMs() - idleMs
    for (const share of shares) {
      const idle = share.idle(idleSinceMs)
      if (idle !== undefined) return this.drop(idle)
    }
    return false
  }

  private drop(entry: PortConnection): true {
    this.remove(entry)
    entry.socket.destroy()
    return true
  }

  private hear(entry: PortConnection): void {
    if (!entry.isHeard) this.addresses.get(entry.address)?.hear(entry)
  }

  /** The entry of a socket, or of the encrypted one that node:https has made of it. */
  private entryOf(socket: Socket): PortConnection | undefined {
    const known = this.known.get(socket)
    if (known !== undefined) return known
    const entry = this.open.get(keyOf(socket))
    if (entry !== undefined) this.known.set(socket, entry)
    return entry
  }

  private sweepLater(): void {
    this.sweepDueMs = this.clock.monotonicMs() + SWEEP_MS
    this.cancelSweep = this.clock.after(SWEEP_MS, this.sweep)
  }

  private readonly sweep = (): void => {
    const nowMs = this.clock.monotonicMs()
    // What has come while this thread was held is not read yet: that time is no silence of a client.
    const heldMs = nowMs - this.sweepDueMs
    for (const entry of this.open.values()) {
      if (entry.isHeard) noteBytes(entry, nowMs)
      else this.endSilent(entry, { nowMs, heldMs })
    }
    this.cancelSweep = undefined
    if (this.size > 0) this.sweepLater()
  }

  /** Ends a connection that has sent no head in time. */
  private endSilent(entry: PortConnection, { nowMs, heldMs }: SweepTimes): void {
    entry.openedMs = Math.min(nowMs, entry.openedMs + heldMs)
    // node:http answers a half head with 408; who has sent nothing waits for no answer.
    const graceMs = entry.socket.bytesRead === 0 ? 0 : ANSWER_MS
    if (nowMs - entry.openedMs >= this.helloMs + graceMs) this.drop(entry)
  }
}

/** When a sweep is, and how long the thread was held before it, ms. */
interface SweepTimes {
  readonly nowMs: number
  readonly heldMs: number
}

/** A connection is quiet since its bytes are as many as at the last look. */
function noteBytes(entry: PortConnection, nowMs: number): void {
  const { bytesRead, bytesWritten } = entry.socket
  if (bytesRead + bytesWritten === entry.bytes) return
  entry.bytes = bytesRead + bytesWritten
  entry.quietMs = nowMs
}

/** What a parser of node:http is answered when the bytes after a head are of another protocol: it reads no more of them. */
const UPGRADED = 2

/**
 * Makes no more requests of what has come on a connection. Else node:http makes an object of each head in the last 64 KiB,
 * a thousand of them, also when the connection is closed: 10 ms instead of 1.5. It does not document the parser; without
 * one, only this time is lost.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming?: () => number } | null }
  if (parser != null) parser.onIncoming = () => UPGRADED
}

/** Whether a request has a body, by its head. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}
