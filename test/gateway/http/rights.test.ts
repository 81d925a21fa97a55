import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import type { ModelControl } from '../../../src/gateway/port/model-control.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { type Needs, outcomeOf, walkersOf } from '../../http/access/walk.ts'
import { GatewayWorld } from '../world.ts'

const MODEL: Needs = { role: 'read', on: ['state:ALS_MODEL'] }
const KNOWN: Needs = { role: 'read', on: ['state:ALS_MODEL', 'state:KNOWN_ITEMS'] }
const TENSORS: Needs = { role: 'read', on: ['model:ALS_MODEL'] }
const CHANGE: Needs = { role: 'admin', on: ['model:ALS_MODEL'] }
const TOPIC: Needs = { role: 'write', on: ['topic:ratings'] }
const REGISTRY: Needs = { role: 'admin', on: ['model:registered'] }
const READ: Needs = { role: 'read' }

/** Every route with what it needs. A new route needs a line. */
const NEEDS: Readonly<Record<string, Needs>> = {
  'GET /v1/health/live': { role: 'public' },
  'GET /v1/health/ready': { role: 'public' },
  'GET /v2/health/live': { role: 'public' },
  'GET /v2/health/ready': { role: 'public' },
  'GET /ready': { role: 'public' },
  'GET /v1/predict/{user}/{item}': MODEL,
  'POST /v1/predict': MODEL,
  'GET /v1/states': READ,
  'GET /v1/states/{state}/{key}': MODEL,
  'GET /v1/states/{state}': MODEL,
  'GET /recommend/{user}': MODEL,
  'GET /recommendToMany/{user}': MODEL,
  'GET /recommendToAnonymous/{item}': MODEL,
  'GET /recommendWithContext/{user}/{item}': MODEL,
  'GET /estimate/{user}/{item}': MODEL,
  'GET /estimateForAnonymous/{to}/{item}': MODEL,
  'GET /similarityToItem/{to}/{item}': MODEL,
  'GET /similarity/{item}': MODEL,
  'GET /because/{user}/{item}': KNOWN,
  'GET /mostSurprising/{user}': KNOWN,
  'GET /knownItems/{user}': { role: 'read', on: ['state:KNOWN_ITEMS'] },
  'GET /mostPopularItems': { role: 'read', on: ['state:ITEM_COUNTS'] },
  'GET /mostActiveUsers': { role: 'read', on: ['state:USER_COUNTS'] },
  'GET /popularRepresentativeItems': MODEL,
  'GET /user/allIDs': MODEL,
  'GET /item/allIDs': MODEL,
  'POST /pref/{user}/{item}': TOPIC,
  'DELETE /pref/{user}/{item}': TOPIC,
  'POST /v1/observe': TOPIC,
  'POST /ingest': TOPIC,
  'GET /v1/models/versions': { role: 'read', on: ['model:registered'] },
  'POST /v1/models/versions/{version}/promote': REGISTRY,
  'POST /v1/models/rollback': REGISTRY,
  'GET /metrics': READ,
  'GET /metrics/triton': READ,
  'GET /v2': READ,
  'GET /v2/models/stats': READ,
  'POST /v2/repository/index': READ,
  ...Object.fromEntries(
    ['/v2/models/{model}', '/v2/models/{model}/versions/{version}'].flatMap((path) => [
      ...['', '/ready', '/config', '/stats'].map((page) => [`GET ${path}${page}`, TENSORS]),
      ...['infer', 'generate', 'generate_stream'].map((run) => [`POST ${path}/${run}`, TENSORS]),
    ]),
  ),
  'POST /v2/repository/models/{model}/load': CHANGE,
  'POST /v2/repository/models/{model}/unload': CHANGE,
  'POST /v2/models/{model}/json': TENSORS,
  'POST /v2/models/{model}/observe': { role: 'write', on: ['model:ALS_MODEL'] },
  'GET /v1/models': READ,
  'GET /v1/models/{model}': TENSORS,
  'POST /v1/chat/completions': TENSORS,
  'POST /v1/completions': TENSORS,
  'POST /classify': TENSORS,
  'POST /register': CHANGE,
}

const VALUES: Readonly<Record<string, string>> = {
  user: '1',
  item: '50',
  to: '51',
  state: 'ALS_MODEL',
  model: 'ALS_MODEL',
  key: '1-U',
  version: '1',
}
const BODIES: Readonly<Record<string, object>> = {
  '/v1/predict': { pairs: [['1', '50']], version: 1 },
  '/v1/chat/completions': { model: 'ALS_MODEL' },
  '/v1/completions': { model: 'ALS_MODEL' },
  '/classify': { model: 'ALS_MODEL', input: ['1'] },
}

const models: ModelControl = {
  model: 'registered',
  versions: async () => ({
    ...{ model: 'registered', live: 1, rollback: 0, revision: 1 },
    ...{ versions: [], unfinished: [] },
  }),
  promote: async () => ({ model: 'registered', live: 1, before: 1, how: 'promoted' }),
  rollBack: async () => ({ model: 'registered', live: 1, before: 1, how: 'rolled back' }),
}

it('a gateway answers each route to whom may use it, by object too, and to no one else', async () => {
  const access = new AccessControl(shareAccess([]), systemClock)
  const registry = { register: async () => ({ version: 1 }) as never }
  const app = await new GatewayWorld().open({ models, modelControl: { registry } }, { access })
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, Record<string, object>> }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(routes.sort()).toEqual(Object.keys(NEEDS).sort())
  const holes: string[] = []
  let tried = 0
  for (const [route, needs] of Object.entries(NEEDS)) {
    const [method, path = ''] = route.split(' ')
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name]!)
    const url = path === '/register' ? `${filled}?name=ALS_MODEL` : filled
    for (const { title, token, expected } of walkersOf(needs, access, systemClock.nowMs())) {
      const { statusCode } = await app.inject({
        method: method as 'GET',
        url,
        ...(BODIES[path] === undefined ? {} : { payload: BODIES[path] }),
        ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
      })
      tried++
      if (outcomeOf(statusCode) !== expected) holes.push(`${route} with ${title}: ${statusCode}`)
    }
  }
  expect(holes).toEqual([])
  expect(tried).toBeGreaterThan(500)
  await app.close()
})

it('a gateway lists only what a token may read', async () => {
  const access = new AccessControl(shareAccess([]), systemClock)
  const app = await new GatewayWorld().open({}, { access })
  const [walker] = walkersOf(
    { role: 'read', on: ['model:ALS_MODEL', 'state:COUNTS'] },
    access,
    0,
  ).filter(({ title }) => title === 'the right')
  const headers = { authorization: `Bearer ${walker!.token}` }
  const states = await app.inject({ url: '/v1/states', headers })
  expect(states.json<{ states: { name: string }[] }>().states.map(({ name }) => name)).toEqual([
    'COUNTS',
  ])
  const index = await app.inject({ method: 'POST', url: '/v2/repository/index', headers })
  expect(new Set(index.json<{ name: string }[]>().map(({ name }) => name))).toEqual(
    new Set(['ALS_MODEL']),
  )
  const stats = await app.inject({ url: '/v2/models/stats', headers })
  expect(stats.body).toContain('ALS_MODEL')
  expect(stats.body).not.toContain('SVM_MODEL')
  await app.close()
})
