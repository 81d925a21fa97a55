import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { GatewayWorld } from '../world.ts'

const reader = tokenOf(1)
const writer = tokenOf(2, { role: 'write' })
const slow = tokenOf(3, { limit: { perSecond: 0.1, burst: 1 } })

async function open() {
  const records = [reader, writer, slow].map(({ record }) => record)
  const access = new AccessControl(shareAccess(records), systemClock)
  const world = new GatewayWorld()
  const app = await world.open({}, { access })
  const ask = async (method: 'GET' | 'POST', url: string, token?: string, payload?: object) =>
    await app.inject({
      method,
      url,
      ...(payload === undefined ? {} : { payload }),
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    })
  return { world, ask }
}

describe('a gateway with tokens', () => {
  it('answers a request whose token may read', async () => {
    const { ask } = await open()
    expect((await ask('GET', '/v1/predict/1/50', reader.text)).statusCode).toBe(200)
    const pairs = [['1', '50']]
    expect((await ask('POST', '/v1/predict', reader.text, { pairs })).statusCode).toBe(200)
  })

  it.each(['/v1/predict/1/50', '/v1/states', '/recommend/1', '/v2/models/ALS_MODEL', '/nope'])(
    'refuses GET %s without a token',
    async (url) => {
      const { ask } = await open()
      const answer = await ask('GET', url)
      expect(answer.statusCode).toBe(401)
      expect(answer.headers['www-authenticate']).toBe('Bearer')
      expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
    },
  )

  it('stores observations only of a token that may write', async () => {
    const { world, ask } = await open()
    const observation = { user: '1', item: '2', rating: 3 }
    expect((await ask('POST', '/v1/observe', reader.text, observation)).statusCode).toBe(403)
    expect((await ask('POST', '/pref/1/2', reader.text)).statusCode).toBe(403)
    expect(world.stored).toEqual([])
    expect((await ask('POST', '/v1/observe', writer.text, observation)).statusCode).toBe(200)
    expect(world.stored).toHaveLength(1)
  })

  it('refuses a wrong token without saying what is wrong', async () => {
    const { ask } = await open()
    const wrong = `${reader.text.slice(0, -1)}${reader.text.endsWith('A') ? 'B' : 'A'}`
    expect((await ask('GET', '/v1/states', wrong)).statusCode).toBe(401)
  })

  it('says when a token that has used up its rate may ask again', async () => {
    const { ask } = await open()
    expect((await ask('GET', '/v1/states', slow.text)).statusCode).toBe(200)
    const limited = await ask('GET', '/v1/states', slow.text)
    expect(limited.statusCode).toBe(429)
    expect(Number(limited.headers['retry-after'])).toBeGreaterThanOrEqual(9)
    expect(limited.json()).toMatchObject({ status: 429, retryable: true })
  })

  it('lets probes and the page of the routes in without a token', async () => {
    const { ask } = await open()
    for (const url of [
      '/v1/health/live',
      '/v1/health/ready',
      '/v2/health/live',
      '/ready',
      '/docs/',
    ]) {
      expect((await ask('GET', url)).statusCode, url).toBe(200)
    }
  })
})
