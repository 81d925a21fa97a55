import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WeirClient } from '../../src/client/index.ts'
import { isWeirError } from '../../src/core/errors.ts'
import { QueryServer } from '../../src/serving/server/query-server.ts'
import { FAKE_ENVELOPE } from '../serving/port/fake-query-backend.ts'
import { TestedClient } from './tested-client.ts'

let tested: TestedClient

beforeEach(() => {
  tested = new TestedClient()
})

afterEach(() => tested.close())

describe('WeirClient', () => {
  it('predicts the inner product of two rows', async () => {
    const client = await tested.start()
    expect(await client.predict('ALS_MODEL', '1-U', '7-I')).toEqual({
      score: 11,
      leftCold: false,
      rightCold: false,
    })
  })

  it('gives every concurrent call its own answer', async () => {
    const client = await tested.start()
    const pairs = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? '7-I' : '8-I'))
    const answers = await Promise.all(pairs.map((item) => client.predict('ALS_MODEL', '1-U', item)))
    expect(answers.map((answer) => answer.score)).toEqual(pairs.map((k) => (k === '7-I' ? 11 : 3)))
  })

  it.each([
    { calls: 20, frames: 1 },
    { calls: 64, frames: 2 },
    { calls: 400, frames: 4 },
  ])('asks $calls predictions at a time in $frames frames', async ({ calls, frames }) => {
    const client = await tested.start()
    const burst = () =>
      Promise.all(Array.from({ length: calls }, () => client.predict('ALS_MODEL', '1-U', '7-I')))
    await burst()
    const open = vi.spyOn(tested.backend, 'open')
    await burst()
    expect(open).toHaveBeenCalledTimes(frames)
  })

  it('gives the envelope of a prediction on request', async () => {
    const client = await tested.start()
    const answer = await client.predictWithEnvelope('ALS_MODEL', '1-U', '7-I')
    expect(answer).toMatchObject({ ok: true, value: { score: 11 }, envelope: FAKE_ENVELOPE })
  })

  it('uses a stand-in row for a missing one and reports it', async () => {
    const client = await tested.start()
    const options = { coldLeft: 'MEAN-U' }
    expect(await client.predict('ALS_MODEL', 'new-U', '7-I', options)).toEqual({
      score: 4,
      leftCold: true,
      rightCold: false,
    })
  })

  it('rejects a prediction of an unknown key with its typed error', async () => {
    const client = await tested.start()
    const error = await client.predict('ALS_MODEL', '1-U', '9-I').catch((e) => e)
    expect(isWeirError(error, 'UNKNOWN_KEY')).toBe(true)
    expect(error.message).toContain('9-I')
  })

  it('rejects every call about an unknown state', async () => {
    const client = await tested.start()
    const calls = [1, 2].map(() => client.predict('NOPE', '1-U', '7-I').catch((e) => e.code))
    expect(await Promise.all(calls)).toEqual(['UNKNOWN_STATE', 'UNKNOWN_STATE'])
    await expect(client.rows('NOPE', ['1-U'])).rejects.toMatchObject({ code: 'UNKNOWN_STATE' })
  })

  it('answers predictions from memory before those that wait for slots', async () => {
    const client = await tested.start()
    tested.backend.slowKeys.add('2-U')
    const calls = ['1-U', '2-U', '1-U', '2-U'].map((user) =>
      client.predict('ALS_MODEL', user, '7-I'),
    )
    expect((await Promise.all(calls)).map(({ score }) => score)).toEqual([11, -1, 11, -1])
  })

  it('gives rows and their failures in the order of the keys', async () => {
    const client = await tested.start()
    tested.backend.slowKeys.add('2-U')
    const answers = await client.rows('ALS_MODEL', ['1-U', '2-U', 'none', '7-I'])
    expect(answers.map((answer) => (answer.ok ? [...answer.value] : answer.error.code))).toEqual([
      [1, 2],
      [-1, 0.5],
      'UNKNOWN_KEY',
      [3, 4],
    ])
    expect(answers[0]).toMatchObject({ envelope: FAKE_ENVELOPE })
  })

  it('gives rows of many frames', async () => {
    const client = await tested.start()
    for (let i = 0; i < 10_000; i++) tested.backend.rows.set(`${i}-X`, new Float32Array(64).fill(i))
    const keys = Array.from({ length: 10_000 }, (_, i) => `${i}-X`)
    const answers = await client.rows('ALS_MODEL', keys, { deadlineMs: 15_000 })
    const wrong = answers.filter((answer, i) => !answer.ok || answer.value[63] !== i)
    expect(answers.length).toBe(10_000)
    expect(wrong).toEqual([])
  })

  it('gives encoded values', async () => {
    const client = await tested.start()
    const answers = await client.values('ALS_MODEL', ['count', 'none'])
    expect(answers[0]).toMatchObject({ ok: true, value: Uint8Array.of(1, 2, 3) })
    expect(answers[1]).toMatchObject({ ok: false, error: { code: 'UNKNOWN_KEY' } })
    const forever = { deadlineMs: Number.POSITIVE_INFINITY }
    expect(await client.values('ALS_MODEL', ['count'], forever)).toMatchObject([{ ok: true }])
  })

  it('scans more entries than fit one frame', async () => {
    const client = await tested.start({}, { maxFrameBytes: 4096 })
    for (let i = 0; i < 300; i++) {
      tested.backend.encoded.set(`s${String(i).padStart(3, '0')}`, new Uint8Array(100).fill(i))
    }
    const entries = await client.scan('ALS_MODEL', { from: 's', to: 't', limit: 250 })
    expect(entries.length).toBe(250)
    expect(entries[249]).toEqual({ key: 's249', value: new Uint8Array(100).fill(249) })
  })

  it('multiplies a sparse vector with weight blocks', async () => {
    const client = await tested.start()
    tested.backend.rows.set('0', Float32Array.of(2, 3))
    const features = { ids: Uint32Array.of(1, 9), values: Float32Array.of(10, 1) }
    expect(await client.sparseDot('ALS_MODEL', features)).toMatchObject({
      ok: true,
      value: { sum: 30, unknown: 1 },
    })
  })

  it('sends sparse vectors of a few hundred kilobytes among small ones, each with its answer', async () => {
    const client = await tested.start()
    tested.backend.rows.set('0', Float32Array.of(2, 3))
    const vectorOf = (count: number) => ({
      ids: Uint32Array.from({ length: count }, (_, i) => 300 * i),
      values: new Float32Array(count).fill(count),
    })
    const sizes = [3, 60_000, 1, 40_000, 2, 7]
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        sizes.map((count) => client.sparseDot('ALS_MODEL', vectorOf(count))),
      )
      expect(answers.map((answer) => answer.ok && answer.value)).toEqual(
        sizes.map((count) => ({ sum: 2 * count, unknown: count - 1 })),
      )
    }
  })

  it('finds the best rows for a key and for a vector', async () => {
    const client = await tested.start()
    const byKey = await client.topK('ALS_MODEL', '1-U', { k: 2, suffix: '-I' })
    expect(byKey).toMatchObject({ ok: true, value: [{ key: '7-I', score: 11 }, { key: '8-I' }] })
    const vector = Float32Array.of(0, -1)
    const byVector = await client.topK('ALS_MODEL', vector, {
      k: 1,
      suffix: '-I',
      exclude: ['7-I'],
    })
    expect(byVector).toMatchObject({ ok: true, value: [{ key: '8-I', score: -1 }] })
  })

  it('reports a failed top-k as an answer', async () => {
    const client = await tested.start()
    const answer = await client.topK('ALS_MODEL', 'none', { k: 2 })
    expect(answer).toMatchObject({ ok: false, error: { code: 'UNKNOWN_KEY' } })
  })

  it('rejects a key that is too long for a frame', async () => {
    const client = await tested.start()
    const call = client.predict('ALS_MODEL', 'x'.repeat(70_000), '7-I')
    await expect(call).rejects.toMatchObject({ code: 'KEY_TOO_LONG' })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('sends keys that are not ASCII', async () => {
    const client = await tested.start()
    tested.backend.rows.set('Zoë-U', Float32Array.of(1, 0))
    expect((await client.predict('ALS_MODEL', 'Zoë-U', '7-I')).score).toBe(3)
    const long = `${'ü'.repeat(60)}-U`
    tested.backend.rows.set(long, Float32Array.of(0, 1))
    expect((await client.predict('ALS_MODEL', long, '7-I')).score).toBe(4)
  })

  it('waits for the query threads of a job that starts', async () => {
    const server = new QueryServer(tested.backend)
    const port = await server.listen()
    tested.cleanups.push(() => server.close())
    let looks = 0
    vi.spyOn(tested.backend, 'routing').mockImplementation(() => {
      if (++looks > 2) tested.backend.endpoints = [{ server: 'query-0', host: '', port }]
      return { epoch: 1, job: '', endpoints: tested.backend.endpoints, states: [], sources: [] }
    })
    const client = await WeirClient.connect({ port, deadlineMs: 30_000 })
    tested.cleanups.unshift(() => client.close())
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('gives a cached row while it is young enough', async () => {
    const client = await tested.start({}, { cache: { maxRows: 10, maxAgeMs: 60_000 } })
    await client.rows('ALS_MODEL', ['1-U'])
    tested.backend.rows.delete('1-U')
    const answers = await client.rows('ALS_MODEL', ['1-U', '2-U'])
    expect(answers.map(({ ok }) => ok)).toEqual([true, true])
  })
})
