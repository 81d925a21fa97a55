import { describe, expect, it } from 'vitest'
import { GatewayWorld } from '../world.ts'

const HOST = 'localhost:8080'

/** Sends requests with such header fields to a gateway without tokens. */
async function open(onlyLoopbackNames = true) {
  const world = new GatewayWorld()
  const app = await world.open({}, { onlyLoopbackNames })
  const send = async (method: 'GET' | 'POST', url: string, headers: Record<string, string>) =>
    await app.inject({ method, url, headers: { host: HOST, ...headers } })
  return { world, send }
}

describe('a gateway without tokens', () => {
  it.each([
    ['origin', { origin: 'http://evil.example' }],
    ['site', { 'sec-fetch-site': 'cross-site', origin: `http://${HOST}` }],
    ['port', { origin: 'http://localhost:9000' }],
    ['origin of a sandbox', { origin: 'null' }],
  ])('changes nothing for a page of another %s', async (_, headers) => {
    const { world, send } = await open()
    // The requests that a page of any site can send without a question of the browser.
    for (const url of ['/pref/1/50', '/v1/models/rollback', '/v2/repository/models/M/load']) {
      const answer = await send('POST', url, headers)
      expect(answer.statusCode).toBe(403)
      expect(answer.json()).toMatchObject({ code: 'ACCESS_DENIED', status: 403 })
    }
    expect(world.stored).toEqual([])
  })

  it.each([
    ['its own page', { origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' }],
    ['its own page over plain HTTP', { origin: `http://${HOST}` }],
    [
      'its own page behind a proxy',
      { origin: 'https://a.example', 'sec-fetch-site': 'same-origin' },
    ],
    ['a program', {}],
  ])('takes a rating of %s', async (_, headers) => {
    const { world, send } = await open()
    expect((await send('POST', '/pref/1/50', headers)).statusCode).toBe(200)
    expect(world.stored).toHaveLength(1)
  })

  it('on a loopback port answers only under a name of this machine', async () => {
    const { send } = await open()
    const host = 'evil.example:8080'
    expect((await send('GET', '/v1/states', { host })).statusCode).toBe(403)
    expect((await send('POST', '/pref/1/50', { host, origin: `http://${host}` })).statusCode).toBe(
      403,
    )
    expect((await send('GET', '/v1/states', {})).statusCode).toBe(200)
    const other = await open(false)
    expect((await other.send('GET', '/v1/states', { host })).statusCode).toBe(200)
  })
})
