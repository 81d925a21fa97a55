import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestCluster } from './cluster-fixture.ts'

let cluster: TestCluster
let job: string

beforeAll(async () => {
  cluster = await TestCluster.start()
  job = await cluster.submit('run', 'als-serving', '--slots', '2', '--log-format', 'json')
})

afterAll(async () => await cluster?.[Symbol.asyncDispose]())

function read(path: string): Promise<Record<string, unknown>> {
  return cluster.read(`/weir/jobs/${job}/${path}`)
}

async function post(path: string, body: object = {}): Promise<[status: number, answer: unknown]> {
  const answer = await fetch(`${cluster.url}/weir/jobs/${job}/models/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return [answer.status, await answer.json()]
}

describe('the REST interface about the data of a job', () => {
  it('has the log of the job, here as JSON lines that name the job', async () => {
    const log = async () => (await fetch(`${cluster.url}/taskmanagers/${job}-slot-0/log`)).text()
    await expect.poll(log).toContain('version 1 is live')
    const lines = (await log()).split('\n').filter((line) => line.startsWith('{"level"'))
    const live = lines.map((line) => JSON.parse(line)).find(({ msg }) => msg.includes('is live'))
    expect(live).toMatchObject({ level: 30, name: 'weir', job: 'als-serving', jobId: job })
    expect(live.time).toBeGreaterThan(1_700_000_000_000)
  })

  it('reads states, pages through keys and recommends', async () => {
    await expect.poll(() => read('models')).toMatchObject({ serving: 1 })
    expect(await read('states')).toEqual({
      states: [expect.objectContaining({ name: 'ALS_MODEL', kind: 'vector', liveVersion: 1 })],
    })
    const entry = await read('states/ALS_MODEL/entry?key=1-U')
    expect(entry).toMatchObject({ key: '1-U', envelope: { modelVersion: 1 } })
    expect(entry['value']).toHaveLength(100)
    expect([0, 1]).toContain(entry['slot'])
    expect(await read('states/ALS_MODEL/entry?key=nobody-U')).toEqual({
      errors: [expect.stringMatching(/^UNKNOWN_KEY: /)],
    })
    expect(await read('states/NONE/rows')).toEqual({
      errors: [expect.stringMatching(/^UNKNOWN_STATE: .*ALS_MODEL/)],
    })
    const keys: string[] = []
    let after: string | null = ''
    while (after !== null) {
      const page = (await read(`states/ALS_MODEL/rows?limit=40&after=${after}`)) as {
        readonly rows: readonly { readonly key: string }[]
        readonly next: string | null
      }
      keys.push(...page.rows.map(({ key }) => key))
      after = page.next
    }
    expect(keys).toHaveLength(150)
    expect(keys).toEqual([...keys].sort())
    const known = await read('recommendations?user=1&k=3')
    expect(known).toMatchObject({ user: '1', isUserKnown: true, modelVersion: 1 })
    expect(known['items']).toHaveLength(3)
    expect(await read('recommendations?user=nobody')).toMatchObject({ isUserKnown: false })
  })

  it('shows how far the job has applied its topics', async () => {
    const topics = async () => (await read('topics'))['sources']
    await expect.poll(topics).toMatchObject([{ topic: 'als-model', lag: 0 }])
  })

  it('lists versions, tells them apart, promotes one and rolls back', async () => {
    const second = ['generate', 'als-model', '--users', '100', '--items', '50', '--seed', '7']
    const published = await cluster.local(...second)
    expect(published.code, published.stderr).toBe(0)
    await expect
      .poll(async () => (await read('states'))['states'])
      .toMatchObject([{ versions: [1, 2] }])
    expect(await post('2/promote')).toEqual([
      409,
      { errors: [expect.stringMatching(/^PROMOTION_REFUSED: /)] },
    ])
    const forced = { force: 'the test says so' }
    expect(await post('2/promote', { ...forced, expectLive: 5 })).toMatchObject([
      409,
      { errors: [expect.stringMatching(/^REGISTRY_CONFLICT: /)] },
    ])
    expect(await post('2/promote', forced)).toEqual([
      200,
      { model: 'als-model', live: 2, before: 1, how: 'forced' },
    ])
    await expect
      .poll(() => read('models'))
      .toMatchObject({
        model: 'als-model',
        state: 'ALS_MODEL',
        live: 2,
        serving: 2,
        rollback: 1,
        versions: [
          { number: 2, state: 'live', isLoaded: true, isServing: true },
          { number: 1, state: 'replaced', isLoaded: true, isServing: false },
        ],
      })
    expect(await read('models/live')).toMatchObject({ number: 2, notes: expect.anything() })
    expect(await read('models/diff?a=1&b=2')).toMatchObject({
      a: 1,
      b: 2,
      differences: expect.arrayContaining([{ field: 'state', left: 'replaced', right: 'live' }]),
      lists: { users: 50, k: 5, overlap: expect.any(Number) },
    })
    expect(await read('models/diff?a=1&b=9')).toEqual({
      errors: [expect.stringMatching(/^UNKNOWN_VERSION: /)],
    })
    expect(await post('rollback', { reason: 'the test' })).toMatchObject([
      200,
      { live: 1, before: 2, how: 'rolled back' },
    ])
    await expect.poll(() => read('models')).toMatchObject({ serving: 1 })
  })
})
