import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { GatewayOptions } from '../../../src/gateway/gateway.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { GatewayWorld } from '../world.ts'

const APP = 'https://app.example'
const OTHER = 'https://other.example'

const admin = tokenOf(1, { role: 'admin' })
const access = new AccessControl(shareAccess([admin.record]), systemClock)

type Method = 'GET' | 'POST' | 'OPTIONS' | 'DELETE'

/** Sends requests of a page of another origin to a gateway. */
async function open(options: Partial<GatewayOptions> = { allowedOrigins: [APP] }) {
  const world = new GatewayWorld()
  const app = await world.open({}, options)
  const send = async (method: Method, url: string, fields: Record<string, string> = {}) => {
    const page = { origin: APP, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }
    const answer = await app.inject({ method, url, headers: { ...page, ...fields } })
    return { answer, allowed: answer.headers['access-control-allow-origin'] }
  }
  const ask = (origin: string, url = '/v2/models/ALS/infer') =>
    send('OPTIONS', url, {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,inference-header-content-length',
    })
  return { world, send, ask }
}

describe('a page of an origin that is allowed', () => {
  it('may send any method and field, and is told so before any token', async () => {
    const { ask } = await open({ allowedOrigins: [OTHER, APP], access })
    const { answer } = await ask(APP)
    expect(answer.statusCode).toBe(204)
    expect(answer.body).toBe('')
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': 'authorization,inference-header-content-length',
      'access-control-max-age': '600',
      vary: 'origin, access-control-request-headers',
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
  })

  it('reads answers and their fields, and changes what others may change', async () => {
    const { world, send } = await open()
    const { answer, allowed } = await send('GET', '/v1/predict/1/50')
    expect([answer.statusCode, allowed]).toEqual([200, APP])
    expect(String(answer.headers['access-control-expose-headers']).split(', ')).toEqual([
      'inference-header-content-length',
      'weir-session',
      'retry-after',
      'www-authenticate',
    ])
    expect((await send('POST', '/pref/1/50')).answer.statusCode).toBe(200)
    expect(world.stored).toHaveLength(1)
  })

  it('reads errors, too: of paths, methods, tokens and requests', async () => {
    const { send } = await open({ allowedOrigins: [APP], access })
    const token = { authorization: `Bearer ${admin.text}` }
    const statuses: number[] = []
    for (const [method, url, headers] of [
      ['GET', '/v1/predict/1/50', {}],
      ['GET', '/nothing', token],
      ['DELETE', '/v1/states', token],
      ['POST', '/v2/models/NONE/infer', token],
    ] as const) {
      const { answer, allowed } = await send(method, url, headers)
      expect(allowed).toBe(APP)
      statuses.push(answer.statusCode)
    }
    expect(statuses).toEqual([401, 404, 405, 404])
  })

  it('has answers that are kept for its origin only, beside what else they depend on', async () => {
    const { send } = await open()
    expect((await send('GET', '/v1/states')).answer.headers.vary).toBe('origin')
    // Those of another origin, too: a cache must not give them to this page.
    const other = await send('GET', '/v1/states', { origin: OTHER })
    expect(other.answer.headers.vary).toBe('origin')
    const list = await send('GET', '/recommend/1')
    expect(list.answer.headers.vary).toBe('origin, accept')
  })

  it('still names this machine on a loopback port', async () => {
    const { send } = await open({ allowedOrigins: [APP], onlyLoopbackNames: true })
    const { answer } = await send('GET', '/v1/states', { host: 'evil.example:8080' })
    expect(answer.statusCode).toBe(403)
    expect((await send('GET', '/v1/states', { host: '127.0.0.1' })).answer.statusCode).toBe(200)
  })
})

describe('a page of an origin that is not allowed', () => {
  it.each([
    ['another one', OTHER],
    ['one that begins as it does', `${APP}.evil.example`],
    ['the same name without TLS', 'http://app.example'],
    ['another port', `${APP}:8443`],
    ['a sandbox', 'null'],
  ])('such as %s is refused, with the remedy', async (_, origin) => {
    const { world, send, ask } = await open()
    for (const { answer, allowed } of [
      await ask(origin),
      await send('POST', '/pref/1/50', { origin }),
    ]) {
      expect([answer.statusCode, allowed]).toEqual([403, undefined])
      expect(answer.json()).toMatchObject({
        code: 'ACCESS_DENIED',
        detail: expect.stringContaining(
          `pages of ${origin} in, start the server with --allow-origin`,
        ),
      })
    }
    expect(world.stored).toEqual([])
    expect((await send('GET', '/v1/states', { origin })).allowed).toBeUndefined()
  })

  it('is every one by default', async () => {
    const { ask, send } = await open({})
    expect((await ask(APP)).answer.statusCode).toBe(403)
    const { answer, allowed } = await send('GET', '/v1/states')
    expect([answer.statusCode, allowed, answer.headers.vary]).toEqual([200, undefined, undefined])
  })
})

it('every origin may be allowed, a sandbox included', async () => {
  const { ask, send } = await open({ allowedOrigins: ['*'] })
  expect((await ask('null')).allowed).toBe('*')
  const { answer, allowed } = await send('GET', '/v1/states', { origin: OTHER })
  expect([allowed, answer.headers.vary]).toEqual(['*', undefined])
})

it('a request with the method OPTIONS that asks nothing for a page has its usual answer', async () => {
  const { send } = await open()
  expect((await send('OPTIONS', '/v1/states')).answer.statusCode).toBe(405)
})
