import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import { shareAccess } from '../../../../src/http/access/control.ts'
import { tokenOf } from '../../../http/access/tokens.ts'
import { DocumentedAnswers } from '../documented-answers.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { COUNT, COUNT_ID, JOB_ID, SOURCE, SOURCE_ID, snapshot } from '../snapshot.ts'

const JOB = `/jobs/${JOB_ID}`
const VERTEX = `${JOB}/vertices/${COUNT_ID}`

const PAGES = [
  '/overview',
  '/config',
  '/datasets',
  '/jobs',
  '/jobs/overview',
  '/jobs/metrics',
  '/jobs/metrics?get=numRestarts&agg=sum',
  '/taskmanagers',
  '/taskmanagers/metrics?get=mailboxLatencyMs_p99',
  `/taskmanagers/${JOB_ID}-slot-0`,
  `/taskmanagers/${JOB_ID}-slot-0/metrics`,
  `/taskmanagers/${JOB_ID}-slot-0/logs`,
  `/taskmanagers/${JOB_ID}-slot-0/log`,
  '/jobmanager/config',
  '/jobmanager/metrics',
  '/jobmanager/environment',
  '/jobmanager/logs',
  '/jobmanager/log',
  '/jobmanager/thread-dump',
  '/jars',
  JOB,
  `/weir${JOB}/live`,
  `/weir${JOB}/learning`,
  ...[
    'states',
    'topics',
    'served-models',
    'models',
    'models/2',
    'models/latest',
    'models/diff?a=1&b=2',
  ].map((page) => `/weir${JOB}/${page}`),
  `/weir${JOB}/states/ALS_MODEL/entry?key=1-U&version=2&consistency=at-least:1:0:5`,
  `/weir${JOB}/states/ALS_MODEL/rows?after=1-U&limit=1000`,
  `/weir${JOB}/recommendations?user=1&k=3`,
  `/weir${JOB}/history?metrics=numRestarts&last=3`,
  `/weir${VERTEX}/key-groups`,
  ...['plan', 'config', 'status', 'accumulators', 'metrics', 'exceptions?maxExceptions=1'].map(
    (page) => `${JOB}/${page}`,
  ),
  `${JOB}/execution-result`,
  `${JOB}/checkpoints`,
  `${JOB}/checkpoints/config`,
  `${JOB}/checkpoints/details/7`,
  `${JOB}/checkpoints/details/7/subtasks/${COUNT_ID}`,
  VERTEX,
  ...['subtasktimes', 'taskmanagers', 'watermarks', 'backpressure', 'accumulators'].map(
    (page) => `${VERTEX}/${page}`,
  ),
  `${VERTEX}/metrics?get=0.numRecordsIn`,
  `${VERTEX}/subtasks/metrics?get=numRecordsIn&agg=min,max`,
  `${VERTEX}/subtasks/accumulators`,
  `${VERTEX}/subtasks/0`,
  `${VERTEX}/subtasks/0/attempts/0`,
  `${VERTEX}/subtasks/0/metrics`,
  '/health/live',
  '/health/ready',
  '/health/startup',
]

describe('the REST interface', () => {
  // For requests that change nothing.
  let shared: Awaited<ReturnType<typeof fakeApp>>
  let documented: DocumentedAnswers
  beforeAll(async () => {
    shared = await fakeApp(fakeCluster([new FakeJob()]))
    documented = await DocumentedAnswers.of(shared)
  })
  afterAll(() => shared.close())

  it.each(PAGES)('answers %s as its document says, also below /v1', async (url) => {
    const answer = await shared.inject({ url })
    expect(answer.statusCode, answer.body).toBe(200)
    expect(documented.difference('GET', url, answer), answer.body).toBeUndefined()
    expect((await shared.inject({ url: `/v1${url}` })).body).toBe(answer.body)
  })

  it.each([
    ['/nothing', 404],
    ['/jobs/0123', 400],
    [`/jobs/${'e'.repeat(32)}`, 404],
    [`${JOB}/vertices/${'e'.repeat(32)}`, 404],
    [`${VERTEX}/subtasks/2`, 404],
    [`${VERTEX}/subtasks/x`, 400],
    [`${VERTEX}/subtasks/0/attempts/3`, 404],
    [`${JOB}/checkpoints/details/99`, 404],
    [`${JOB}/savepoints/${'e'.repeat(32)}`, 404],
    [`${JOB}/exceptions?maxExceptions=many`, 400],
    ['/jobs/metrics?get=a&agg=median', 400],
    [`/taskmanagers/${JOB_ID}-slot-7`, 404],
    ['/taskmanagers/..%2f..%2fetc', 404],
    [`/weir${JOB}/states/ALS_MODEL/entry`, 400],
    [`/weir${JOB}/states/ALS_MODEL/entry?key=1-U&consistency=soon`, 400],
    [`/weir${JOB}/states/ALS_MODEL/rows?limit=1001`, 400],
    [`/weir${JOB}/recommendations`, 400],
    [`/weir${JOB}/models/9`, 404],
    [`/weir/jobs/${'e'.repeat(32)}/models`, 404],
    [`${VERTEX}/flamegraph`, 501],
  ])('answers %s with the status %i and a sentence', async (url, status) => {
    const answer = await shared.inject({ url })
    expect(answer.statusCode, answer.body).toBe(status)
    expect(answer.json()).toEqual({ errors: [expect.any(String)] })
    if (url !== '/nothing') expect(documented.difference('GET', url, answer)).toBeUndefined()
  })

  it.each([
    ['DELETE', '/overview', 'GET, HEAD'],
    ['PUT', `/v1${JOB}`, 'GET, HEAD, PATCH'],
    ['POST', '/openapi.json', 'GET, HEAD'],
    ['PATCH', '/jobs/overview', 'GET, HEAD'],
    ['DELETE', '/jars/upload', 'POST'],
    ['OPTIONS', `/weir${JOB}/models/rollback`, 'POST'],
  ])('answers %s %s with 405 and the methods of the path', async (method, url, allow) => {
    const headers = { 'content-type': 'no/type' }
    const answer = await shared.inject({ method: method as 'PUT', url, headers, payload: 'x' })
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, allow])
    expect(answer.json()).toEqual({ errors: [expect.stringContaining('METHOD_NOT_ALLOWED')] })
  })

  it('takes fields of a body with exactly their type, and paths that are well escaped', async () => {
    const payload = { drain: 'true' }
    const answer = await shared.inject({ method: 'POST', url: `${JOB}/stop`, payload })
    expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining('body/drain')])
    const escaped = await shared.inject('/jobs/%zz')
    expect([escaped.statusCode, escaped.json()]).toEqual([400, { errors: [expect.any(String)] }])
  })

  it('cancels a job', async () => {
    const job = new FakeJob()
    await using app = await fakeApp(fakeCluster([job]))
    const answer = await app.inject({ method: 'PATCH', url: `${JOB}?mode=cancel` })
    expect([answer.statusCode, answer.json(), job.calls]).toEqual([202, {}, ['cancel']])
    expect((await app.inject({ method: 'PATCH', url: `${JOB}?mode=stop` })).statusCode).toBe(400)
  })

  it('takes a savepoint once for one trigger id, and reports its place', async () => {
    const job = new FakeJob()
    const taken = Promise.withResolvers<string>()
    job.savepointResult = () => taken.promise
    await using app = await fakeApp(fakeCluster([job]))
    const triggerId = 'F'.repeat(32)
    const payload = { 'target-directory': 'mine', 'cancel-job': false, triggerId }
    for (let tries = 0; tries < 2; tries++) {
      const answer = await app.inject({ method: 'POST', url: `${JOB}/savepoints`, payload })
      expect([answer.statusCode, answer.json()]).toEqual([
        202,
        { 'request-id': triggerId.toLowerCase() },
      ])
    }
    const status = () => app.inject({ url: `${JOB}/savepoints/${triggerId}` })
    expect((await status()).json()).toMatchObject({ status: { id: 'IN_PROGRESS' } })
    taken.resolve('file:///data/mine/savepoint-1')
    await taken.promise
    expect((await status()).json()).toEqual({
      status: { id: 'COMPLETED' },
      operation: { location: 'file:///data/mine/savepoint-1' },
    })
    expect(job.calls).toEqual(['savepoint mine'])
  })

  it('reports why a stop failed', async () => {
    const job = new FakeJob()
    job.savepointResult = () => Promise.reject(new WeirError('CHECKPOINT_DECLINED', 'not now'))
    await using app = await fakeApp(fakeCluster([job]))
    const payload = { targetDirectory: null, drain: true }
    const answer = await app.inject({ method: 'POST', url: `${JOB}/stop`, payload })
    const { 'request-id': id } = answer.json<{ 'request-id': string }>()
    expect((await app.inject({ url: `${JOB}/savepoints/${id}` })).json()).toMatchObject({
      status: { id: 'COMPLETED' },
      operation: { 'failure-cause': { class: 'CHECKPOINT_DECLINED' } },
    })
    expect(job.calls).toEqual(['stop undefined true'])
  })

  it('takes a checkpoint on request', async () => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]))
    const answer = await app.inject({ method: 'POST', url: `${JOB}/checkpoints`, payload: {} })
    const { 'request-id': id } = answer.json<{ 'request-id': string }>()
    expect((await app.inject({ url: `${JOB}/checkpoints/${id}` })).json()).toMatchObject({
      operation: { checkpointId: 8 },
    })
  })

  it('submits a job by name and options, and refuses other fields', async () => {
    const cluster = fakeCluster([])
    await using app = await fakeApp(cluster)
    const post = (payload: object) => app.inject({ method: 'POST', url: '/jobs', payload })
    const answer = await post({ job: 'als-serving', options: { topic: 'm', slots: '2' } })
    expect([answer.statusCode, answer.json()]).toEqual([202, { jobid: 'd'.repeat(32) }])
    expect(cluster.submitted).toEqual([{ job: 'als-serving', options: { topic: 'm', slots: '2' } }])
    for (const wrong of [{}, { job: '' }, { job: 'x', options: { __proto__: 1, 'A b': 'x' } }]) {
      expect((await post(wrong)).statusCode).toBe(400)
    }
  })

  it('reads state with the key, page and consistency of the request', async () => {
    const job = new FakeJob()
    await using app = await fakeApp(fakeCluster([job]))
    const states = `/weir${JOB}/states/ALS_MODEL`
    await app.inject({ url: `${states}/entry?key=a%2Fb&version=2&consistency=bounded:50` })
    await app.inject({ url: `${states}/rows?after=%C3%A9&limit=7` })
    await app.inject({ url: `/weir${JOB}/recommendations?user=x%20y` })
    expect(job.calls).toEqual([
      'entry {"state":"ALS_MODEL","key":"a/b","version":2,"consistency":{"level":"bounded","maxAgeMs":50}}',
      'rows {"state":"ALS_MODEL","after":"é","limit":7}',
      'recommendations {"user":"x y","k":10}',
    ])
  })

  it('promotes a version and rolls back, for the role admin only', async () => {
    const job = new FakeJob()
    const [reader, admin] = [tokenOf(1), tokenOf(2, { role: 'admin' })]
    const access = shareAccess([reader.record, admin.record])
    await using app = await fakeApp(fakeCluster([job]), { access })
    const post = (path: string, token: string, payload: object) =>
      app.inject({
        method: 'POST',
        url: `/weir${JOB}/models/${path}`,
        payload,
        headers: { authorization: `Bearer ${token}` },
      })
    expect((await post('2/promote', reader.text, {})).statusCode).toBe(403)
    expect(job.calls).toEqual([])
    const promoted = await post('2/promote', admin.text, { expectLive: 1, force: 'urgent' })
    expect([promoted.statusCode, promoted.json()]).toEqual([
      200,
      { model: 'als-model', live: 2, before: 1, how: 'promoted' },
    ])
    const refused = await post('3/promote', admin.text, {})
    expect([refused.statusCode, refused.json()]).toEqual([
      409,
      { errors: ['PROMOTION_REFUSED: a check failed'] },
    ])
    expect((await post('rollback', admin.text, { reason: 'worse' })).statusCode).toBe(200)
    expect((await post('rollback', admin.text, { because: 'worse' })).statusCode).toBe(400)
    expect(job.calls).toEqual([
      'promote {"expectLive":1,"force":"urgent","version":"2"}',
      'promote {"version":"3"}',
      'rollBack {"reason":"worse"}',
    ])
  })

  it('refuses jar files and says what to do instead', async () => {
    await using app = await fakeApp(fakeCluster([]))
    const answer = await app.inject({ method: 'POST', url: '/jars/upload' })
    expect(answer.statusCode).toBe(501)
    expect(answer.body).toContain('POST /jobs')
  })

  describe('resource requirements', () => {
    const fixedSource = snapshot({ vertices: [{ ...SOURCE, hasOwnParallelism: true }, COUNT] })
    const bounds = (lowerBound: number, upperBound: number) => ({
      parallelism: { lowerBound, upperBound },
    })

    it('are those of each vertex: what its code fixes cannot be lowered', async () => {
      await using app = await fakeApp(fakeCluster([new FakeJob(fixedSource)]))
      expect((await app.inject({ url: `${JOB}/resource-requirements` })).json()).toEqual({
        [SOURCE_ID]: bounds(2, 2),
        [COUNT_ID]: bounds(1, 2),
      })
    })

    it.each([
      [{ [SOURCE_ID]: bounds(1, 4), [COUNT_ID]: bounds(1, 4) }, ['rescale 4'], undefined],
      [{ [SOURCE_ID.toUpperCase()]: bounds(2, 2), [COUNT_ID]: bounds(3, 3) }, ['rescale 3'], ''],
      [{ [SOURCE_ID]: bounds(3, 3), [COUNT_ID]: bounds(1, 3) }, [], 'fixes the parallelism'],
      [{ [SOURCE_ID]: bounds(1, 2) }, [], 'are missing'],
      [{ [SOURCE_ID]: bounds(1, 2), [COUNT_ID]: bounds(3, 2) }, [], 'lower bound 3 is above'],
      [
        { [SOURCE_ID]: bounds(2, 2), [COUNT_ID]: bounds(2, 2), [JOB_ID]: bounds(2, 2) },
        [],
        'no vertex',
      ],
    ] as const)('%j: %j', async (payload, calls, refusal) => {
      const job = new FakeJob(fixedSource)
      await using app = await fakeApp(fakeCluster([job]))
      const url = `${JOB}/resource-requirements`
      const answer = await app.inject({ method: 'PUT', url, payload })
      expect(answer.statusCode).toBe(calls.length > 0 ? 200 : 400)
      if (calls.length === 0) expect(answer.body).toContain(refusal)
      expect(job.calls).toEqual(calls)
    })

    it('are refused where operators that follow the job would have several', async () => {
      const job = new FakeJob()
      await using app = await fakeApp(fakeCluster([job]))
      const payload = { [SOURCE_ID]: bounds(1, 2), [COUNT_ID]: bounds(1, 3) }
      const answer = await app.inject({
        method: 'PUT',
        url: `${JOB}/resource-requirements`,
        payload,
      })
      expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining('are 2, 3')])
      expect(job.calls).toEqual([])
    })
  })

  it.each([
    ['POST', '/savepoint-disposal', 'delete the folder'],
    ['GET', `/savepoint-disposal/${'a'.repeat(32)}`, 'delete the folder'],
  ] as const)('refuses %s %s and says what to do instead', async (method, url, how) => {
    const job = new FakeJob()
    await using app = await fakeApp(fakeCluster([job]))
    const answer = await app.inject({ method, url })
    expect([answer.statusCode, answer.json()]).toEqual([
      501,
      { errors: [expect.stringMatching(`^UNSUPPORTED: .*${how}`)] },
    ])
    expect(job.calls).toEqual([])
  })

  it('gives 404 for the checkpoints of a job that takes none', async () => {
    const cluster = fakeCluster([new FakeJob(snapshot({ checkpoints: undefined }))])
    await using app = await fakeApp(cluster)
    expect((await app.inject({ url: `${JOB}/checkpoints` })).statusCode).toBe(404)
  })

  it('needs a token where tokens are configured, and counts those that it refuses', async () => {
    const job = new FakeJob()
    await using app = await fakeApp(fakeCluster([job]), { access: shareAccess([], 'secret') })
    const cancel = (authorization?: string) =>
      app.inject({
        method: 'PATCH',
        url: JOB,
        headers: authorization === undefined ? {} : { authorization },
      })
    const refused = async (): Promise<string | undefined> => {
      const headers = { authorization: 'Bearer secret' }
      const { body } = await app.inject({ url: '/metrics', headers })
      return /^weir_refused_requests_total\{code="UNAUTHENTICATED"\} (\d+)$/m.exec(body)?.[1]
    }
    // A series that is born at the first refusal would hide it from an alert on its growth.
    expect(await refused()).toBe('0')
    expect((await app.inject({ url: '/overview' })).statusCode).toBe(401)
    expect((await cancel()).headers['www-authenticate']).toBe('Bearer')
    expect((await cancel('Bearer wrong')).statusCode).toBe(401)
    expect(job.calls).toEqual([])
    expect(await refused()).toBe('3')
    expect((await cancel('Bearer secret')).statusCode).toBe(202)
  })

  it('refuses changes that a page of another site sends, and foreign host names', async () => {
    const job = new FakeJob()
    await using app = await fakeApp(fakeCluster([job]))
    const send = (headers: Record<string, string>) =>
      app.inject({ method: 'PATCH', url: JOB, headers: { host: 'localhost:8081', ...headers } })
    expect((await send({ origin: 'http://evil.example' })).statusCode).toBe(403)
    expect((await send({ 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403)
    expect((await send({ host: 'evil.example:8081' })).statusCode).toBe(403)
    expect(job.calls).toEqual([])
    expect((await send({ origin: 'http://localhost:8081' })).statusCode).toBe(202)
  })

  it('refuses a body that is too large or no JSON', async () => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]))
    const post = (payload: string) =>
      app.inject({
        method: 'POST',
        url: `${JOB}/savepoints`,
        payload,
        headers: { 'content-type': 'application/json' },
      })
    expect((await post(`{"target-directory":"${'x'.repeat(70_000)}"}`)).statusCode).toBe(413)
    expect((await post('{nonsense')).statusCode).toBe(400)
  })
})
