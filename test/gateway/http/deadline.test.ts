import { describe, expect, it } from 'vitest'
import type { ModelControl } from '../../../src/gateway/port/model-control.ts'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import { everyBody, validOf } from '../../http/every-body.ts'
import { everyOperation } from '../../http/every-operation.ts'
import { GatewayWorld } from '../world.ts'

const PLACES = {
  user: '1',
  item: '50',
  to: '50',
  state: 'ALS_MODEL',
  key: '1-U',
  model: 'ALS_MODEL',
}

/** Bodies that a schema does not say, by what the routes end with. */
const BODIES: readonly (readonly [RegExp, object])[] = [
  [/\/infer$/, { inputs: ['user', 'item'].map((name) => tensorOf(name)) }],
  [/\/generate(_stream)?$/, { text_input: 'a' }],
  [/\/json$/, { user: '1', item: '50' }],
]

function tensorOf(name: string): object {
  return { name, datatype: 'BYTES', shape: [1], data: ['1'] }
}

describe('a request with a deadline', () => {
  it('ends at it on every route, whatever the route waits for', async () => {
    const world = new GatewayWorld()
    const never = (): Promise<never> => new Promise(() => {})
    await using app = await world.open({
      observations: { topic: 'ratings', append: never, reachable: never },
      models: new Proxy({}, { get: () => never }) as never,
    })
    const headers = { 'weir-deadline-ms': '100' }
    const waiting = [
      { method: 'POST', url: '/v1/observe', payload: { user: '1', item: '5', rating: 1 } },
      { method: 'POST', url: '/pref/1/5', payload: '1' },
      { method: 'GET', url: '/v1/models/versions' },
    ] as const
    for (const request of waiting) {
      const answer = await app.inject({ ...request, headers })
      expect([request.url, answer.statusCode]).toEqual([request.url, 504])
      expect(answer.json()).toMatchObject({ code: 'DEADLINE_EXCEEDED', status: 504 })
    }
    const wrong = { 'weir-deadline-ms': 'soon' }
    expect((await app.inject({ url: '/v1/models/versions', headers: wrong })).statusCode).toBe(400)
  })

  it('ends at it on every operation of the document, when nothing that the gateway asks answers', async () => {
    const world = new GatewayWorld()
    const never = (): Promise<never> => new Promise(() => {})
    /** Each of its methods waits forever; it is no promise. */
    const silent = (known: object): object =>
      new Proxy(known, {
        get: (_, name) => (name === 'then' ? undefined : (Reflect.get(known, name) ?? never)),
      })
    const { states, ...routing } = world.routing()
    const histories = { ...states[0]!, name: 'KNOWN_ITEMS' }
    const known = { routing: { ...routing, states: [...states, histories] }, takesOwner: false }
    await using app = await world.open({
      state: silent(known) as ServedState,
      observations: { topic: 'ratings', append: never, reachable: never },
      models: silent({ model: 'ALS_MODEL' }) as ModelControl,
    })
    const bodies = await everyBody(app, PLACES)
    const samples = await everyOperation(app, PLACES)
    const asked = samples.filter((sample) => sample.headers.includes('weir-deadline-ms'))
    const answers = await Promise.all(
      asked.map(async ({ method, url }) => {
        const body = bodies.find((one) => one.url === url && one.method === method)
        const [, given] = BODIES.find(([ending]) => ending.test(url)) ?? []
        const payload = given ?? (body === undefined ? undefined : (validOf(body.schema) as object))
        const lines = url === '/ingest' ? { payload: '1,50,4' } : { payload: payload ?? '' }
        const headers = {
          'weir-deadline-ms': '100',
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...(url === '/ingest' ? { 'content-type': 'text/csv' } : {}),
        }
        // A model of a topic takes neither a text nor an object.
        const path = /\/(json|generate\w*)$/.test(url) ? url.replace('ALS_MODEL', 'mood') : url
        const { statusCode } = await app.inject({ method, url: path, headers, ...lines })
        return `${statusCode} ${method} ${url}`
      }),
    )
    expect(answers.filter((answer) => !answer.startsWith('504 '))).toEqual([])
    expect(answers.length).toBeGreaterThan(30)
  })

  it('is answered as always before it', async () => {
    await using app = await new GatewayWorld().open()
    const headers = { 'weir-deadline-ms': '60000' }
    expect((await app.inject({ url: '/v1/health/live', headers })).json()).toEqual({ live: true })
  })
})
