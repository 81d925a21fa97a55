import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RestServer, type RestServerOptions } from '../../../src/cluster/rest/server/server.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { AccessControl, OPEN_ACCESS } from '../../../src/http/access/control.ts'
import { FakeJob, fakeCluster } from '../../cluster/rest/fake-cluster.ts'
import { GatewayWorld } from '../../gateway/world.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { hasOpenssl, writeCertificates } from '../../services/certificates.ts'

const start = (tls?: RestServerOptions['tls']): Promise<RestServer> =>
  RestServer.start({
    cluster: fakeCluster([new FakeJob()]),
    access: new AccessControl(OPEN_ACCESS, systemClock),
    clock: systemClock,
    host: '127.0.0.1',
    ports: { first: 0, last: 0 },
    tls,
    compilers: SHARED_COMPILERS,
  })

/** Connections that each send `text` and nothing else. */
async function hold(port: number, count: number, text: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  for (const socket of sockets) socket.on('error', () => {}).resume()
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  if (text !== '') for (const socket of sockets) socket.write(text)
  return sockets
}

/** Resolves when all are closed, which takes 5 s and the look of the next second. */
const allClosed = (sockets: readonly Socket[]): Promise<unknown> => {
  const areClosed = (): boolean => sockets.every(({ closed }) => closed)
  return until('all are closed', areClosed, { everyMs: 50 })
}

const withTls = await hasOpenssl()

describe('a REST port', () => {
  it.each([
    ['silent connections', ''],
    ['half heads', 'GET /overview HTTP/1.1\r\nHo'],
  ])('answers while 600 %s are held, and closes them', async (_, text) => {
    await using rest = await start()
    const sockets = await hold(rest.port, 600, text)
    for (let i = 0; i < 5; i++) {
      const answer = await fetch(`${rest.url}/overview`, { headers: { connection: 'close' } })
      expect(answer.status).toBe(200)
    }
    await allClosed(sockets)
  })

  it(
    'answers over TLS while 600 handshakes are held',
    needs(withTls, 'openssl makes no certificates here'),
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'weir-rest-tls-'))
      await writeCertificates(folder)
      const [cert, key, ca] = await Promise.all(
        ['server.crt', 'server.key', 'ca.crt'].map((name) => readFile(join(folder, name), 'utf8')),
      )
      await rm(folder, { recursive: true })
      await using rest = await start({ cert: cert!, key: key! })
      const { port } = rest
      const sockets = await hold(port, 600, '')
      const options = { host: '127.0.0.1', port, path: '/overview', agent: false, ca }
      const [answer] = await once(request(options).end(), 'response')
      expect(answer.statusCode).toBe(200)
      answer.resume()
      await allClosed(sockets)
    },
  )
})

describe('a gateway', () => {
  it.each([true, false])(
    'answers while more silent connections are held than it has places: hot %s',
    async (isHot) => {
      const app = await new GatewayWorld().open({}, { maxConnections: 100, isHot })
      await app.listen({ host: '127.0.0.1', port: 0 })
      const { port } = app.server.address() as AddressInfo
      const sockets = [...(await hold(port, 300, '')), ...(await hold(port, 300, 'GET /v1'))]
      const url = `http://127.0.0.1:${port}/v1/predict/1/50`
      for (let i = 0; i < 5; i++) {
        expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(200)
      }
      await allClosed(sockets)
      await app.close()
    },
  )
})
