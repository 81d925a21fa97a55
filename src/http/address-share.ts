import type { Socket } from 'node:net'

/** A handshake of TLS begins with more bytes: who has sent fewer does not wait for the server. */
const HELLO_BYTES = 128
/** Since when a body is not whole that was answered: it has what it came for. */
const ANSWERED_MS = Number.NEGATIVE_INFINITY

/** What a connection is counted with. */
export interface CountedConnection {
  /** Its requests that are not answered: with a whole one it gives way to no other. */
  pending: number
}

/** What comes in parts: the body of a request, or the messages of a call. */
export interface Received {
  /** Whether no part of it is awaited. */
  readonly complete: boolean
}

/** A connection of a port. */
export class PortConnection implements CountedConnection {
  readonly socket: Socket
  /** Its peer: no two open connections of a port have the same. */
  readonly key: string
  readonly address: string
  /** Monotonic time, without the time in which the thread was held. */
  openedMs: number
  /** Whether it has sent the head of a request, or is served. */
  isHeard = false
  pending = 0
  /** Bytes in both directions when they were looked at last, and since when it is as many. */
  bytes = 0
  quietMs: number
  /** What may not be whole, and since when. */
  private readonly parts = new Map<Received, number>()

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket
    this.key = keyOf(socket)
    this.address = socket.remoteAddress!
    this.openedMs = nowMs
    this.quietMs = nowMs
  }

  /** A request is under way until what this returns is called. `received`: what of it may not be whole. */
  begin(received: Received | undefined, nowMs: number): () => void {
    this.pending += 1
    if (received !== undefined) this.parts.set(received, nowMs)
    return () => {
      this.pending -= 1
      if (received === undefined) return
      if (received.complete) this.parts.delete(received)
      else this.parts.set(received, ANSWERED_MS)
    }
  }

  /** Since when it waits for the rest of what it began to send, monotonic ms; undefined where it waits for an answer, or for nothing. */
  get halfSinceMs(): number | undefined {
    let halves = 0
    let since: number | undefined
    for (const [received, sinceMs] of this.parts) {
      if (received.complete) {
        if (sinceMs === ANSWERED_MS) this.parts.delete(received)
        continue
      }
      halves += 1
      since ??= sinceMs
    }
    return halves >= this.pending ? since : undefined
  }
}

/** A connection that may give way, and how many are as far as it. */
export interface GivingWay {
  readonly connection: PortConnection
  readonly of: number
}

/** The connections of one address, by how far their requests are. */
export class AddressShare {
  /** They have sent no head, and may have sent next to nothing; the oldest first, as in the others. */
  private readonly silent = new Set<PortConnection>()
  /** They have begun a head, or a handshake. */
  private readonly begun = new Set<PortConnection>()
  private readonly heard = new Set<PortConnection>()

  /** How many there are. */
  get size(): number {
    return this.silent.size + this.begun.size + this.heard.size
  }

  /** A connection has come. */
  add(connection: PortConnection): void {
    this.silent.add(connection)
  }

  /** It has sent the head of a request, or is served. */
  hear(connection: PortConnection): void {
    connection.isHeard = true
    if (this.silent.delete(connection) || this.begun.delete(connection)) this.heard.add(connection)
  }

  /** Whether it was there; it is no longer. */
  delete(connection: PortConnection): boolean {
    return [this.silent, this.begun, this.heard].some((all) => all.delete(connection))
  }

  /**
   * The oldest one whose request is not whole, of the kind that most are of: those that have sent next to nothing, those with
   * half a body, or those with half a head or handshake. Who fills a share has most connections of the kind that fills it,
   * and a good client is soon of another, or goes through it faster than hundreds.
   */
  unfinished(): GivingWay | undefined {
    const silent = this.mostSilent()
    const half = this.oldestHalf()
    const [begun] = this.begun
    let found: GivingWay | undefined
    for (const [connection, of] of [
      [silent, this.silent.size],
      [half?.connection, half?.of ?? 0],
      [begun, this.begun.size],
    ] as const) {
      if (connection !== undefined && of > (found?.of ?? 0)) found = { connection, of }
    }
    return found
  }

  /** The one that is idle for longest, and at least since a time. */
  idle(sinceMs: number): PortConnection | undefined {
    let found: PortConnection | undefined
    for (const connection of this.heard) {
      const isIdle = connection.pending === 0 && connection.quietMs <= sinceMs
      if (isIdle && connection.quietMs < (found?.quietMs ?? Number.POSITIVE_INFINITY))
        found = connection
    }
    return found
  }

  /** The oldest one that has sent less than a handshake begins with. Those before it have begun. */
  private mostSilent(): PortConnection | undefined {
    for (const connection of this.silent) {
      if (connection.socket.bytesRead < HELLO_BYTES) return connection
      this.silent.delete(connection)
      this.begun.add(connection)
    }
    return undefined
  }

  private oldestHalf(): GivingWay | undefined {
    let oldest: PortConnection | undefined
    let of = 0
    let since = Number.POSITIVE_INFINITY
    for (const connection of this.heard) {
      const { halfSinceMs } = connection
      if (halfSinceMs === undefined) continue
      of += 1
      if (halfSinceMs >= since) continue
      oldest = connection
      since = halfSinceMs
    }
    return oldest === undefined ? undefined : { connection: oldest, of }
  }
}

/** The peer of a connection, also of the encrypted one that node:https has made of it. */
export function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
