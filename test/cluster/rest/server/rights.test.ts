import { expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/clock.ts'
import { AccessControl, shareAccess } from '../../../../src/http/access/control.ts'
import { parseRight } from '../../../../src/http/access/object-rights.ts'
import { tokenOf } from '../../../http/access/tokens.ts'
import { type Needs, outcomeOf, walkersOf } from '../../../http/access/walk.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { COUNT_ID, JOB_ID, snapshot } from '../snapshot.ts'

const NAME = snapshot().name
const OTHER = { ...snapshot(), id: 'e'.repeat(32), name: 'other-job' }

const VALUES: Readonly<Record<string, string>> = {
  jobid: JOB_ID,
  vertexid: COUNT_ID,
  taskmanagerid: `${JOB_ID}-slot-0`,
  name: 'ALS_MODEL',
  version: '2',
  triggerid: 'f'.repeat(32),
  subtaskindex: '0',
  attempt: '0',
  checkpointid: '7',
  filename: 'a.log',
  jarid: 'x',
}
const QUERIES: Readonly<Record<string, string>> = {
  'GET /weir/jobs/{jobid}/states/{name}/entry': '?key=1-U',
  'GET /weir/jobs/{jobid}/recommendations': '?user=1',
  'GET /weir/jobs/{jobid}/history': '?metrics=numRestarts',
  'GET /weir/jobs/{jobid}/models/diff': '?a=1&b=2',
  'PATCH /jobs/{jobid}/rescaling': '?parallelism=2',
}
/** Routes that answer without a token: probes, and events, which a test of their own walks. */
const OPEN = ['GET /weir/events', 'GET /health/live', 'GET /health/ready', 'GET /health/startup']
const BELOW_V1: ReadonlySet<string> = new Set([
  'no token',
  'the right',
  'no rights (admin)',
  'rights on other objects (admin)',
])

/** What a route needs, told by its path alone, as the guide says it. */
function needsOf(route: string): Needs {
  const [method, path = ''] = route.split(' ')
  const role = method === 'GET' ? 'read' : 'admin'
  // Topics that a submission names have a test of their own below.
  if (route === 'POST /jobs') return { role, on: [`job:${NAME}`] }
  if (!/\{(?:jobid|taskmanagerid)\}/.test(path)) return { role }
  const inner = path.includes('/states/') || path.endsWith('/recommendations')
  if (inner) return { role, on: [`job:${NAME}`, 'state:ALS_MODEL'] }
  return /\}\/models/.test(path)
    ? { role, on: [`job:${NAME}`, 'model:als-model'] }
    : { role, on: [`job:${NAME}`] }
}

async function routesOf(app: Awaited<ReturnType<typeof fakeApp>>): Promise<readonly string[]> {
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<{
    paths: Record<string, Record<string, object>>
  }>()
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

it('the REST interface answers each route to whom may use it, by job, state and model too, and to no one else', async () => {
  await using open = await fakeApp(fakeCluster([new FakeJob()]))
  const routes = (await routesOf(open)).filter((route) => !OPEN.includes(route))
  const access = new AccessControl(shareAccess([]), systemClock)
  await using app = await fakeApp(fakeCluster([new FakeJob(), new FakeJob(OTHER)]), { access })
  const holes: string[] = []
  let tried = 0
  for (const route of routes) {
    const [method, path = ''] = route.split(' ')
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name]!)
    for (const walker of walkersOf(needsOf(route), access, systemClock.nowMs())) {
      const { title, token, expected } = walker
      // The same routes below /v1, with those who find a hole if there is one.
      const prefixes = BELOW_V1.has(title) ? ['', '/v1'] : ['']
      for (const prefix of prefixes) {
        const { statusCode } = await app.inject({
          method: method as 'GET',
          url: `${prefix}${filled}${QUERIES[route] ?? ''}`,
          ...(route === 'POST /jobs' ? { payload: { job: NAME } } : {}),
          ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
        })
        tried++
        if (outcomeOf(statusCode) !== expected) holes.push(`${route} with ${title}: ${statusCode}`)
      }
    }
  }
  expect(holes).toEqual([])
  expect(tried).toBeGreaterThan(1_000)
}, 120_000)

/** A REST interface of two jobs, with one token that has these rights. */
async function appWith(rights: readonly string[]) {
  const access = new AccessControl(shareAccess([]), systemClock)
  const app = await fakeApp(fakeCluster([new FakeJob(), new FakeJob(OTHER)]), { access })
  const { text, record } = tokenOf(77, { role: 'read', rights: rights.map(parseRight) })
  access.replace(shareAccess([record]))
  return { app, headers: { authorization: `Bearer ${text}` } }
}

it('a token with rights sees only its jobs in lists', async () => {
  const { app, headers } = await appWith([`read:job:${NAME}`])
  const ids = async (url: string) => (await app.inject({ url, headers })).body
  for (const url of ['/jobs', '/jobs/overview', '/taskmanagers', '/metrics']) {
    expect(await ids(url), url).not.toContain(OTHER.id)
    expect(await ids(url), url).not.toContain(OTHER.name)
  }
  expect(await ids('/jobs')).toContain(JOB_ID)
  await app.close()
})

it('a right on a job holds by its name and by its id', async () => {
  const { app, headers } = await appWith([`read:job:${JOB_ID}`])
  expect((await app.inject({ url: `/jobs/${JOB_ID}`, headers })).statusCode).toBe(200)
  expect((await app.inject({ url: `/jobs/${OTHER.id}`, headers })).statusCode).toBe(403)
  expect((await app.inject({ url: `/jobs/${'9'.repeat(32)}`, headers })).statusCode).toBe(403)
  await app.close()
})

it('a submission names only topics on which the token has the right', async () => {
  const rights = [`admin:job:${NAME}`, 'read:topic:in-*', 'write:topic:out']
  const { app, headers } = await appWith(rights)
  const submit = async (options: object) =>
    (await app.inject({ method: 'POST', url: '/jobs', headers, payload: { job: NAME, options } }))
      .statusCode
  expect(await submit({ topic: 'in-1', 'write-back': 'out' })).toBe(202)
  expect(await submit({ topic: 'secret' })).toBe(403)
  expect(await submit({ topic: 'in-1', 'write-back': 'in-1' })).toBe(403)
  expect(await submit({ 'learn-from': ['in-1', 'secret'] })).toBe(403)
  await app.close()
})

it('a submission takes the share of its token, else of its address, unless that is this machine', async () => {
  const cluster = fakeCluster([])
  const { text, record } = tokenOf(78, { role: 'admin' })
  const submit = { method: 'POST', url: '/jobs', payload: { job: NAME } } as const
  const open = await fakeApp(cluster)
  for (const remoteAddress of ['127.0.0.1', '10.1.2.3'])
    await open.inject({ ...submit, remoteAddress })
  await open.close()
  const access = new AccessControl(shareAccess([record]), systemClock)
  const app = await fakeApp(cluster, { access })
  await app.inject({ ...submit, headers: { authorization: `Bearer ${text}` } })
  await app.close()
  expect(cluster.clients).toEqual([undefined, '10.1.2.3', record.id])
})

it('a stream of events has no job on which the token has no right', async () => {
  const { app, headers } = await appWith([`read:job:${NAME}`])
  const status = async (path: string) =>
    (await app.inject({ url: `/weir/events?path=${path}`, headers })).statusCode
  expect(await status(`/jobs/${OTHER.id}`)).toBe(403)
  expect(await status(`/jobs/${JOB_ID}&path=/weir/jobs/${OTHER.id}/live`)).toBe(403)
  await app.close()
})
