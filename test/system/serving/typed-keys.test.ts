import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  keyOfText,
  type PlainKey,
  stringSerializer,
  WeirClient,
} from '../../../src/client/index.ts'
import { readEntry, readRows } from '../../../src/cluster/rest/job/state-reads.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { ServedJob } from '../../../src/jobs/served-job.ts'
import { inProcess } from '../../cli/command-here.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { until } from '../../run/until.ts'
import { weir } from '../cli/command-process.ts'
import { KEYS, LAST_VISIT, VISIT_MS } from './typed-keys-job.ts'

let client: WeirClient
let port: number
const cleanups: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

beforeAll(async () => {
  const job = await ServedJob.start({
    module: new URL('./typed-keys-job.ts', import.meta.url),
    jobOptions: {},
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
    seed: 1,
    port: 0,
  })
  cleanups.push(() => job[Symbol.asyncDispose]())
  await job.execution.waitFor('RUNNING')
  port = job.port
  client = await WeirClient.connect({ port, deadlineMs: 60_000 })
  cleanups.push(() => client.close())
  for (const state of [
    'NUMBERS',
    'TEXTS',
    'BIGINTS',
    'BOOLEANS',
    'TUPLES',
    'WHOLE',
    'HALVES',
    'OWN',
  ]) {
    const hasAll = async (): Promise<boolean> =>
      (await client.scan(state, { from: '', to: '\u{10ffff}', limit: 100 })).length >=
      (state === 'BOOLEANS' ? 2 : KEYS)
    await until(`all keys of ${state}`, hasAll)
  }
})

it('keys that are numbers, booleans, bigints and tuples are looked up and listed on every face', async () => {
  const { states } = client.routing
  const cases: readonly (readonly [string, PlainKey, string, number])[] = [
    ['NUMBERS', 5, '5', 5],
    ['NUMBERS', -3, '-3', -3],
    ['WHOLE', 5, '5', 5],
    ['WHOLE', -3, '-3', -3],
    ['HALVES', 2.5, '2.5', 5],
    ['BIGINTS', 5n, '5n', 5],
    ['BOOLEANS', true, 'true', 7],
    ['TUPLES', ['u5', 5], '["u5",5]', 5],
  ]
  for (const [state, key, text, value] of cases) {
    expect(await client.get(state, key), `${state} ${text}`).toBe(value)
    expect(await client.get(state, text)).toBe(value)
    const entry = await readEntry(client, states, { state, key: text })
    expect(entry).toMatchObject({ key: text, value })
  }
  const cli = weir(['query', 'NUMBERS', '--port', String(port), '--', '5', '-3'])
  expect((await cli.ended).stdout).toBe('5  5\n-3  -3\n')
  expect(await client.get('NUMBERS', 500)).toBeUndefined()
  expect(await client.get('NUMBERS', 'five')).toBeUndefined()
  const range = await client.scan('NUMBERS', { from: 3, to: 8, limit: 10 })
  expect(range.map(({ key }) => keyOfText(key))).toEqual([3, 4, 5, 6, 7])
  const whole = await client.scan('WHOLE', { from: '', to: '\u{10ffff}', limit: 100 })
  const sorted = whole.map(({ key }) => keyOfText(key) as number).toSorted((a, b) => a - b)
  expect(sorted).toEqual(Array.from({ length: KEYS }, (_, n) => n - 5))
  await expect(client.scan('WHOLE', { from: 3, to: 8, limit: 10 })).rejects.toThrow(
    'so that no range of them ends at 8',
  )
  await expect(client.get('WHOLE', 500)).resolves.toBeUndefined()
  const [absent] = await client.values('WHOLE', [500])
  expect(absent).toMatchObject({ ok: false, error: { message: expect.stringContaining('500') } })
  for (const state of ['NUMBERS', 'WHOLE', 'HALVES', 'BIGINTS', 'TUPLES', 'TEXTS']) {
    const keys: string[] = []
    let after: string | null = ''
    while (after !== null) {
      const page: Awaited<ReturnType<typeof readRows>> = await readRows(client, states, {
        state,
        after,
        limit: 7,
      })
      for (const { key, value } of page.rows) {
        expect(await readEntry(client, states, { state, key })).toMatchObject({ value })
        keys.push(key)
      }
      after = page.next
    }
    expect([keys.length, new Set(keys).size], state).toEqual([KEYS, KEYS])
  }
})

it('a key that only another one resembles, or that queries cannot write, is refused in those words', async () => {
  await expect(client.get('TEXTS', 5)).rejects.toThrow(
    'key 5 does not exist, and the text "5" does: ask for the text',
  )
  expect(await client.get('TEXTS', '5')).toBe(5)
  await expect(client.get('OWN', 5)).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining('the keys of "OWN" are written by the serializer "own/1"'),
  })
  await expect(client.get('NUMBERS', Number.NaN)).rejects.toThrow(
    'key must be a text, or a finite number',
  )
})

interface Count {
  readonly count: number
}

/** Visits of each user in windows of 10 s, computed from all. */
function countsOf(user: string, start: number): number {
  let count = 0
  for (let index = 0; index * VISIT_MS < LAST_VISIT; index++) {
    const time = index * VISIT_MS
    if (`u${index % 3}` === user && time >= start && time < start + 10_000) count++
  }
  return count
}

async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const entry of entries) found.push(entry)
  return found
}

it('results of windows are read by key and window while they are retained, and listed by prefix and range', async () => {
  const users = ['u0', 'u1', 'u2']
  const isThere = async (): Promise<boolean> =>
    (await client.get('COUNTS', ['u1', 40_000])) !== undefined &&
    (await client.get('TOTALS', 40_000)) !== undefined &&
    (await client.get('TOTALS', 10_000)) === undefined &&
    (await all(client.entries('COUNTS'))).length === 9
  await expect.poll(isThere).toBe(true)
  // Those of the first two windows are over, and the last window has not ended.
  const starts = [20_000, 30_000, 40_000]
  const expected = users.flatMap((user) =>
    starts.map((start) => ({ key: [user, start], value: { count: countsOf(user, start) } })),
  )
  expect(await all(client.entries('COUNTS'))).toEqual(expected)
  expect(await all(client.entries('COUNTS', { prefix: ['u1'] }))).toEqual(expected.slice(3, 6))
  expect(await all(client.entries('COUNTS', { prefix: ['u1'], limit: 2 }))).toEqual(
    expected.slice(3, 5),
  )
  expect(await all(client.entries('COUNTS', { from: ['u1', 30_000], to: ['u2', 30_000] }))).toEqual(
    expected.slice(4, 7),
  )
  expect(await all(client.entries('COUNTS', { prefix: ['u2'], from: ['u2', 25_000] }))).toEqual(
    expected.slice(7),
  )
  expect(await all(client.entries('COUNTS', { prefix: ['u'] }))).toEqual([])
  const totals = starts.map((start) => ({ key: start, value: { count: 200 } }))
  expect(await all(client.entries<number, Count>('TOTALS'))).toEqual(totals)
  expect(await all(client.entries('TOTALS', { from: 30_000, to: 40_000 }))).toEqual(
    totals.slice(1, 2),
  )
  const answer = await client.getWithEnvelope<Count>('COUNTS', ['u1', 30_000])
  expect(answer).toMatchObject({
    ok: true,
    value: { count: countsOf('u1', 30_000) },
    envelope: { modelVersion: 0, checkpointId: expect.any(Number) },
  })
  expect(await client.getWithEnvelope('COUNTS', ['u1', 0])).toMatchObject({
    ok: false,
    error: { code: 'UNKNOWN_KEY' },
  })
  const cli = weir(['query', 'COUNTS', '--port', String(port), '["u1",30000]'])
  expect((await cli.ended).stdout).toBe(`["u1",30000]  {"count":${countsOf('u1', 30_000)}}\n`)
  expect(client.routing.states.find(({ name }) => name === 'COUNTS')).toMatchObject({
    keys: 'key-and-window',
    keyFormat: 'key/1',
    valueFormat: 'msgpack/1',
  })
})

it('entries come in the order of their keys, over pages, with keys and values of their types', async () => {
  const hasAll = async (): Promise<boolean> =>
    (await all(client.entries('CUSTOMERS'))).length === KEYS - 1
  await expect.poll(hasAll).toBe(true)
  const ids = Array.from({ length: KEYS }, (_, id) => id).filter((id) => id !== 3)
  expect(await all(client.entries<number, string>('CUSTOMERS'))).toEqual(
    ids.map((key) => ({ key, value: `c${key}` })),
  )
  expect(await client.get('CUSTOMERS', 3)).toBeUndefined()
  const numbers = await all(client.entries<number>('NUMBERS', { from: -2, to: 2 }))
  expect(numbers.map(({ key }) => key)).toEqual([-2, -1, 0, 1])
  const texts = await all(client.entries('TEXTS', { prefix: '1' }))
  expect(texts.map(({ key }) => key)).toEqual([
    '1',
    ...Array.from({ length: 10 }, (_, i) => `1${i}`),
  ])
  expect((await all(client.entries('TEXTS', { prefix: '' }))).length).toBe(KEYS)
  const own = {
    id: 'own/1',
    write: () => {},
    read: (reader: { uint32(): number }) => ({ n: reader.uint32() - 5 }),
  }
  expect(await client.get('OWN_VALUES', 7, { serializer: own })).toEqual({ n: 7 })
  expect(await all(client.entries('OWN_VALUES', { serializer: own, limit: 2 }))).toEqual([
    { key: -5, value: { n: -5 } },
    { key: -4, value: { n: -4 } },
  ])
})

it('a query of another type than that of the state is refused with the name of the state and what to ask for', async () => {
  const rejects = async (asked: Promise<unknown>, code: string, message: string): Promise<void> => {
    await expect(asked).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  }
  const invalid = 'INVALID_ARGUMENT'
  await rejects(
    client.get('COUNTS', 'u1'),
    invalid,
    'the keys of "COUNTS" are tuples of a key and the start of its window in ms, and u1 is none: ask for ["ann", 60000]',
  )
  await rejects(
    client.get('TOTALS', ['u1', 0]),
    invalid,
    'the keys of "TOTALS" are starts of windows',
  )
  await rejects(client.get('WHOLE', 'five'), invalid, 'the keys of "WHOLE" are numbers')
  await rejects(
    all(client.entries('COUNTS', { prefix: 'u1' })),
    invalid,
    'pass the key as a tuple, ["u1"]',
  )
  await rejects(all(client.entries('WHOLE', { prefix: '1' })), invalid, 'have no prefix')
  await rejects(all(client.entries('COUNTS', { from: 3 })), invalid, 'the keys of "COUNTS"')
  await rejects(
    client.get('OWN_VALUES', 7),
    'UNSUPPORTED',
    'the values of "OWN_VALUES" are written by the serializer "own/1", which the client does not have: pass it as { serializer }',
  )
  await rejects(
    client.get('NUMBERS', 5, { serializer: stringSerializer }),
    invalid,
    'the values of "NUMBERS" are written by the serializer "msgpack/1", and the one that was passed is "string/1"',
  )
  await rejects(all(client.entries('COUNTER')), 'UNKNOWN_STATE', 'did you mean "COUNTS"?')
})

it('entries are listed over HTTP and by weir query, by prefix and range', async () => {
  const isThere = async (): Promise<boolean> =>
    (await client.get('COUNTS', ['u1', 40_000])) !== undefined &&
    (await client.get('COUNTS', ['u1', 10_000])) === undefined
  await expect.poll(isThere).toBe(true)
  const app = await createGateway(
    { state: client },
    { version: '1.2.3', clock: systemClock, compilers: SHARED_COMPILERS },
  )
  const get = async (path: string) => await app.inject(`/v1/states/${path}`)
  const wanted = [20_000, 30_000, 40_000].map((start) => ({
    key: `["u1",${start}]`,
    value: { count: countsOf('u1', start) },
  }))
  const asked = encodeURIComponent('["u1"]')
  expect((await get(`COUNTS?prefix=${asked}`)).json()).toEqual({ entries: wanted })
  const first = (await get(`COUNTS?prefix=${asked}&limit=2`)).json()
  expect(first.entries).toEqual(wanted.slice(0, 2))
  const next = encodeURIComponent(first.next)
  expect((await get(`COUNTS?prefix=${asked}&from=${next}`)).json()).toEqual({
    entries: wanted.slice(2),
  })
  const one = await get(`COUNTS/${encodeURIComponent('["u1",30000]')}`)
  expect(one.json()).toMatchObject({ value: { count: countsOf('u1', 30_000) } })
  expect((await get('NUMBERS?from=-1&to=2&keys=json')).json().entries).toEqual(
    [-1, 0, 1].map((n) => ({ key: `${n}`, value: n })),
  )
  expect((await get('CUSTOMERS/5')).json()).toMatchObject({ value: 'c5' })
  for (const [path, message] of [
    ['COUNTS?prefix=u1', 'pass the key as a tuple, ["u1"]'],
    ['COUNTS/u1', 'the keys of "COUNTS" are tuples of a key and the start of its window'],
    [`TUPLES?prefix=${asked}`, 'say which with keys=text or keys=json'],
  ] as const) {
    const refused = await get(path)
    expect(refused.statusCode).toBe(400)
    expect(refused.json().detail).toContain(message)
  }
  await app.close()
  const query = async (...flags: readonly string[]) => {
    const { code, stdout, stderr } = await inProcess([
      ...['query', 'COUNTS', '--port', String(port), '--entries', ...flags],
    ])
    return { code, lines: stdout.trim().split('\n'), stderr }
  }
  const lines = wanted.map(({ key, value }) => `${key}  ${JSON.stringify(value)}`)
  expect(await query('--prefix', '["u1"]')).toEqual({ code: 0, lines, stderr: '' })
  expect(await query('--prefix', '["u1"]', '--limit', '2')).toEqual({
    code: 0,
    lines: lines.slice(0, 2),
    stderr: 'there are more entries: raise --limit above 2, or begin --from ["u1",40000]\n',
  })
  expect((await query('--from', '["u1",40000]', '--to', '["u2",0]', '--json')).lines).toEqual(
    wanted.slice(2).map((entry) => JSON.stringify(entry)),
  )
})

it('an application answers HTTP paths of its own over the states, in the gateway of the command line', async () => {
  const isThere = async (): Promise<boolean> =>
    (await client.get('COUNTS', ['u1', 40_000])) !== undefined &&
    (await client.get('COUNTS', ['u1', 10_000])) === undefined &&
    (await client.get('TOTALS', 40_000)) !== undefined
  await expect.poll(isThere).toBe(true)
  const routes = fileURLToPath(new URL('../../fixtures/typed-keys-routes.ts', import.meta.url))
  await using gateway = weir([
    ...['gateway', '--port', String(port), '--listen', '127.0.0.1:0', '--json'],
    ...['--routes', routes],
  ])
  const url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
  const answer = await fetch(`${url}/app/users/u1/windows?from=25000`)
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      user: 'u1',
      windows: [30_000, 40_000].map((start) => ({ start, share: countsOf('u1', start) / 200 })),
    },
  ])
  expect((await fetch(`${url}/app/users/away/windows`)).status).toBe(404)
})
