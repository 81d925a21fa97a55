import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { KIND } from '../../../src/wire/frame.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { PREAMBLE, type RawClient, TestedServer } from './tested-server.ts'

let served: TestedServer

beforeEach(() => {
  served = new TestedServer()
})

afterEach(() => served.close())

describe('the connections of a query server', () => {
  it('serves 5,000 frames of one connection in several turns, and others between them', async () => {
    let now = 1000
    const ticking: Clock = { ...systemClock, monotonicMs: () => (now += 0.05) }
    const client = await served.start({ clock: ticking, limits: { maxOutstanding: 10_000 } })
    await client.hello()
    const other = served.open()
    await other.hello()
    const count = 5_000
    client.send((writer) => {
      for (let id = 1; id <= count; id++) {
        beginRequest(writer, KIND.scan, 0, id, PREAMBLE)
        writer.uint32(1)
        writer.key('')
        writer.key('z')
        writer.end(1)
      }
    })
    other.send((writer) => {
      writer.begin(KIND.ping, 0, 1)
      writer.end(0)
    })
    await other.next()
    const asked = (): unknown => served.metrics.snapshot()['query.numRequests.scan']
    expect(asked()).toBeLessThan(count)
    await expect.poll(asked, { timeout: 30_000 }).toBe(count)
  })

  it('refuses a client above the limit of connections with OVERLOADED', async () => {
    const first = await served.start({ limits: { maxConnections: 1 } })
    await first.hello()
    const second = served.open()
    expect(readErrorFrame((await second.next())!).code).toBe('OVERLOADED')
    expect(await second.next()).toBeUndefined()
  })

  it('answers a hundred refused clients a second at once, the next ones in turn, and closes the others', async () => {
    const limits = { maxConnections: 200, maxConnectionsPerAddress: 1 }
    const first = await served.start({ limits })
    await first.hello()
    const codeOf = async (client: RawClient) => readErrorFrame((await client.next())!).code
    const atOnce = Array.from({ length: 100 }, () => served.open())
    for (const one of atOnce) expect(await codeOf(one)).toBe('OVERLOADED')
    const refused = (): unknown => served.metrics.snapshot()['query.numConnectionsRefused']
    const codes: string[] = []
    for (let i = 0; i < 150; i++) void codeOf(served.open()).then((code) => codes.push(code))
    await expect.poll(refused).toBe(250)
    expect(await served.open().next()).toBeUndefined()
    expect(codes).toEqual([])
    for (const answered of [4, 8]) {
      served.clock.advance(20)
      await expect.poll(() => codes).toEqual(Array(answered).fill('OVERLOADED'))
    }
    const answeredNext = (): number => {
      served.clock.advance(20)
      return codes.length
    }
    await expect.poll(answeredNext, { interval: 5, timeout: 30_000 }).toBe(150)
    served.clock.advance(1_000)
    expect(await codeOf(served.open())).toBe('OVERLOADED')
    expect(served.server.connectionCount).toBe(1)
  })

  it('cuts a peer that does not send a hello', async () => {
    const client = await served.start()
    await expect.poll(() => served.server.connectionCount).toBe(1)
    served.clock.advance(4_500)
    expect(served.server.connectionCount).toBe(1)
    served.clock.advance(2_000)
    expect(served.server.connectionCount).toBe(0)
    expect(await client.next()).toBeUndefined()
  })

  it('ends connections that came together in several turns', async () => {
    let now = 1000
    const { clock } = served
    const after: Clock['after'] = (ms, callback) => clock.after(ms, callback)
    const ticking: Clock = { ...systemClock, after, monotonicMs: () => now++ }
    await served.start({ clock: ticking, limits: { helloTimeoutMs: 500 } })
    served.open()
    served.open()
    await expect.poll(() => served.server.connectionCount, { timeout: 30_000 }).toBe(3)
    now += 1_000
    clock.advance(1_000)
    expect(served.server.connectionCount).toBe(2)
    await expect.poll(() => served.server.connectionCount, { timeout: 30_000 }).toBe(0)
  })

  it('closes a client that is silent for too long, but not one that pings', async () => {
    const silent = await served.start()
    await silent.hello()
    const alive = served.open()
    await alive.hello()
    served.clock.advance(100_000)
    alive.send((writer) => {
      writer.begin(KIND.ping, 0, 1)
      writer.end(0)
    })
    await alive.next()
    served.clock.advance(25_000)
    expect(readErrorFrame((await silent.next())!).code).toBe('UNAVAILABLE')
    expect(await silent.next()).toBeUndefined()
    expect(served.server.connectionCount).toBe(1)
  })

  it('answers all requests before it closes', async () => {
    const client = await served.start()
    const gate = Promise.withResolvers<void>()
    served.backend.gate = gate.promise
    served.backend.encoded.set('x', Uint8Array.of(1))
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 3, PREAMBLE)
      writer.key('x')
      writer.end(1)
    })
    await expect.poll(() => served.metrics.snapshot()['query.numRequests.values']).toBe(1)
    const closed = served.server.close()
    gate.resolve()
    await expect.poll(() => served.clock.advance(5)).toBeUndefined()
    expect((await client.next())?.requestId).toBe(3)
    expect(await client.next()).toBeUndefined()
    await closed
  })

  it('cuts connections that are still open after the grace period', async () => {
    const client = await served.start()
    served.backend.gate = new Promise(() => {})
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 3, PREAMBLE)
      writer.key('x')
      writer.end(1)
    })
    await expect.poll(() => served.metrics.snapshot()['query.numRequests.values']).toBe(1)
    const closed = served.server.close(100)
    served.clock.advance(100)
    await closed
    expect(served.server.connectionCount).toBe(0)
  })
})
