import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { FakeJob, fakeApp, fakeCluster } from '../cluster/rest/fake-cluster.ts'
import { GatewayWorld } from '../gateway/world.ts'

const NO_CONTENT = "default-src 'none'; frame-ancestors 'none'"
const SAME = { 'x-content-type-options': 'nosniff', 'content-security-policy': NO_CONTENT }

const PORTS = [
  [
    'the REST interface',
    (hasTls: boolean) => fakeApp(fakeCluster([new FakeJob()]), { hasTls }),
    ['/overview', '/nope', '/openapi.json', '/jobs/x'],
  ],
  [
    'a gateway',
    (hasTls: boolean) =>
      new GatewayWorld().open({}, { isHot: false, ...(hasTls ? { tls: TLS } : {}) }),
    ['/v1/predict/1/50', '/nope', '/openapi.json', '/v1/states/NOPE', '/v1/health/live'],
  ],
] as const

/** Options of a port that encrypts; no connection is made, so that they need no certificate. */
const TLS = { cert: '', key: '' }

describe.each(PORTS)('%s', (_, open, paths) => {
  it('sends the same fields with every answer, errors too', async () => {
    const app = await open(false)
    for (const url of paths) {
      const { headers } = await app.inject({ url })
      expect(headers, url).toMatchObject(SAME)
      expect(headers['strict-transport-security']).toBeUndefined()
    }
    await app.close()
  })

  it('sends a page whose scripts are its own, and that no page may frame', async () => {
    const app = await open(false)
    const { headers, statusCode } = await app.inject({ url: '/docs' })
    expect(statusCode).toBe(200)
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      expect(policy).toContain(part)
    }
    expect(headers['referrer-policy']).toBe('no-referrer')
    await app.close()
  })

  it('with TLS asks browsers for nothing else, except for names of this machine', async () => {
    const app = await open(true)
    const field = async (host: string) =>
      (await app.inject({ url: paths[0], headers: { host } })).headers['strict-transport-security']
    expect(await field('localhost:8443')).toBeUndefined()
    expect(await field('127.0.0.1:8443')).toBeUndefined()
    // The REST interface of these tests refuses the name, with the same fields.
    expect(await field('weir.example.org')).toBe('max-age=31536000')
    await app.close()
  })
})

it('answers without a framework have the fields, too', async () => {
  const app = await new GatewayWorld().open()
  const url = new URL(await app.listen({ port: 0 }))
  const ask = async (request: string): Promise<string> => {
    const socket = connect(Number(url.port), url.hostname)
    socket.end(request)
    return await text(socket)
  }
  for (const request of [
    'GET /v1/predict/1/50 HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /v1/predict/nobody/50?state=NOPE HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'no request\r\n\r\n',
  ]) {
    const answer = await ask(request)
    expect(answer, request).toMatch(/^HTTP\/1\.1 \d{3} /)
    for (const [name, value] of Object.entries(SAME))
      expect(answer.toLowerCase(), request).toContain(`${name}: ${value}`)
  }
  await app.close()
})
