import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ClientOptions } from '../../src/client/index.ts'
import { channels, WeirClient } from '../../src/client/index.ts'
import { isWeirError, WeirError } from '../../src/core/errors.ts'
import type { QueryServerOptions } from '../../src/serving/query-options.ts'
import { QueryServer } from '../../src/serving/query-server.ts'
import { TcpProxy } from '../services/tcp-proxy.ts'
import { FAKE_ENVELOPE, FakeQueryBackend } from '../serving/fake-query-backend.ts'

let backend: FakeQueryBackend
const cleanups: (() => Promise<void>)[] = []

async function start(
  serverOptions: QueryServerOptions = {},
  clientOptions: ClientOptions = {},
): Promise<WeirClient> {
  const server = new QueryServer(backend, serverOptions)
  const port = await server.listen()
  backend.endpoints = [{ server: 'query-0', host: '', port }]
  cleanups.push(() => server.close())
  const client = await WeirClient.connect({ port, ...clientOptions })
  cleanups.unshift(() => client.close())
  return client
}

beforeEach(() => {
  backend = new FakeQueryBackend()
  backend.rows.set('1-U', Float32Array.of(1, 2))
  backend.rows.set('2-U', Float32Array.of(-1, 0.5))
  backend.rows.set('7-I', Float32Array.of(3, 4))
  backend.rows.set('8-I', Float32Array.of(1, 1))
  backend.rows.set('MEAN-U', Float32Array.of(0, 1))
  backend.encoded.set('count', Uint8Array.of(1, 2, 3))
})

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

describe('WeirClient', () => {
  it('predicts the inner product of two rows', async () => {
    const client = await start()
    expect(await client.predict('ALS_MODEL', '1-U', '7-I')).toEqual({
      score: 11,
      leftCold: false,
      rightCold: false,
    })
  })

  it('gives every concurrent call its own answer', async () => {
    const client = await start()
    const pairs = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? '7-I' : '8-I'))
    const answers = await Promise.all(pairs.map((item) => client.predict('ALS_MODEL', '1-U', item)))
    expect(answers.map((answer) => answer.score)).toEqual(pairs.map((k) => (k === '7-I' ? 11 : 3)))
  })

  it.each([
    { calls: 20, frames: 1 },
    { calls: 64, frames: 2 },
    { calls: 400, frames: 4 },
  ])('asks $calls predictions at a time in $frames frames', async ({ calls, frames }) => {
    const client = await start()
    const burst = () =>
      Promise.all(Array.from({ length: calls }, () => client.predict('ALS_MODEL', '1-U', '7-I')))
    await burst()
    const open = vi.spyOn(backend, 'open')
    await burst()
    expect(open).toHaveBeenCalledTimes(frames)
  })

  it('tells the envelope of a prediction when asked', async () => {
    const client = await start()
    const answer = await client.predictWithEnvelope('ALS_MODEL', '1-U', '7-I')
    expect(answer).toMatchObject({ ok: true, value: { score: 11 }, envelope: FAKE_ENVELOPE })
  })

  it('lets a cold row stand in and says so', async () => {
    const client = await start()
    const options = { coldLeft: 'MEAN-U' }
    expect(await client.predict('ALS_MODEL', 'new-U', '7-I', options)).toEqual({
      score: 4,
      leftCold: true,
      rightCold: false,
    })
  })

  it('rejects a prediction of an unknown key with its typed error', async () => {
    const client = await start()
    const error = await client.predict('ALS_MODEL', '1-U', '9-I').catch((e) => e)
    expect(isWeirError(error, 'UNKNOWN_KEY')).toBe(true)
    expect(error.message).toContain('9-I')
  })

  it('rejects every call about an unknown state', async () => {
    const client = await start()
    const calls = [1, 2].map(() => client.predict('NOPE', '1-U', '7-I').catch((e) => e.code))
    expect(await Promise.all(calls)).toEqual(['UNKNOWN_STATE', 'UNKNOWN_STATE'])
    await expect(client.rows('NOPE', ['1-U'])).rejects.toMatchObject({ code: 'UNKNOWN_STATE' })
  })

  it('answers predictions that memory cannot give after those it can', async () => {
    const client = await start()
    backend.slowKeys.add('2-U')
    const calls = ['1-U', '2-U', '1-U', '2-U'].map((user) =>
      client.predict('ALS_MODEL', user, '7-I'),
    )
    expect((await Promise.all(calls)).map(({ score }) => score)).toEqual([11, -1, 11, -1])
  })

  it('gives rows and their failures in the order of the keys', async () => {
    const client = await start()
    backend.slowKeys.add('2-U')
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
    const client = await start()
    for (let i = 0; i < 10_000; i++) backend.rows.set(`${i}-X`, new Float32Array(64).fill(i))
    const keys = Array.from({ length: 10_000 }, (_, i) => `${i}-X`)
    const answers = await client.rows('ALS_MODEL', keys)
    const wrong = answers.filter((answer, i) => !answer.ok || answer.value[63] !== i)
    expect(answers.length).toBe(10_000)
    expect(wrong).toEqual([])
  })

  it('gives encoded values', async () => {
    const client = await start()
    const answers = await client.values('ALS_MODEL', ['count', 'none'])
    expect(answers[0]).toMatchObject({ ok: true, value: Uint8Array.of(1, 2, 3) })
    expect(answers[1]).toMatchObject({ ok: false, error: { code: 'UNKNOWN_KEY' } })
  })

  it('scans past the size of a frame', async () => {
    const client = await start({}, { maxFrameBytes: 4096 })
    for (let i = 0; i < 300; i++) {
      backend.encoded.set(`s${String(i).padStart(3, '0')}`, new Uint8Array(100).fill(i))
    }
    const entries = await client.scan('ALS_MODEL', { from: 's', to: 't', limit: 250 })
    expect(entries.length).toBe(250)
    expect(entries[249]).toEqual({ key: 's249', value: new Uint8Array(100).fill(249) })
  })

  it('multiplies a sparse vector with weight blocks', async () => {
    const client = await start()
    backend.rows.set('0', Float32Array.of(2, 3))
    const features = { ids: Uint32Array.of(1, 9), values: Float32Array.of(10, 1) }
    expect(await client.sparseDot('ALS_MODEL', features)).toMatchObject({
      ok: true,
      value: { sum: 30, unknown: 1 },
    })
  })

  it('sends sparse vectors of a few hundred kilobytes among small ones, each with its answer', async () => {
    const client = await start()
    backend.rows.set('0', Float32Array.of(2, 3))
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
    const client = await start()
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
    const client = await start()
    const answer = await client.topK('ALS_MODEL', 'none', { k: 2 })
    expect(answer).toMatchObject({ ok: false, error: { code: 'UNKNOWN_KEY' } })
  })

  it('tries a retryable failure again until it is answered', async () => {
    const client = await start()
    backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 2 })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
    backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 2 })
    expect((await client.rows('ALS_MODEL', ['1-U']))[0]).toMatchObject({ ok: true })
  })

  it('keeps the rows it has when asking for the missing one again runs into the deadline', async () => {
    const client = await start()
    backend.failing.set('1-U', { error: new WeirError('SLOT_LOST', 'gone'), times: 1 })
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    const silence = () => backend.slowKeys.add('1-U')
    channels.retry.subscribe(silence)
    cleanups.unshift(async () => {
      channels.retry.unsubscribe(silence)
      gate.resolve()
    })
    const rows = client.rows('ALS_MODEL', ['1-U', '7-I'], { deadlineMs: 100 })
    expect(await rows).toMatchObject([
      { ok: false, error: { code: 'SLOT_LOST' } },
      { ok: true, value: Float32Array.of(3, 4) },
    ])
  })

  it('gives up a retryable failure after its last attempt', async () => {
    const client = await start({}, { retry: { maxAttempts: 2, maxMs: 5 } })
    const error = new WeirError('RESTORING', 'not yet')
    backend.failing.set('1-U', { error, times: 1000 })
    const failure = await client.predict('ALS_MODEL', '1-U', '7-I').catch((e) => e)
    expect(failure.code).toBe('RESTORING')
    expect(backend.failing.get('1-U')?.times).toBe(998)
  })

  it('fails a call whose answer does not come before its deadline', async () => {
    const client = await start()
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    backend.slowKeys.add('1-U')
    const options = { deadlineMs: 30 }
    const failure = await client.predict('ALS_MODEL', '1-U', '7-I', options).catch((e) => e)
    expect(failure.code).toBe('DEADLINE_EXCEEDED')
    const values = client.values('ALS_MODEL', ['count'], options)
    await expect(values).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(client.outstanding).toBe(0)
    gate.resolve()
  })

  it('refuses calls above its limit', async () => {
    const client = await start({}, { maxInFlight: 2 })
    const calls = [1, 2, 3].map(() =>
      client.predict('ALS_MODEL', '1-U', '7-I').catch((e) => e.code),
    )
    expect(await Promise.all(calls)).toEqual([
      expect.objectContaining({ score: 11 }),
      expect.objectContaining({ score: 11 }),
      'OVERLOADED',
    ])
  })

  it('rejects a key that no frame can carry', async () => {
    const client = await start()
    const call = client.predict('ALS_MODEL', 'x'.repeat(70_000), '7-I')
    await expect(call).rejects.toMatchObject({ code: 'KEY_TOO_LONG' })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('carries keys that are not ASCII', async () => {
    const client = await start()
    backend.rows.set('Zoë-U', Float32Array.of(1, 0))
    expect((await client.predict('ALS_MODEL', 'Zoë-U', '7-I')).score).toBe(3)
    const long = `${'ü'.repeat(60)}-U`
    backend.rows.set(long, Float32Array.of(0, 1))
    expect((await client.predict('ALS_MODEL', long, '7-I')).score).toBe(4)
  })

  it('is refused without the token', async () => {
    await expect(start({ token: 'secret' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const client = await start({ token: 'secret' }, { token: 'secret' })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('is refused by the server of another job', async () => {
    await expect(start({}, { job: 'svm' })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('fails at once where nobody listens', async () => {
    const server = new QueryServer(backend)
    const port = await server.listen()
    await server.close()
    await expect(WeirClient.connect({ port })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('survives a restart of its server', async () => {
    const client = await start()
    const { port } = backend.endpoints[0]!
    await cleanups.pop()!()
    const call = client.predict('ALS_MODEL', '1-U', '7-I')
    const again = new QueryServer(backend, { ports: [port] })
    await again.listen()
    cleanups.push(() => again.close())
    expect((await call).score).toBe(11)
  })

  it('leaves a connection whose server fell silent without closing it', async () => {
    const server = new QueryServer(backend)
    const port = await server.listen()
    // One port on two addresses: the routing table names the port only.
    await using proxy = await TcpProxy.start(port, { host: '127.0.0.2', port })
    cleanups.push(() => server.close())
    backend.endpoints = [{ server: 'query-0', host: '', port }]
    const client = await WeirClient.connect({ host: '127.0.0.2', port, deadlineMs: 300 })
    cleanups.unshift(() => client.close())
    const predict = () => client.predict('ALS_MODEL', '1-U', '7-I')
    await predict()
    proxy.freeze()
    await expect(predict()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    await vi.waitFor(predict, { timeout: 6000 })
  })

  it('keeps a connection whose server is only slow with one answer', async () => {
    const client = await start({}, { deadlineMs: 100 })
    const lost = vi.fn()
    channels.disconnected.subscribe(lost)
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    backend.slowKeys.add('1-U')
    const failure = await client.predict('ALS_MODEL', '1-U', '7-I').catch((e) => e)
    expect(failure.code).toBe('DEADLINE_EXCEEDED')
    await new Promise((resolve) => setTimeout(resolve, 2300))
    expect(lost).not.toHaveBeenCalled()
    channels.disconnected.unsubscribe(lost)
    gate.resolve()
  })

  it('asks for the routing table again when an answer shows another epoch', async () => {
    const client = await start()
    const second = new QueryServer(backend, { server: 'query-1' })
    const port = await second.listen()
    cleanups.push(() => second.close())
    backend.endpoints = [...backend.endpoints, { server: 'query-1', host: '', port }]
    backend.epoch = 2
    await client.predict('ALS_MODEL', '1-U', '7-I')
    await expect.poll(() => client.routing.endpoints.length).toBe(2)
    await expect.poll(() => second.connectionCount).toBe(1)
  })

  it('goes where a NOT_OWNER answer points to', async () => {
    const client = await start()
    const { port } = backend.endpoints[0]!
    const error = new WeirError('NOT_OWNER', 'ask there', {
      details: { endpoint: `127.0.0.1:${port}` },
    })
    backend.slowKeys.add('1-U')
    backend.failing.set('1-U', { error, times: 1 })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('gives a cached row again while it is young', async () => {
    const client = await start({}, { cache: { maxRows: 10, maxAgeMs: 60_000 } })
    await client.rows('ALS_MODEL', ['1-U'])
    backend.rows.delete('1-U')
    const answers = await client.rows('ALS_MODEL', ['1-U', '2-U'])
    expect(answers.map(({ ok }) => ok)).toEqual([true, true])
  })

  it('fails waiting calls when it is closed', async () => {
    const client = await start()
    const gate = Promise.withResolvers<void>()
    backend.gate = gate.promise
    const call = client.values('ALS_MODEL', ['count']).catch((e) => e.code)
    await client.predict('ALS_MODEL', '1-U', '7-I')
    await client.close()
    expect(await call).toBe('UNAVAILABLE')
    gate.resolve()
    await expect(client.predict('ALS_MODEL', '1-U', '7-I')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
  })
})
