import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Random } from '../../../../src/core/random.ts'
import { pause } from '../../../run/pause.ts'
import type { Door } from '../door.ts'
import type { DialOptions, HostileConnections } from '../hostile-connections.ts'

/** Where an attack takes place. */
export interface AttackSite {
  readonly door: Door
  readonly connections: HostileConnections
  readonly random: Random
  /** Aborted when the attack is to end; its connections are then cut. */
  readonly signal: AbortSignal
}

/** A kind of hostile client. */
export interface DoorAttack {
  /** Ends with its signal. */
  readonly run: (site: AttackSite) => Promise<void>
  /** Whether it holds connections whose requests are not whole: each must be closed in time. */
  readonly isHolding: boolean
  /** Connections that it has at a time. */
  readonly connections: number
}

/** Runs `one` again and again, so many at a time. */
export function again(atOnce: number, one: (site: AttackSite) => Promise<void>): DoorAttack {
  return {
    isHolding: false,
    connections: atOnce,
    async run(site) {
      const loop = async (): Promise<void> => {
        while (!site.signal.aborted) await one(site)
      }
      await Promise.all(Array.from({ length: atOnce }, loop))
    },
  }
}

/** Sends bytes and waits until the peer answers or leaves. */
export async function sendWhole(site: AttackSite, bytes: Uint8Array): Promise<void> {
  const socket = await site.connections.dial()
  socket.write(bytes)
  await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => {})
  socket.destroy()
}

/** Held connections. */
export interface Held extends DialOptions {
  readonly count: number
  /** What each sends at once. */
  readonly first: (door: Door) => Uint8Array
  /** What each sends then, a byte every 100 ms. @default nothing */
  readonly rest?: (door: Door) => Uint8Array
}

/** Holds connections open, and replaces those that are closed. */
export function hold({ count, first, rest, ...dialing }: Held): DoorAttack {
  const begin = async ({ connections, door }: AttackSite): Promise<Socket> => {
    const socket = await connections.dial(dialing)
    socket.on('data', () => {})
    const bytes = first(door)
    if (dialing.isHalfOpen === true) socket.end(bytes)
    else if (bytes.length > 0) socket.write(bytes)
    return socket
  }
  return {
    isHolding: true,
    connections: count,
    async run(site) {
      const held = new Map<Socket, number>()
      const more = rest?.(site.door)
      while (!site.signal.aborted) {
        for (const socket of held.keys()) if (socket.destroyed) held.delete(socket)
        const missing = Math.min(50, count - held.size)
        const opened = await Promise.all(Array.from({ length: missing }, () => begin(site)))
        for (const socket of opened) held.set(socket, 0)
        if (more !== undefined) dribble(held, more)
        await pause(missing === 50 ? 5 : 100, 'held connections send a byte now and then')
      }
    },
  }
}

function dribble(held: Map<Socket, number>, bytes: Uint8Array): void {
  for (const [socket, at] of held) {
    if (!socket.writable || at >= bytes.length) continue
    socket.write(bytes.subarray(at, at + 1))
    held.set(socket, at + 1)
  }
}

/** Sends without ever reading an answer, until the peer cuts. */
export async function sendUnread(site: AttackSite, bytes: Uint8Array): Promise<void> {
  const socket = await site.connections.dial()
  socket.pause()
  socket.write(bytes)
  if (!socket.closed) await once(socket, 'close').catch(() => {})
}

/** Sends and leaves in the middle. */
export async function sendAndLeave(site: AttackSite, bytes: Uint8Array): Promise<void> {
  const socket = await site.connections.dial()
  socket.write(bytes)
  await pause(20, 'an attacker leaves soon after it has sent')
  socket.destroy()
}

/** The first half of a ClientHello of TLS. */
export const HALF_HANDSHAKE = Uint8Array.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 7, 7, 7, 7)
