import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { channels, WeirClient } from '../../../src/client/index.ts'
import { QueryServer } from '../../../src/serving/server/query-server.ts'
import { pause } from '../../run/pause.ts'
import { untilPasses } from '../../run/until.ts'
import { TcpProxy } from '../../services/tcp-proxy.ts'
import { FakeQueryBackend } from '../../serving/port/fake-query-backend.ts'

let backend: FakeQueryBackend
const cleanups: (() => Promise<void>)[] = []

/** Starts a query server over the rows of one user and one item; returns its port. */
async function serve(): Promise<number> {
  const server = new QueryServer(backend)
  const port = await server.listen()
  cleanups.push(() => server.close())
  backend.endpoints = [{ server: 'query-0', host: '', port }]
  return port
}

beforeEach(() => {
  backend = new FakeQueryBackend()
  backend.rows.set('1-U', Float32Array.of(1, 2))
  backend.rows.set('7-I', Float32Array.of(3, 4))
})

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

describe('a client', () => {
  it('abandons a connection whose server is silent but has not closed it', async () => {
    const port = await serve()
    // One port on two addresses: the routing table names the port only.
    await using proxy = await TcpProxy.start(port, { host: '127.0.0.2', port })
    const client = await WeirClient.connect({ host: '127.0.0.2', port })
    cleanups.unshift(() => client.close())
    const predict = (options = {}) => client.predict('ALS_MODEL', '1-U', '7-I', options)
    await predict()
    proxy.freeze()
    await expect(predict({ deadlineMs: 300 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await untilPasses(() => predict())
  })

  it('keeps a connection whose server is only slow to answer', async () => {
    const client = await WeirClient.connect({ port: await serve() })
    cleanups.unshift(() => client.close())
    const lost = vi.fn()
    channels.disconnected.subscribe(lost)
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    backend.slowKeys.add('1-U')
    const failure = await client
      .predict('ALS_MODEL', '1-U', '7-I', { deadlineMs: 100 })
      .catch((e) => e)
    expect(failure.code).toBe('DEADLINE_EXCEEDED')
    // The client asks a silent server after two seconds whether it is alive.
    await pause(2100, 'longer than the silence after a ping that counts as a loss')
    expect(lost).not.toHaveBeenCalled()
    channels.disconnected.unsubscribe(lost)
    gate.resolve()
  })
})
