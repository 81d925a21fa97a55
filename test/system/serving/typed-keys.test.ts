import { expect, it, onTestFinished } from 'vitest'
import { keyOfText, type PlainKey, WeirClient } from '../../../src/client/index.ts'
import { readEntry, readRows } from '../../../src/cluster/rest/job/state-reads.ts'
import { ServedJob } from '../../../src/jobs/served-job.ts'
import { weir } from '../cli/command-process.ts'
import { KEYS } from './typed-keys-job.ts'

async function started(): Promise<{ readonly client: WeirClient; readonly port: number }> {
  const job = await ServedJob.start({
    module: new URL('./typed-keys-job.ts', import.meta.url),
    jobOptions: {},
    configuration: { 'parallelism.default': '2', 'state.backend.type': 'heap' },
    seed: 1,
    port: 0,
  })
  onTestFinished(() => job[Symbol.asyncDispose]())
  await job.execution.waitFor('RUNNING')
  const client = await WeirClient.connect({ port: job.port, deadlineMs: 60_000 })
  onTestFinished(() => client.close())
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
    await expect.poll(hasAll).toBe(true)
  }
  return { client, port: job.port }
}

it('keys that are numbers, booleans, bigints and tuples are looked up and listed on every face', async () => {
  const { client, port } = await started()
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
  const { client } = await started()
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
