import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ADDRESSES, type Door, type Origin } from './door.ts'

/** How an attacker connects. */
export interface DialOptions {
  /** Without the handshake of TLS, also where the door has TLS. @default false */
  readonly isBare?: boolean
  /** Stays open after its own end. @default false */
  readonly isHalfOpen?: boolean
}

/** The connections of an attack. */
export class HostileConnections {
  /** Longest time from a connection's start to its end, ms. */
  longestMs = 0
  /** Connections that were made. */
  made = 0
  private readonly door: Door
  private readonly addresses: readonly string[]
  private readonly openedAt = new Map<Socket, number>()
  private readonly fullCount: number
  /** The first connections, as many as the attack has at a time, that are not closed. */
  private readonly first = new Set<Socket>()
  private fullSinceMs = Number.POSITIVE_INFINITY

  /** `fullCount`: how many connections the attack has at a time. */
  constructor(door: Door, origin: Origin, fullCount: number) {
    this.door = door
    this.addresses = ADDRESSES[origin]
    this.fullCount = fullCount
  }

  /** How long ago the attack had begun as many connections as it has at a time, ms. */
  get fullMs(): number {
    return Math.max(0, performance.now() - this.fullSinceMs)
  }

  /** Whether each of the first connections has ended. */
  get isFirstOver(): boolean {
    return this.made >= this.fullCount && this.first.size === 0
  }

  /** Connects; it never rejects: a refused connection is closed at once. */
  async dial({ isBare = false, isHalfOpen = false }: DialOptions = {}): Promise<Socket> {
    const { port, isTls, protocol } = this.door
    const localAddress = this.addresses[this.made++ % this.addresses.length]!
    const raw = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: isHalfOpen })
    const isEncrypted = isTls && !isBare
    const alpn = protocol === 'grpc' ? { ALPNProtocols: ['h2'] } : {}
    const socket = isEncrypted
      ? connectTls({ socket: raw, rejectUnauthorized: false, ...alpn })
      : raw
    for (const one of new Set<Socket>([raw, socket])) one.on('error', () => {})
    this.note(raw)
    raw.on('close', () => {
      this.end(raw)
      this.first.delete(raw)
      socket.destroy()
    })
    const ready = once(socket, isEncrypted ? 'secureConnect' : 'connect').then(() => {
      this.openedAt.set(raw, performance.now())
    })
    await Promise.race([ready, once(raw, 'close')]).catch(() => {})
    return socket
  }

  private note(raw: Socket): void {
    if (this.made <= this.fullCount) this.first.add(raw)
    if (this.made === this.fullCount) this.fullSinceMs = performance.now()
  }

  private end(raw: Socket): void {
    const since = this.openedAt.get(raw)
    if (since === undefined) return
    this.openedAt.delete(raw)
    this.longestMs = Math.max(this.longestMs, performance.now() - since)
  }

  /** Cuts all connections; those that are open count as long as they were. */
  destroy(): void {
    for (const raw of [...this.openedAt.keys()]) {
      this.end(raw)
      raw.destroy()
    }
  }
}
