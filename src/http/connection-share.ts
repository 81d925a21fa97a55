import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import { TrustedProxies } from '../access/proxies/trusted-proxies.ts'
import type { Cancel, Clock } from '../core/clock.ts'
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
/** A handshake of TLS begins with more bytes: who has sent fewer does not wait for the server. */
const HELLO_BYTES = 128
const SWEEP_MS = 1_000
/** Time beyond which node:http should have answered a half head with 408, ms. */
const ANSWER_MS = 1_500
/** A connection gives way when its body has not been whole, or no byte has come, for so long, ms. */
const OWN_TIMES = { bodyMs: 100, idleMs: 5_000 }
/** The same for an address that has more connections than the one that comes. */
const NO_TIMES = { bodyMs: 0, idleMs: 0 }
/** Requests of a connection that are not answered. One that sends more without reading is closed. */
const MOST_UNANSWERED = 64

/** What a connection is counted with. */
export interface CountedConnection {
  /** Its requests that are not answered: with one it gives way to no other. */
  pending: number
}

/** One connection. */
interface Entry extends CountedConnection {
  readonly socket: Socket
  readonly address: string
  /** Monotonic time, without the time in which the thread was held. */
  openedMs: number
  /** Whether it has sent a whole request, or is served. */
  isHeard: boolean
  /** Since when a body is received that is not whole yet. */
  bodySinceMs: number | undefined
  /** Bytes in both directions at the last sweep, and since when it is as many. */
  bytes: number
  quietMs: number
}

type Listener = (socket: Socket) => void
type Handler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Shares the connections of an HTTP server. When it is full, or an address has its share, a connection of the address
 * with the most connections gives way: the oldest one that has sent next to nothing, then the one with a body that has not
 * become whole for longest, then the oldest one that has sent no whole head, then the one that is idle for longest; without
 * one the new connection is closed. One that sends no head in time is closed, so that silent connections lock no one out.
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
  /** Connections that have sent no whole request, the oldest first. */
  private readonly silent = new Map<string, Entry>()
  /** The others, the one that was heard longest ago first. */
  private readonly heard = new Map<string, Entry>()
  private readonly perAddress = new Map<string, number>()
  private readonly known = new WeakMap<Socket, Entry>()
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
      this.arrivals.add(socket.remoteAddress!, socket, () => {
        // It has left, and the others would not see its end, which came before they listened.
        if (socket.readableEnded) return void socket.destroy()
        for (const listener of others) listener.call(server, socket)
      })
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
    entry.pending += 1
    const isWithBody = hasBody(request)
    if (isWithBody) {
      entry.bodySinceMs = this.clock.monotonicMs()
      request.once('end', () => {
        entry.bodySinceMs = undefined
      })
    }
    response.once('close', () => {
      entry.pending -= 1
      if (isWithBody) entry.bodySinceMs = undefined
    })
    return true
  }

  /** A connection has sent a whole request without node:http; who answers counts its requests. */
  readonly hasRequested = (socket: Socket): CountedConnection | undefined => {
    const entry = this.entryOf(socket)
    if (entry !== undefined) this.hear(entry)
    return entry
  }

  /** A request without node:http is under way on a connection, until what this returns is called. */
  readonly begin = (socket: Socket): (() => void) => {
    const entry = this.entryOf(socket)
    if (entry === undefined) return () => {}
    this.hear(entry)
    entry.pending += 1
    return () => {
      entry.pending -= 1
    }
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
    return this.silent.size + this.heard.size
  }

  [Symbol.dispose](): void {
    this.cancelSweep?.()
    this.cancelSweep = undefined
  }

  private admit(socket: Socket): boolean {
    const address = socket.remoteAddress
    // The peer has left already.
    if (address === undefined) return false
    const hasShare =
      this.isProxy(address) || (this.perAddress.get(address) ?? 0) < this.mostPerAddress
    if (!hasShare && !this.giveWay((other) => other === address)) return false
    if (this.size >= this.most && !this.makeRoom(address)) return false
    this.add(socket, address)
    return true
  }

  /** Of a full port: the address with the most connections gives one up, or another that has no fewer than the one that comes. */
  private makeRoom(address: string): boolean {
    const heaviest = this.heaviest(address)
    const times = heaviest === address ? OWN_TIMES : NO_TIMES
    if (this.giveWay((other) => other === heaviest, times)) return true
    const own = this.perAddress.get(address) ?? 0
    return this.giveWay((other) => (this.perAddress.get(other) ?? 0) >= own)
  }

  /** The address with the most connections, which is the given one unless another has more. */
  private heaviest(address: string): string {
    let found = address
    let most = this.perAddress.get(address) ?? 0
    for (const [other, count] of this.perAddress) {
      if (count <= most || this.isProxy(other)) continue
      found = other
      most = count
    }
    return found
  }

  private isProxy(address: string): boolean {
    return this.clients.proxies.trusts(address)
  }

  private add(socket: Socket, address: string): void {
    const nowMs = this.clock.monotonicMs()
    const key = keyOf(socket)
    const entry = {
      socket,
      address,
      openedMs: nowMs,
      isHeard: false,
      pending: 0,
      bytes: 0,
      quietMs: nowMs,
      bodySinceMs: undefined,
    }
    this.silent.set(key, entry)
    this.known.set(socket, entry)
    this.perAddress.set(address, (this.perAddress.get(address) ?? 0) + 1)
    socket.once('close', () => this.remove(key, entry))
    if (this.cancelSweep === undefined) this.sweepLater()
  }

  private remove(key: string, entry: Entry): void {
    for (const entries of [this.silent, this.heard]) {
      if (entries.get(key) === entry) entries.delete(key)
    }
    if (!this.known.delete(entry.socket)) return
    const left = (this.perAddress.get(entry.address) ?? 1) - 1
    if (left > 0) this.perAddress.set(entry.address, left)
    else this.perAddress.delete(entry.address)
  }

  /**
   * Closes a connection of chosen addresses, false without one: the oldest that has sent next to nothing, the one that has
   * sent part of a body for longest, the oldest silent one, or the one that is idle for longest.
   */
  private giveWay(isChosen: (address: string) => boolean, { bodyMs, idleMs } = OWN_TIMES): boolean {
    const nowMs = this.clock.monotonicMs()
    const isOf = ({ address }: Entry): boolean => isChosen(address)
    const [silent, isHello] = this.mostSilent(isOf)
    if (silent !== undefined && !isHello) return this.drop(keyOf(silent.socket), silent)
    const half = this.oldestHalf(nowMs - bodyMs, isOf) ?? silent
    if (half !== undefined) return this.drop(keyOf(half.socket), half)
    for (const [key, entry] of this.heard) {
      const isIdle = entry.pending === 0 && nowMs - entry.quietMs >= idleMs
      if (isOf(entry) && isIdle) return this.drop(key, entry)
    }
    return false
  }

  /**
   * The oldest one that has sent less than a handshake begins with, else the oldest that has sent no whole request; and
   * whether it has sent as much.
   */
  private mostSilent(isOf: (entry: Entry) => boolean): readonly [Entry | undefined, boolean] {
    let oldest: Entry | undefined
    for (const entry of this.silent.values()) {
      if (!isOf(entry)) continue
      if (entry.socket.bytesRead < HELLO_BYTES) return [entry, false]
      oldest ??= entry
    }
    return [oldest, true]
  }

  /** The connection whose body is not whole for longest, and at least since a moment. */
  private oldestHalf(leastMs: number, isOf: (entry: Entry) => boolean): Entry | undefined {
    let oldest: Entry | undefined
    let sinceMs = leastMs
    for (const entry of this.heard.values()) {
      if (entry.bodySinceMs === undefined || entry.bodySinceMs > sinceMs || !isOf(entry)) continue
      oldest = entry
      sinceMs = entry.bodySinceMs
    }
    return oldest
  }

  private drop(key: string, entry: Entry): true {
    this.remove(key, entry)
    entry.socket.destroy()
    return true
  }

  private hear(entry: Entry): void {
    if (entry.isHeard) return
    entry.isHeard = true
    const key = keyOf(entry.socket)
    if (this.silent.delete(key)) this.heard.set(key, entry)
  }

  /** The entry of a socket, or of the encrypted one that node:https has made of it. */
  private entryOf(socket: Socket): Entry | undefined {
    const known = this.known.get(socket)
    if (known !== undefined) return known
    const key = keyOf(socket)
    const entry = this.silent.get(key) ?? this.heard.get(key)
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
    for (const [key, entry] of this.silent) {
      entry.openedMs = Math.min(nowMs, entry.openedMs + heldMs)
      // node:http answers a half head with 408; who has sent nothing waits for no answer.
      const graceMs = entry.socket.bytesRead === 0 ? 0 : ANSWER_MS
      if (nowMs - entry.openedMs >= this.helloMs + graceMs) this.drop(key, entry)
    }
    for (const entry of this.heard.values()) {
      const { bytesRead, bytesWritten } = entry.socket
      if (bytesRead + bytesWritten === entry.bytes) continue
      entry.bytes = bytesRead + bytesWritten
      entry.quietMs = nowMs
    }
    this.cancelSweep = undefined
    if (this.size > 0) this.sweepLater()
  }
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

/** No two open connections of a port have the same address and port of the peer. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
