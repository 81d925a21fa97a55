import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/clock.ts'
import { HttpConnections } from '../../../../src/testing/load/http/connections.ts'
import { requestWriter } from '../../../../src/testing/load/http/request.ts'
import { needs } from '../../../run/needs.ts'

/** Key and certificate of 127.0.0.1; undefined where there is no openssl. */
const pem = await promisify(execFile)('openssl', [
  ...['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
  ...['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', '-', '-out', '-'],
]).then(
  ({ stdout }) => stdout,
  () => undefined,
)

let server: Pick<Server, 'closeAllConnections' | 'close'> & { address(): unknown }
let open: HttpConnections

async function start(listener: RequestListener): Promise<number> {
  const plain = createServer(listener)
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  server = plain
  return (server.address() as AddressInfo).port
}

function connect(port: number, maxConnections = 8, timeoutMs = 10_000): HttpConnections {
  const address = { host: '127.0.0.1', port }
  open = new HttpConnections({ address, maxConnections, timeoutMs, clock: systemClock })
  return open
}

const get = requestWriter({ method: 'GET', host: 'x', headers: {} })
const post = requestWriter({ method: 'POST', host: 'x', headers: { 'content-type': 'a/b' } })

afterEach(async () => {
  open?.[Symbol.dispose]()
  server?.closeAllConnections()
  server?.close()
})

describe('HttpConnections', () => {
  it('sends path, headers and body, and uses its connections again', async () => {
    const sockets = new Set<unknown>()
    const port = await start(async (request, response) => {
      sockets.add(request.socket)
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`)
    })
    const connections = connect(port)
    for (let i = 0; i < 5; i++) {
      const { status, body } = await connections.ask(post(`/a/${i}`, 'größer'))
      expect([status, body.toString()]).toEqual([200, `POST /a/${i} a/b größer`])
    }
    expect(sockets.size).toBe(1)
    await Promise.all(Array.from({ length: 20 }, () => connections.ask(get('/'))))
    expect(sockets.size).toBe(8)
  })

  it('opens a connection again that the server has closed after an answer', async () => {
    const port = await start((_, response) => {
      response.setHeader('connection', 'close')
      response.end('done')
    })
    const connections = connect(port, 1)
    for (let i = 0; i < 3; i++) {
      expect((await connections.ask(get('/'))).body.toString()).toBe('done')
    }
  })

  it(
    'speaks HTTPS, and refuses a certificate that it does not trust',
    needs(pem, 'openssl makes no certificates here'),
    async () => {
      const secure = createTlsServer({ key: pem!, cert: pem! }, (_, response) =>
        response.end('safe'),
      )
      secure.listen(0, '127.0.0.1')
      await once(secure, 'listening')
      server = secure
      const { port } = secure.address() as AddressInfo
      const over = (tls: { ca?: string }) => {
        open = new HttpConnections({
          address: { host: '127.0.0.1', port, tls },
          maxConnections: 1,
          timeoutMs: 10_000,
          clock: systemClock,
        })
        return open.ask(get('/'))
      }
      expect((await over({ ca: pem! })).body.toString()).toBe('safe')
      open[Symbol.dispose]()
      await expect(over({})).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('self-signed certificate'),
      })
      // Plain HTTP to the same port is no HTTP answer.
      await expect(connect(port).ask(get('/'))).rejects.toMatchObject({
        code: expect.stringMatching(/^(PROTOCOL_ERROR|UNAVAILABLE)$/),
      })
    },
  )

  it('rejects with UNAVAILABLE when nothing listens, and when the server ends the connection', async () => {
    const closed = createTcpServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    await expect(connect(port).ask(get('/'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    const rude = await start((request) => request.socket.destroy())
    await expect(connect(rude).ask(get('/'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('rejects with DEADLINE_EXCEEDED without an answer in time, also while all connections are in use', async () => {
    const port = await start(() => undefined)
    const connections = connect(port, 1, 50)
    const asked = [connections.ask(get('/')), connections.ask(get('/'))]
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
    for (const { reason } of outcomes as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    }
  })
})
