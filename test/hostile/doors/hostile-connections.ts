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

  constructor(door: Door, origin: Origin) {
    this.door = door
    this.addresses = ADDRESSES[origin]
  }

  get size(): number {
    return this.openedAt.size
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
    raw.on('close', () => {
      this.end(raw)
      socket.destroy()
    })
    const ready = once(socket, isEncrypted ? 'secureConnect' : 'connect').then(() => {
      this.openedAt.set(raw, performance.now())
    })
    await Promise.race([ready, once(raw, 'close')]).catch(() => {})
    return socket
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
