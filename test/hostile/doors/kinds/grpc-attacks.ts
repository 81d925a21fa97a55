import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { mutated } from '../../../../verify/fuzz/mutations.ts'
import { field, framed, varint } from '../../../gateway/grpc/frames.ts'
import { pause } from '../../../run/pause.ts'
import { type Door, LARGE_ROWS, MODEL } from '../door.ts'
import { grpcFields, inferMessage } from '../grpc-messages.ts'
import {
  type AttackSite,
  again,
  type DoorAttack,
  HALF_HANDSHAKE,
  hold,
  sendAndLeave,
} from './attack.ts'
import { dataFrame, GREETING, headFrame } from './http2-bytes.ts'

const MIB = 1024 * 1024
const NOTHING = new Uint8Array(0)
/** Length that half messages announce. */
const ANNOUNCED = 50 * MIB

/** A session on a connection of the attack, and what ends it. */
async function dial(site: AttackSite): Promise<{ session: ClientHttp2Session; socket: Socket }> {
  const socket = await site.connections.dial()
  const session = connect('http://hostile', { createConnection: () => socket })
  session.on('error', () => {})
  return { session, socket }
}

function callOn(session: ClientHttp2Session, door: Door, more: Record<string, string> = {}) {
  const call = session.request({ ...grpcFields(door), ...more })
  call.on('error', () => {})
  return call
}

const closed = (one: ClientHttp2Stream | ClientHttp2Session | Socket): Promise<unknown> =>
  'closed' in one && one.closed ? Promise.resolve() : once(one, 'close').catch(() => {})

/** Sends a message, waits for the end of its call, and leaves. */
function whole(
  message: (site: AttackSite) => Uint8Array,
  more: Record<string, string> = {},
): DoorAttack {
  return again(4, async (site) => {
    const { session, socket } = await dial(site)
    const call = callOn(session, site.door, more)
    call.resume().end(message(site))
    await Promise.race([closed(call), closed(socket)])
    socket.destroy()
  })
}

let large: Uint8Array | undefined
const largeMessage = (): Uint8Array => {
  large ??= framed(inferMessage({ shape: [LARGE_ROWS, 2] }, Buffer.alloc(LARGE_ROWS * 8)))
  return large
}

/** A request whose input has typed contents: a field of them, and its bytes. */
function typed(shape: readonly number[], contents: number, bytes: Uint8Array): Uint8Array {
  const text = (number: number, value: string): Buffer => field(number, Buffer.from(value))
  const input = [text(1, 'x'), text(2, 'FP32'), field(3, ...shape.map(varint))]
  return framed(
    Buffer.concat([text(1, MODEL), field(5, ...input, field(5, field(contents, bytes)))]),
  )
}

const numbersOf = (count: number): Uint8Array => typed([count / 2, 2], 6, Buffer.alloc(4 * count))
const wideOf = (count: number): Uint8Array => typed([count], 3, Buffer.alloc(count, 1))
/** Texts of no bytes. */
const textsOf = (count: number): Uint8Array => {
  const empty = Buffer.alloc(2 * count, Buffer.of(8 * 8 + 2, 0))
  return framed(Buffer.concat([field(1, Buffer.from(MODEL)), field(5, field(5, empty))]))
}

let small: readonly Uint8Array[] | undefined
const smallValues = (): readonly Uint8Array[] => {
  small ??= [
    // The most that the limit lets pass: what they cost is what it allows.
    ...[numbersOf(196_000), wideOf(32_000), textsOf(49_000)],
    // Beyond it.
    numbersOf(4_000_000),
    wideOf(3_000_000),
  ]
  return small
}

let bomb: Uint8Array | undefined
const bombMessage = (): Uint8Array => {
  bomb ??= framed(gzipSync(Buffer.alloc(60 * MIB)), true)
  return bomb
}

const halfHead = Buffer.alloc(5)
halfHead.writeUInt32BE(ANNOUNCED, 1)
const HALF = Buffer.concat([halfHead, Buffer.alloc(MIB)])

/** Holds calls whose message is not whole, on so many connections; the first one that ends takes its connection along. */
function holdCalls(
  connections: number,
  calls: number,
  next: (call: ClientHttp2Stream) => void,
): DoorAttack {
  return {
    isHolding: true,
    connections,
    async run(site) {
      const held = new Set<Socket>()
      const begin = async (): Promise<void> => {
        const { session, socket } = await dial(site)
        held.add(socket)
        socket.once('close', () => held.delete(socket))
        if (socket.destroyed) held.delete(socket)
        for (let i = 0; i < calls && !session.destroyed; i++) {
          const call = callOn(session, site.door)
          call.on('close', () => socket.destroy())
          call.resume()
          next(call)
        }
      }
      while (!site.signal.aborted) {
        const missing = Math.min(50, connections - held.size)
        await Promise.all(Array.from({ length: missing }, begin))
        await pause(missing === 50 ? 5 : 100, 'held calls are opened again when they were ended')
      }
    },
  }
}

/** Sends a byte now and then. */
function dribble(call: ClientHttp2Stream): void {
  call.write(halfHead)
  const timer = setInterval(() => call.write(Buffer.of(0)), 100)
  call.on('close', () => clearInterval(timer))
}

const request = (door: Door): Buffer =>
  Buffer.concat([
    GREETING,
    headFrame(1, grpcFields(door)),
    dataFrame(1, framed(inferMessage({ shape: [1, 2] }, Buffer.alloc(8)))),
  ])

/** Calls on one connection whose answers are never read. */
const unread = again(4, async (site) => {
  const { session, socket } = await dial(site)
  const message = framed(inferMessage({ shape: [1, 2] }, Buffer.alloc(8)))
  for (let i = 0; i < 3_000 && !session.destroyed; i++) callOn(session, site.door).end(message)
  socket.pause()
  await Promise.race([closed(socket), pause(2_000, 'the answers lie there for a while')])
  socket.destroy()
})

/** Opens calls and cancels them at once. */
const resets = again(4, async (site) => {
  const { session, socket } = await dial(site)
  for (let i = 0; i < 500 && !session.destroyed; i++) callOn(session, site.door).close(8)
  await Promise.race([closed(socket), pause(50, 'a canceled call leaves')])
  socket.destroy()
})

/** Kinds of hostile clients of a port of gRPC. */
export const GRPC_ATTACKS: Readonly<Record<string, DoorAttack>> = {
  'big bodies': whole(largeMessage),
  'gzip bombs': whole(bombMessage, { 'grpc-encoding': 'gzip' }),
  'small values': whole(({ random }) => smallValues()[random.below(smallValues().length)]!),
  'half bodies': holdCalls(500, 1, (call) => call.write(HALF)),
  'half bodies of one connection': holdCalls(1, 900, (call) =>
    call.write(HALF.subarray(0, 60_000)),
  ),
  'half heads': hold({ count: 500, first: (door) => request(door).subarray(0, 60) }),
  'trickled heads': hold({ count: 300, first: () => NOTHING, rest: request }),
  'trickled bodies': holdCalls(300, 1, dribble),
  'silent connections': hold({ count: 600, first: () => NOTHING }),
  'half-open connections': hold({
    count: 300,
    isBare: true,
    isHalfOpen: true,
    first: (door) => (door.isTls ? HALF_HANDSHAKE : request(door).subarray(0, 60)),
  }),
  'half handshakes': hold({ count: 2500, isBare: true, first: () => HALF_HANDSHAKE }),
  'requests whose answers no one reads': unread,
  'new connections': again(16, (site) => sendAndLeave(site, GREETING)),
  'canceled calls': resets,
  'aborted bodies': again(8, async (site) => {
    const { session, socket } = await dial(site)
    callOn(session, site.door).write(HALF)
    await pause(20, 'an attacker leaves soon after it has sent')
    socket.destroy()
  }),
  'mutated requests': again(8, (site) =>
    sendAndLeave(
      site,
      Buffer.concat([GREETING, mutated(request(site.door).subarray(GREETING.length), site.random)]),
    ),
  ),
}
