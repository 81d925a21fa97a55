import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { KIND, REQUEST_FLAG } from '../../../src/wire/frame.ts'
import { readWelcome, writeHello } from '../../../src/wire/hello.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { writeSparseVector } from '../../../src/wire/sparse-vector.ts'
import { PREAMBLE, TestedServer } from './tested-server.ts'

let served: TestedServer

beforeEach(() => {
  served = new TestedServer()
})

afterEach(() => served.close())

describe('QueryServer', () => {
  it('welcomes a client with its limits', async () => {
    const client = await served.start({ server: 'query-5', limits: { maxFrameBytes: 8192 } })
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

  it('answers many frames of one write together and in order', async () => {
    const client = await served.start()
    await client.hello()
    client.send((writer) => {
      for (let id = 1; id <= 50; id++) {
        beginRequest(writer, KIND.predict, 0, id, PREAMBLE)
        writer.key('1-U')
        writer.key('1-U')
        writer.end(1)
      }
    })
    for (let id = 1; id <= 50; id++) expect((await client.next())?.requestId).toBe(id)
  })

  it('answers a later request while an earlier one waits', async () => {
    const client = await served.start()
    const gate = Promise.withResolvers<void>()
    served.backend.gate = gate.promise
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.values, 0, 1, PREAMBLE)
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
    const client = await served.start()
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.rows, 0, 1, { ...PREAMBLE, state: 'NOPE' })
      writer.key('x')
      writer.end(1)
      writer.begin(KIND.ping, 0, 2)
      writer.end(0)
    })
    const failed = await client.next()
    expect(failed?.requestId).toBe(1)
    expect(readErrorFrame(failed!).code).toBe('UNKNOWN_STATE')
    expect((await client.next())?.requestId).toBe(2)
    expect(served.metrics.snapshot()).toMatchObject({
      'query.numErrors.UNKNOWN_STATE': 1,
      'query.numRequests.rows': 1,
      'query.numRequests.ping': 1,
    })
  })

  it('closes after broken framing; its last frame is the error', async () => {
    const client = await served.start()
    await client.hello()
    client.send((writer) => writer.uint32(0))
    const last = await client.next()
    expect(last?.requestId).toBe(0)
    expect(readErrorFrame(last!).code).toBe('PROTOCOL_ERROR')
    expect(await client.next()).toBeUndefined()
  })

  it('answers a malformed request with a typed error, and goes on', async () => {
    const client = await served.start()
    await client.hello()
    const bounded = { ...PREAMBLE, consistency: { level: 'bounded', maxAgeMs: -1 } as const }
    client.send((writer) => {
      writer.begin(0x44, 0, 9)
      writer.end(0)
      beginRequest(writer, KIND.rows, 0, 10, bounded)
      writer.key('a')
      writer.end(1)
      beginRequest(writer, KIND.predict, 0, 11, PREAMBLE)
      writer.key('a')
      writer.end(65_535)
      beginRequest(writer, KIND.topK, 0, 12, PREAMBLE)
      writer.end(1)
      writer.begin(KIND.ping, 0, 13)
      writer.end(0)
    })
    for (const id of [9, 10, 11, 12]) {
      const frame = (await client.next())!
      expect([frame.requestId, readErrorFrame(frame).code]).toEqual([id, 'PROTOCOL_ERROR'])
    }
    expect((await client.next())?.requestId).toBe(13)
  })

  it('closes a connection whose request has id 0, which no answer can name', async () => {
    const client = await served.start()
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.rows, 0, 0, PREAMBLE)
      writer.end(0)
    })
    expect(readErrorFrame((await client.next())!).code).toBe('PROTOCOL_ERROR')
    expect(await client.next()).toBeUndefined()
  })

  it('answers a request for no rows with an empty frame', async () => {
    const client = await served.start()
    await client.hello()
    for (const kind of [KIND.rows, KIND.predict, KIND.values]) {
      client.send((writer) => {
        beginRequest(writer, kind, 0, kind, { ...PREAMBLE, state: 'ALS_MODEL' })
        writer.end(0)
      })
      expect(await client.next()).toMatchObject({ kind: kind + 0x80, requestId: kind, count: 0 })
    }
  })

  it('refuses a query vector and sparse values that are not finite', async () => {
    const client = await served.start()
    await client.hello()
    client.send((writer) => {
      beginRequest(writer, KIND.topK, REQUEST_FLAG.vector, 1, PREAMBLE)
      writer.uint16(3)
      writer.key('')
      writer.uint16(0)
      writer.uint32(1)
      writer.float32(Number.NaN)
      writer.end(1)
      beginRequest(writer, KIND.sparseDot, 0, 2, PREAMBLE)
      writer.uint32(1)
      writer.uint32(7)
      writer.float32(Number.POSITIVE_INFINITY)
      writer.end(1)
    })
    for (const id of [1, 2]) {
      const frame = (await client.next())!
      expect([frame.requestId, readErrorFrame(frame).code]).toEqual([id, 'INVALID_ARGUMENT'])
    }
  })

  it('refuses a frame limit above 64 MiB', async () => {
    const client = await served.start()
    client.send((writer) => {
      const versions = { minVersion: 1, maxVersion: 1, maxFrameBytes: 2 ** 32 - 1 }
      writeHello(writer, { ...versions, token: '', job: '', client: 'raw' })
    })
    expect(readErrorFrame((await client.next())!).code).toBe('PROTOCOL_ERROR')
  })

  it('keeps the frame limit of the client: an answer that does not fit fails its request', async () => {
    const client = await served.start()
    client.send((writer) => {
      const versions = { minVersion: 1, maxVersion: 1, maxFrameBytes: 4096 }
      writeHello(writer, { ...versions, token: '', job: '', client: 'raw' })
    })
    await client.next()
    client.send((writer) => {
      beginRequest(writer, KIND.predict, REQUEST_FLAG.envelope, 1, PREAMBLE)
      for (let i = 0; i < 400; i++) writer.key('a')
      writer.end(200)
      writer.begin(KIND.ping, 0, 2)
      writer.end(0)
    })
    const failed = (await client.next())!
    expect([failed.requestId, readErrorFrame(failed).code]).toEqual([1, 'FRAME_TOO_LARGE'])
    expect((await client.next())?.requestId).toBe(2)
  })

  it('keeps it for packed sparse products, too', async () => {
    const client = await served.start()
    client.send((writer) => {
      const versions = { minVersion: 1, maxVersion: 1, maxFrameBytes: 4096 }
      writeHello(writer, { ...versions, token: '', job: '', client: 'raw' })
    })
    await client.next()
    const products = (id: number, count: number): void =>
      client.send((writer) => {
        beginRequest(writer, KIND.sparseDot, REQUEST_FLAG.packed, id, PREAMBLE)
        const vector = { ids: Uint32Array.of(0), values: Float32Array.of(1) }
        for (let i = 0; i < count; i++) writeSparseVector(writer, vector, false)
        writer.end(count)
      })
    products(1, 300)
    const failed = (await client.next())!
    expect([failed.requestId, readErrorFrame(failed).code]).toEqual([1, 'FRAME_TOO_LARGE'])
    products(2, 200)
    const answer = (await client.next())!
    expect([answer.requestId, answer.kind]).toEqual([2, KIND.sparseDot + 0x80])
  })
})
