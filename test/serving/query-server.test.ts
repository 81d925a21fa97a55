import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MetricGroup } from '../../src/core/metrics.ts'
import type { QueryServerOptions } from '../../src/serving/query-options.ts'
import { QueryServer } from '../../src/serving/query-server.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { readErrorFrame } from '../../src/wire/answer.ts'
import { FrameReader, KIND } from '../../src/wire/frame.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'
import { readWelcome, writeHello } from '../../src/wire/hello.ts'
import { beginRequest } from '../../src/wire/request.ts'
import { FakeQueryBackend } from './fake-query-backend.ts'

/** A client that shows every frame as it came. */
class RawClient {
  readonly socket: Socket
  private readonly reader = new FrameReader(() => 1 << 24)
  private readonly writer = new FrameWriter()

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' })
    this.socket.on('error', () => {})
  }

  send(write: (writer: FrameWriter) => void): void {
    this.writer.reset()
    write(this.writer)
    this.socket.write(this.writer.toBytes())
  }

  /** Stands on the next frame; undefined at the end of the stream. */
  async next(): Promise<FrameReader | undefined> {
    while (!this.reader.next()) {
      const chunk: Buffer | null = this.socket.read()
      if (chunk !== null) this.reader.append(chunk)
      else if (this.socket.readableEnded || this.socket.destroyed) return undefined
      else await Promise.race([once(this.socket, 'readable'), once(this.socket, 'close')])
    }
    return this.reader
  }

  async hello(token = ''): Promise<FrameReader | undefined> {
    this.send((writer) => {
      const versions = { minVersion: 1, maxVersion: 3, maxFrameBytes: 1 << 20 }
      writeHello(writer, { ...versions, token, job: '', client: 'raw' })
    })
    return await this.next()
  }
}

let backend: FakeQueryBackend
let server: QueryServer
let clock: ManualClock
let metrics: MetricGroup
const clients: RawClient[] = []
const preamble = {
  state: 'ALS_MODEL',
  version: 0,
  deadlineMs: 1000,
  consistency: { level: 'live' },
} as const

async function start(options: QueryServerOptions = {}): Promise<RawClient> {
  server = new QueryServer(backend, { clock, metrics, ...options })
  await server.listen()
  return open()
}

function open(): RawClient {
  const client = new RawClient(server.port)
  clients.push(client)
  return client
}

beforeEach(() => {
  backend = new FakeQueryBackend()
  backend.rows.set('1-U', Float32Array.of(1, 2))
  clock = new ManualClock(1000)
  metrics = new MetricGroup()
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  await server.close()
})

describe('QueryServer', () => {
  it('welcomes a client with its limits', async () => {
    const client = await start({ server: 'query-5', limits: { maxFrameBytes: 8192 } })
    const frame = await client.hello()
    expect(readWelcome(frame!)).toEqual({
      version: 1,
      maxFrameBytes: 8192,
      routingEpoch: 1,
      server: 'query-5',
      job: 'als',
      idleTimeoutMs: 120_000,
      maxOutstanding: 4096,
    })
  })

  it('answers many frames of one write in one go and in order', async () => {
    const client = await start()
    await client.hello()
    client.send((writer) => {
      for (let id = 1; id <= 50; id++) {
        beginRequest(writer, KIND.predict, 0, id, preamble)
        writer.key('1-U')
        writer.key('1-U')
        writer.end(1)
      }
    })
    for (let id = 1; id <= 50; id++) expect((await client.next())?.requestId).toBe(id)
  })

  it('answers a later request while an earlier one waits', async () => {
    const client = await start()
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 1, preamble)
      writer.key('x')
      writer.end(1)
      writer.begin(KIND.ping, 0, 2)
      writer.end(0)
    })
    expect((await client.next())?.requestId).toBe(2)
    gate.resolve()
    expect((await client.next())?.requestId).toBe(1)
  })

  it('answers a failed request with its error and goes on', async () => {
    const client = await start()
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.rows, 0, 1, { ...preamble, state: 'NOPE' })
      writer.key('x')
      writer.end(1)
      writer.begin(KIND.ping, 0, 2)
      writer.end(0)
    })
    const failed = await client.next()
    expect(failed?.requestId).toBe(1)
    expect(readErrorFrame(failed!).code).toBe('UNKNOWN_STATE')
    expect((await client.next())?.requestId).toBe(2)
    expect(metrics.snapshot()).toMatchObject({
      'query.numErrors.UNKNOWN_STATE': 1,
      'query.numRequests.rows': 1,
      'query.numRequests.ping': 1,
    })
  })

  it('closes after a broken frame, with the reason as the last frame', async () => {
    const client = await start()
    await client.hello()
    client.send((writer) => {
      writer.begin(0x44, 0, 9)
      writer.end(0)
    })
    const last = await client.next()
    expect(last?.requestId).toBe(0)
    expect(readErrorFrame(last!).code).toBe('PROTOCOL_ERROR')
    expect(await client.next()).toBeUndefined()
  })

  it('refuses a wrong token, whatever its length', async () => {
    const client = await start({ token: 'secret' })
    for (const token of ['', 'secreT', 'secret and more']) {
      const answer = await open().hello(token)
      expect(readErrorFrame(answer!).code).toBe('UNAUTHENTICATED')
    }
    expect(readWelcome((await client.hello('secret'))!).version).toBe(1)
  })

  it('tells a client that is one too many', async () => {
    const first = await start({ limits: { maxConnections: 1 } })
    await first.hello()
    const second = open()
    expect(readErrorFrame((await second.next())!).code).toBe('OVERLOADED')
    expect(await second.next()).toBeUndefined()
  })

  it('cuts a peer that does not say hello', async () => {
    const client = await start()
    await expect.poll(() => server.connectionCount).toBe(1)
    clock.advance(4_500)
    expect(server.connectionCount).toBe(1)
    clock.advance(2_000)
    expect(server.connectionCount).toBe(0)
    expect(await client.next()).toBeUndefined()
  })

  it('closes a client that is silent for too long, but not one that pings', async () => {
    const silent = await start()
    await silent.hello()
    const alive = open()
    await alive.hello()
    clock.advance(100_000)
    alive.send((writer) => {
      writer.begin(KIND.ping, 0, 1)
      writer.end(0)
    })
    await alive.next()
    clock.advance(25_000)
    expect(readErrorFrame((await silent.next())!).code).toBe('UNAVAILABLE')
    expect(await silent.next()).toBeUndefined()
    expect(server.connectionCount).toBe(1)
  })

  it('answers what was asked before it closes', async () => {
    const client = await start()
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    backend.encoded.set('x', Uint8Array.of(1))
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 3, preamble)
      writer.key('x')
      writer.end(1)
    })
    await expect.poll(() => metrics.snapshot()['query.numRequests.values']).toBe(1)
    const closed = server.close()
    gate.resolve()
    await expect.poll(() => clock.advance(5)).toBeUndefined()
    expect((await client.next())?.requestId).toBe(3)
    expect(await client.next()).toBeUndefined()
    await closed
  })

  it('cuts what is still open when its grace is over', async () => {
    const client = await start()
    backend.gate = new Promise(() => {})
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 3, preamble)
      writer.key('x')
      writer.end(1)
    })
    await expect.poll(() => metrics.snapshot()['query.numRequests.values']).toBe(1)
    const closed = server.close(100)
    clock.advance(100)
    await closed
    expect(server.connectionCount).toBe(0)
  })
})
