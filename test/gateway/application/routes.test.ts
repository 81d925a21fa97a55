import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { ApplicationRoute } from '../../../src/gateway/port/application.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { outcomeOf, walkersOf } from '../../http/access/walk.ts'
import { GatewayWorld } from '../world.ts'

/** 7 as MessagePack. */
const SEVEN = Uint8Array.of(7)

const routes: readonly ApplicationRoute[] = [
  {
    path: '/app/clicks/:page',
    states: ['COUNTS'],
    summary: 'Clicks of a page',
    query: { times: { type: 'integer', minimum: 1, default: 1 } },
    answer: {
      type: 'object',
      properties: { page: { type: 'string' }, clicks: { type: 'integer' } },
    },
    async respond({ params, query }, states) {
      const page = params['page']!
      const clicks = await states.get<number>('COUNTS', page)
      if (clicks === undefined) return undefined
      return { page, clicks: clicks * (query['times'] as number), secret: 'not in the schema' }
    },
  },
  {
    path: '/app/rows',
    states: ['ALS_MODEL'],
    summary: 'Keys of rows of a prefix',
    query: { prefix: { type: 'string' } },
    async respond({ query }, states) {
      const keys: string[] = []
      const prefix = query['prefix']
      const range = typeof prefix === 'string' ? { prefix } : {}
      for await (const { key } of states.entries<string, Float32Array>('ALS_MODEL', range)) {
        keys.push(key)
      }
      return keys
    },
  },
  {
    path: '/app/other-state',
    states: ['COUNTS'],
    summary: 'Reads what it has not named',
    respond: (_, states) => states.get('ALS_MODEL', '1-U'),
  },
  {
    path: '/app/broken',
    states: ['COUNTS'],
    summary: 'Throws',
    respond: () => {
      throw new TypeError('it is not there')
    },
  },
]

const opened = async () => {
  const world = new GatewayWorld()
  world.model.putCount('home', SEVEN)
  return { world, app: await world.open({ application: routes }) }
}

describe('the paths of an application', () => {
  it('answer with what their functions make of states', async () => {
    const { app } = await opened()
    expect((await app.inject('/app/clicks/home')).json()).toEqual({ page: 'home', clicks: 7 })
    expect((await app.inject('/app/clicks/home?times=3')).json()).toEqual({
      page: 'home',
      clicks: 21,
    })
    await app.close()
  })

  it('read entries by prefix', async () => {
    const { world, app } = await opened()
    for (let id = 0; id < 30; id++) world.model.put(`x${id}-U`, [1, 2, 3, 4])
    const { body } = await app.inject('/app/rows?prefix=x')
    const wanted = Array.from({ length: 30 }, (_, id) => `x${id}-U`)
    expect(JSON.parse(body)).toEqual(wanted.toSorted())
    expect((await app.inject('/app/rows?prefix=MEAN')).json()).toEqual(['MEAN-I', 'MEAN-U'])
    await app.close()
  })

  it('refuse what they have not declared, and say what failed', async () => {
    const { app } = await opened()
    const cases: readonly (readonly [string, number, string])[] = [
      ['/app/clicks/away', 404, 'no answer for these parameters'],
      ['/app/clicks/home?times=0', 400, 'times'],
      ['/app/clicks/home?tims=1', 400, 'times'],
      ['/app/other-state', 500, 'reads "ALS_MODEL", which its "states" do not name'],
      ['/app/broken', 500, 'the function of the route /app/broken failed: it is not there'],
      ['/app/none', 404, ''],
    ]
    for (const [url, status, message] of cases) {
      const { statusCode, body } = await app.inject(url)
      expect([url, statusCode]).toEqual([url, status])
      expect(body).toContain(message.replaceAll('"', '\\"'))
    }
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      expect((await app.inject({ method, url: '/app/clicks/home' })).statusCode).toBe(405)
    }
    await app.close()
  })

  it('are in the OpenAPI document with their schemas', async () => {
    const { app } = await opened()
    await app.ready()
    const { paths } = app.swagger() as unknown as { paths: Record<string, { get: object }> }
    expect(paths['/app/clicks/{page}']!.get).toMatchObject({
      summary: 'Clicks of a page',
      tags: ['application'],
      parameters: expect.arrayContaining([
        expect.objectContaining({ name: 'page', in: 'path', required: true }),
        expect.objectContaining({ name: 'times', in: 'query' }),
      ]),
      responses: { 200: { content: { 'application/json': { schema: routes[0]!.answer } } } },
    })
    await app.close()
  })

  it('answer whom may read all their states, and no one else', async () => {
    const access = new AccessControl(shareAccess([]), systemClock)
    const app = await new GatewayWorld().open({ application: routes }, { access })
    const needs = { role: 'read', on: ['state:ALS_MODEL'] } as const
    const found: string[] = []
    for (const { title, token, expected } of walkersOf(needs, access, systemClock.nowMs())) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const { statusCode } = await app.inject({ url: '/app/rows', headers })
      if (outcomeOf(statusCode) !== expected) found.push(`${title}: ${statusCode}`)
    }
    expect(found).toEqual([])
    await app.close()
  })
})
