import { once } from 'node:events'
import {
  createServer,
  IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { ConnectionShare, REQUEST_TIMES } from '../../src/http/connection-share.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { until } from '../run/until.ts'

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const HALF = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf'
const REST = 'rest'
/** As many bytes as a handshake of TLS begins with, and no whole head. */
const HALF_HEAD = `${GET.slice(0, -2)}X-Long: ${'x'.repeat(200)}`

const closers: (() => unknown)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A clock whose thread can be held: time goes on, and no timer fires. */
class HeldClock extends ManualClock {
  heldMs = 0

  override monotonicMs(): number {
    return super.monotonicMs() + this.heldMs
  }
}

/** A server with a share of connections, whose answers a test gives. */
class World {
  readonly clock = new HeldClock()
  readonly share: ConnectionShare
  readonly server: Server
  readonly pending: ServerResponse[] = []
  /** Its ends of all connections. */
  readonly sockets: Socket[] = []

  constructor(most: number, options: ServerOptions) {
    this.share = new ConnectionShare({ most }, this.clock)
    this.server = createServer({ ...REQUEST_TIMES, ...options }, (_, response) =>
      this.pending.push(response),
    )
    this.share.attach(this.server)
    this.server.on('connection', (socket) => this.sockets.push(socket))
    closers.push(() => {
      this.server.closeAllConnections()
      this.server.close()
      this.share[Symbol.dispose]()
    })
  }

  static async open(most: number, options: ServerOptions = {}): Promise<World> {
    const world = new World(most, options)
    world.server.listen(0, '127.0.0.1')
    await once(world.server, 'listening')
    return world
  }

  /** A connection from an address of this machine, after the server has seen it. */
  async connect(localAddress = '127.0.0.1'): Promise<Socket> {
    const { port } = this.server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {}).resume()
    closers.push(() => socket.destroy())
    const seen = once(this.server, 'connection')
    await Promise.all([once(socket, 'connect'), seen])
    return socket
  }

  /** A connection with a request that is answered, and is kept. */
  async answered(localAddress?: string): Promise<Socket> {
    const socket = await this.connect(localAddress)
    await this.request(socket)
    const answered = once(socket, 'data')
    this.pending.pop()!.end('x')
    await answered
    return socket
  }

  async request(socket: Socket, bytes = GET): Promise<void> {
    const { length } = this.pending
    socket.write(bytes)
    await until('the request has come', () => this.pending.length > length)
  }

  /** A connection with half a body. */
  async half(localAddress?: string): Promise<Socket> {
    const socket = await this.connect(localAddress)
    await this.request(socket, HALF)
    return socket
  }

  /** A connection with half a head, which the server has read. */
  async begun(): Promise<Socket> {
    const socket = await this.connect()
    const read = this.sockets.at(-1)!
    socket.write(HALF_HEAD)
    await until('half of a head has come', () => read.bytesRead >= HALF_HEAD.length)
    return socket
  }

  /** The answer to the request of a connection. */
  responseTo({ localPort }: Socket): ServerResponse {
    return this.pending.find(({ req }) => req.socket.remotePort === localPort)!
  }
}

/** A connection from an address, in the memory of this process. */
function connectionFrom(remoteAddress: string): Duplex {
  const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  closers.push(() => stream.destroy())
  return Object.assign(stream, { remoteAddress, remotePort: 1 })
}

const closedOf = (sockets: readonly Socket[]): readonly boolean[] =>
  sockets.map((socket) => socket.destroyed || socket.readableEnded)

const isClosed = (socket: Socket): Promise<unknown> =>
  until('the connection is closed', () => socket.destroyed || socket.readableEnded)

describe('the connections of an HTTP port', () => {
  it('give way, the oldest first, when they have sent nothing and the port is full', async () => {
    const world = await World.open(4)
    const silent = [
      await world.connect(),
      await world.connect(),
      await world.connect('127.0.0.2'),
      await world.connect('127.0.0.2'),
    ]
    const good = await world.answered('127.0.0.3')
    await isClosed(silent[0]!)
    expect(world.share.size).toBe(4)
    const next = await world.answered('127.0.0.3')
    // Of the address that has the most.
    await isClosed(silent[2]!)
    expect([good.destroyed, next.destroyed, silent[1]!.destroyed]).toEqual([false, false, false])
  })

  it('are gone when their peers leave before they are begun', async () => {
    const world = await World.open(4)
    const left = connectionFrom('127.0.0.9')
    left.push(null)
    // As node:net does it: the end comes although nobody reads.
    left.read(0)
    // Two in one turn: the second one is begun in a later turn.
    world.server.emit('connection', connectionFrom('127.0.0.8'))
    world.server.emit('connection', left)
    expect(world.share.size).toBe(2)
    await until('the second one is gone', () => world.share.size === 1)
  })

  it('give way when they have sent half a head', async () => {
    const world = await World.open(2)
    const half = await world.connect()
    half.write(GET.slice(0, 10))
    const good = await world.answered()
    await isClosed(half)
    expect(good.destroyed).toBe(false)
  })

  it('give way when they have sent next to nothing, before older ones that have begun a head or a handshake', async () => {
    const world = await World.open(4)
    const begun = await world.begun()
    const silent = await world.connect()
    const good = await world.answered()
    await isClosed(silent)
    expect([begun.destroyed, good.destroyed]).toEqual([false, false])
  })

  it('with half a body give way, the oldest first, before one that has come just now', async () => {
    const world = await World.open(8)
    const halves = [await world.half(), await world.half(), await world.half()]
    const fresh = await world.connect()
    const good = await world.answered()
    await isClosed(halves[0]!)
    // Now there are as many that are answered or have sent nothing as halves.
    await world.request(fresh)
    expect(closedOf([...halves.slice(1), fresh, good])).toEqual([false, false, false, false])
  })

  it('with half a body are kept while as many others have sent nothing', async () => {
    const world = await World.open(8)
    const [upload, begun] = [await world.half(), await world.begun()]
    const silent = [await world.connect(), await world.connect()]
    const good = await world.answered()
    await isClosed(silent[0]!)
    const other = await world.answered()
    await isClosed(silent[1]!)
    expect(closedOf([upload, begun, good, other])).toEqual([false, false, false, false])
  })

  it('of the kind that most are of give way, half heads too, before one that has come just now', async () => {
    const world = await World.open(8)
    const begun = [await world.begun(), await world.begun(), await world.begun()]
    const fresh = await world.connect()
    const good = await world.answered()
    await isClosed(begun[0]!)
    await world.request(fresh)
    expect(closedOf([...begun.slice(1), fresh, good])).toEqual([false, false, false, false])
  })

  it('with half a body that is answered give way first, and are kept when it has become whole', async () => {
    const world = await World.open(6)
    const [whole, older, answered] = [await world.half(), await world.half(), await world.half()]
    for (const socket of [whole, answered]) {
      const seen = once(socket!, 'data')
      world.responseTo(socket!).end('no')
      await seen
    }
    whole.write(REST)
    await until('the body is whole', () => world.responseTo(whole).req.complete)
    const good = await world.answered()
    await isClosed(answered)
    expect(closedOf([whole, older, good])).toEqual([false, false, false])
  })

  it('are kept while a whole request of theirs is answered, also with half of another one', async () => {
    const world = await World.open(2)
    const busy = await world.connect()
    await world.request(busy)
    busy.write(HALF)
    await until('both have come', () => world.pending.length === 2)
    await isClosed(await world.connect())
    expect(busy.destroyed).toBe(false)
  })

  it('of the address with the most give way at once to an address with fewer, also when they were just answered', async () => {
    const world = await World.open(4)
    const first = await world.answered('127.0.0.2')
    await world.answered('127.0.0.2')
    const third = await world.answered('127.0.0.3')
    await world.answered('127.0.0.3')
    const good = await world.answered('127.0.0.1')
    await isClosed(first)
    expect([third.destroyed, good.destroyed]).toEqual([false, false])
    // Those with as many do not give way to each other.
    await isClosed(await world.connect('127.0.0.3'))
    expect(good.destroyed).toBe(false)
  })

  it('do not give way when their bodies are whole and wait for an answer', async () => {
    const world = await World.open(2)
    const busy = await world.connect()
    world.server.once('request', (request) => request.resume())
    busy.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody')
    await until('the request has come', () => world.pending.length > 0)
    await world.answered('127.0.0.2')
    world.clock.advance(4000)
    await isClosed(await world.connect())
    expect(busy.destroyed).toBe(false)
  })

  it('of one address are at most half, however many others there are', async () => {
    const world = await World.open(4)
    const mine = [await world.answered(), await world.answered()]
    const third = await world.connect()
    await isClosed(third)
    await world.answered('127.0.0.2')
    expect(mine.map(({ destroyed }) => destroyed)).toEqual([false, false])
    mine[0]!.destroy()
    await until('its place is free', () => world.share.size === 2)
    await world.answered()
  })

  it('give way when they are idle, and never while a request is being answered', async () => {
    const world = await World.open(2)
    const idle = await world.answered()
    world.clock.advance(7000)
    const busy = await world.connect()
    await world.request(busy)
    await isClosed(idle)
    world.clock.advance(60_000)
    await isClosed(await world.connect())
    const answer = once(busy, 'data')
    world.pending.pop()!.end('the answer')
    expect(String(await answer)).toContain('the answer')
  })

  it('are closed with more than 64 requests that are not answered', async () => {
    const world = await World.open(10)
    const socket = await world.connect()
    socket.write(GET.repeat(64))
    await until('all have come', () => world.pending.length === 64)
    expect(socket.destroyed).toBe(false)
    socket.write(GET)
    await isClosed(socket)
    expect(world.pending).toHaveLength(64)
  })

  it('make no requests of what they have sent beyond that', async () => {
    let made = 0
    class CountedMessage extends IncomingMessage {
      constructor(socket: Socket) {
        super(socket)
        made += 1
      }
    }
    const world = await World.open(10, { IncomingMessage: CountedMessage })
    const socket = await world.connect()
    socket.write(GET.repeat(1000))
    await isClosed(socket)
    expect(made).toBeLessThan(70)
  })

  it('are closed 5 s after they came without the head of a request', async () => {
    const world = await World.open(10)
    const silent = await world.connect()
    const good = await world.answered()
    world.clock.advance(4000)
    const later = await world.connect()
    world.clock.advance(1000)
    await isClosed(silent)
    expect([good.destroyed, later.destroyed]).toEqual([false, false])
    expect(world.share.size).toBe(2)
    world.clock.advance(4000)
    await isClosed(later)
  })

  it('are not silent for the time in which the thread was held, and read nothing', async () => {
    const world = await World.open(10)
    const socket = await world.connect()
    world.clock.heldMs = 20_000
    world.clock.advance(1000)
    expect(world.share.size).toBe(1)
    world.clock.advance(3000)
    await world.request(socket)
    expect([socket.destroyed, world.share.size]).toEqual([false, 1])
  })

  it('ask for no time when there are none', async () => {
    const world = await World.open(10)
    const socket = await world.answered()
    expect(world.clock.pending).toBe(1)
    socket.destroy()
    await until('it is gone', () => world.share.size === 0)
    world.clock.advance(1000)
    expect(world.clock.pending).toBe(0)
  })
})
