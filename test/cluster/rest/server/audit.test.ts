import { expect, it } from 'vitest'
import type { AuditEntry } from '../../../../src/http/access/audit.ts'
import { AccessControl, OPEN_ACCESS, shareAccess } from '../../../../src/http/access/control.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { tokenOf } from '../../../http/access/tokens.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { COUNT_ID, JOB_ID } from '../snapshot.ts'

const admin = tokenOf(1, { role: 'admin', name: 'ops' })
const reader = tokenOf(2)
const ON_JOB = `jobid=${JOB_ID}`

async function open(share = shareAccess([admin.record, reader.record])) {
  const entries: AuditEntry[] = []
  const access = new AccessControl(share, new ManualClock(), {
    audit: (entry) => entries.push(entry),
  })
  const app = await fakeApp(fakeCluster([new FakeJob()]), { access })
  const ask = async (route: string, token?: string, payload?: object) => {
    const [method, url] = route.split(' ')
    await app.inject({
      method: method as 'GET',
      url: url!,
      ...(payload === undefined ? {} : { payload }),
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    })
    return entries.splice(0)
  }
  return { app, ask }
}

it.each([
  ['POST /jobs', 'submit', 'job=als-serving', 'accepted', { job: 'als-serving' }],
  [`PATCH /jobs/${JOB_ID}?mode=cancel`, 'cancel', `${ON_JOB} mode=cancel`, 'accepted'],
  [`POST /jobs/${JOB_ID}/stop`, 'stop', ON_JOB, 'accepted'],
  [`POST /v1/jobs/${JOB_ID}/savepoints`, 'savepoint', ON_JOB, 'accepted'],
  [`POST /jobs/${JOB_ID}/checkpoints`, 'checkpoint', ON_JOB, 'accepted'],
  [`PATCH /jobs/${JOB_ID}/rescaling?parallelism=2`, 'rescale', `${ON_JOB} parallelism=2`, 'done'],
  [
    `PUT /jobs/${JOB_ID}/resource-requirements`,
    'rescale',
    ON_JOB,
    'failed',
    { [COUNT_ID]: { parallelism: { lowerBound: 1, upperBound: 999 } } },
  ],
  [`POST /weir/jobs/${JOB_ID}/models/2/promote`, 'promote', `${ON_JOB} version=2`, 'done'],
  [`POST /weir/jobs/${JOB_ID}/models/3/promote`, 'promote', `${ON_JOB} version=3`, 'failed'],
  [`POST /weir/jobs/${JOB_ID}/models/rollback`, 'rollback', ON_JOB, 'done'],
  ['DELETE /cluster', 'shut down', '', 'done'],
  ['POST /jars/upload', 'POST /jars/upload', '', 'failed'],
] as const)(
  '%s leaves one line, and so does its refusal',
  async (route, did, on, outcome, body?: object) => {
    const { app, ask } = await open()
    const from = '127.0.0.1'
    const by = { who: admin.record.id, name: 'ops', from, did }
    expect(await ask(route, admin.text, body)).toEqual([
      { ...by, on, outcome, status: expect.stringMatching(/^\d{3}$/) },
    ])
    expect(await ask(route, reader.text, body)).toMatchObject([
      { who: reader.record.id, from, did, outcome: 'refused', status: '403' },
    ])
    expect(await ask(route, undefined, body)).toMatchObject([
      { who: 'nobody', from, did, outcome: 'refused', status: '401' },
    ])
    await app.close()
  },
)

it('every route that changes something leaves a line', async () => {
  const { app, ask } = await open()
  const headers = { authorization: `Bearer ${reader.text}` }
  const { paths } = (await app.inject({ url: '/openapi.json', headers })).json<{
    paths: Record<string, Record<string, object>>
  }>()
  for (const [path, methods] of Object.entries(paths)) {
    const url = path.replaceAll(/\{\w*id\}/g, JOB_ID).replaceAll(/\{\w+\}/g, '1')
    for (const method of Object.keys(methods)) {
      const entries = await ask(`${method.toUpperCase()} ${url}`, 'wrong')
      expect(entries, `${method} ${path}`).toHaveLength(method === 'get' ? 0 : 1)
    }
  }
  await app.close()
})

it('without tokens a change is of anonymous, from its address', async () => {
  const { app, ask } = await open(OPEN_ACCESS)
  expect(await ask('POST /jobs', undefined, { job: 'als-serving' })).toMatchObject([
    { who: 'anonymous', from: '127.0.0.1', did: 'submit', outcome: 'accepted' },
  ])
  await app.close()
})
