import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../src/client/index.ts'
import { WeirError } from '../../src/core/errors.ts'
import { shareAccess } from '../../src/http/access/control.ts'
import { QueryServer } from '../../src/serving/server/query-server.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { freePorts } from '../services/free-port.ts'
import { TestedClient } from './tested-client.ts'

let tested: TestedClient

beforeEach(() => {
  tested = new TestedClient()
})

afterEach(() => tested.close())

/** A bootstrap port, and the port of a query thread that takes connections but no frames. */
async function besideSilentThread() {
  const silent = createServer((socket) => void socket.on('error', () => {}))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  tested.cleanups.push(async () => void silent.close())
  const { port } = silent.address() as AddressInfo
  const server = new QueryServer(tested.backend)
  const bootstrapPort = await server.listen()
  tested.cleanups.push(() => server.close())
  return { silent, port, bootstrapPort }
}

describe('the connections of a client', () => {
  it('say that a port speaks TLS where plain was asked for, and the reverse', async () => {
    const encrypted = createTlsServer({}, () => {})
    encrypted.on('tlsClientError', () => {})
    encrypted.listen(0, '127.0.0.1')
    await once(encrypted, 'listening')
    tested.cleanups.push(async () => void encrypted.close())
    const { port } = encrypted.address() as AddressInfo
    await expect(WeirClient.connect({ port })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/if the port speaks TLS, ask for it with tls \(--query-tls/),
    })
    const server = new QueryServer(tested.backend)
    const plain = await server.listen()
    tested.cleanups.push(() => server.close())
    await expect(WeirClient.connect({ port: plain, tls: {} })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('it speaks plain, and TLS was asked for; leave out tls'),
    })
  })

  it('wait for a job that opens its port later, if asked to, and until the deadline', async () => {
    const [port] = await freePorts(1)
    const early = WeirClient.connect({ port: port!, waitForJob: true, deadlineMs: 30_000 })
    await expect(WeirClient.connect({ port: port! })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const late = WeirClient.connect({ port: port!, waitForJob: true, deadlineMs: 200 })
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    tested.backend.endpoints = [{ server: 'query-0', host: '', port: port! }]
    const server = new QueryServer(tested.backend, { ports: [port!] })
    await server.listen()
    tested.cleanups.push(() => server.close())
    const client = await early
    expect(client.routing.states.length).toBeGreaterThan(0)
    await client.close()
  })

  it.each([
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'it answered in HTTP'],
    ['no frames', 'WELCOME stranger, welcome', 'its answer is not a frame'],
  ])('names a port that speaks %s, and what it spoke', async (_, answer, why) => {
    const other = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(answer))
    })
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    tested.cleanups.push(async () => void other.close())
    const { port } = other.address() as AddressInfo
    await expect(WeirClient.connect({ port })).rejects.toMatchObject({
      code: 'PROTOCOL_ERROR',
      message: `127.0.0.1:${port} does not speak Weir's query protocol: ${why}; check host, port and TLS`,
    })
  })

  it('names a port that is silent', async () => {
    const other = createServer((socket) => void socket.on('error', () => {}))
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    tested.cleanups.push(async () => void other.close())
    const { port } = other.address() as AddressInfo
    await expect(WeirClient.connect({ port, deadlineMs: 30 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(`127.0.0.1:${port}.*does it speak Weir's query protocol`),
    })
  })

  it('is refused without the token', async () => {
    await expect(tested.start({ access: shareAccess([], 'secret') })).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    const client = await tested.start({ access: shareAccess([], 'secret') }, { token: 'secret' })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('is refused by the server of another job', async () => {
    await expect(tested.start({}, { job: 'svm' })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('fails at once where no server listens', async () => {
    const server = new QueryServer(tested.backend)
    const port = await server.listen()
    await server.close()
    await expect(WeirClient.connect({ port })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      details: { host: '127.0.0.1', port },
    })
  })

  it('fails at its deadline, with the address, where a query thread takes no frames', async () => {
    const { silent, port, bootstrapPort } = await besideSilentThread()
    tested.backend.endpoints = [{ server: 'query-0', host: '', port }]
    // The time stops before the routing table arrives: each step alone would have the whole deadline.
    const clock = new ManualClock()
    const connecting = WeirClient.connect({ port: bootstrapPort, deadlineMs: 100, clock })
    connecting.catch(() => {})
    clock.advance(50)
    await once(silent, 'connection')
    clock.advance(50)
    await expect(connecting).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(`127.0.0.1:${bootstrapPort}.*check that the job runs`),
    })
  })

  it('are enough at the deadline when one of two query threads takes no frames', async () => {
    const { port, bootstrapPort } = await besideSilentThread()
    tested.backend.endpoints = [
      { server: 'query-0', host: '', port },
      { server: 'query-1', host: '', port: bootstrapPort },
    ]
    // All of it passes: the other thread must have taken the frames before.
    const client = await WeirClient.connect({ port: bootstrapPort, deadlineMs: 1_000 })
    tested.cleanups.unshift(() => client.close())
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('name the port and what to check in a call after the server is gone', async () => {
    const client = await tested.start()
    const { port } = tested.backend.endpoints[0]!
    await tested.cleanups.pop()!()
    const call = client.predict('ALS_MODEL', '1-U', '7-I', { deadlineMs: 60 })
    await expect(call).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: expect.stringMatching(`127.0.0.1:${port}.*check that the job runs`),
      details: { host: '127.0.0.1', port, lastError: 'UNAVAILABLE' },
    })
  })

  it('survives a restart of its server', async () => {
    const client = await tested.start()
    const { port } = tested.backend.endpoints[0]!
    await tested.cleanups.pop()!()
    const call = client.predict('ALS_MODEL', '1-U', '7-I')
    const again = new QueryServer(tested.backend, { ports: [port] })
    await again.listen()
    tested.cleanups.push(() => again.close())
    expect((await call).score).toBe(11)
  })

  it('fetches the routing table on request, although no answer has named another epoch', async () => {
    const client = await tested.start()
    const second = new QueryServer(tested.backend, { server: 'query-1' })
    const port = await second.listen()
    tested.cleanups.push(() => second.close())
    tested.backend.endpoints = [...tested.backend.endpoints, { server: 'query-1', host: '', port }]
    const tables = await Promise.all([client.refreshRouting(), client.refreshRouting()])
    expect(tables.map(({ endpoints }) => endpoints.length)).toEqual([2, 2])
    expect(client.routing.endpoints.length).toBe(2)
  })

  it('fetches the routing table again when an answer has another epoch', async () => {
    const client = await tested.start()
    const second = new QueryServer(tested.backend, { server: 'query-1' })
    const port = await second.listen()
    tested.cleanups.push(() => second.close())
    tested.backend.endpoints = [...tested.backend.endpoints, { server: 'query-1', host: '', port }]
    tested.backend.epoch = 2
    await client.predict('ALS_MODEL', '1-U', '7-I')
    await expect.poll(() => client.routing.endpoints.length).toBe(2)
    await expect.poll(() => second.connectionCount).toBe(1)
  })

  it('asks the server that a NOT_OWNER answer names', async () => {
    const client = await tested.start()
    const { port } = tested.backend.endpoints[0]!
    const error = new WeirError('NOT_OWNER', 'ask there', {
      details: { endpoint: `127.0.0.1:${port}` },
    })
    tested.backend.slowKeys.add('1-U')
    tested.backend.failing.set('1-U', { error, times: 1 })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })
})
