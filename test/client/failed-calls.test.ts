import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { channels, WeirClient } from '../../src/client/index.ts'
import { WeirError } from '../../src/core/errors.ts'
import { shareAccess } from '../../src/http/access/control.ts'
import { QueryServer } from '../../src/serving/server/query-server.ts'
import { tokenOf } from '../http/access/tokens.ts'
import { until } from '../run/until.ts'
import { TestedClient } from './tested-client.ts'

let tested: TestedClient

beforeEach(() => {
  tested = new TestedClient()
})

afterEach(() => tested.close())

describe('a call that fails', () => {
  it('tries a retryable failure again until it is answered', async () => {
    const client = await tested.start()
    tested.backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 2 })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
    tested.backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 2 })
    expect((await client.rows('ALS_MODEL', ['1-U']))[0]).toMatchObject({ ok: true })
    tested.backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 2 })
    expect(await client.topK('ALS_MODEL', '1-U', { k: 1 })).toMatchObject({ ok: true })
  })

  it('keeps the rows it has when asking for the missing one again runs into the deadline', async () => {
    const client = await tested.start()
    tested.backend.failing.set('1-U', { error: new WeirError('SLOT_LOST', 'gone'), times: 1 })
    const gate = Promise.withResolvers<void>()
    tested.backend.gate = gate.promise
    const silence = () => tested.backend.slowKeys.add('1-U')
    channels.retry.subscribe(silence)
    tested.cleanups.unshift(async () => {
      channels.retry.unsubscribe(silence)
      gate.resolve()
    })
    const rows = client.rows('ALS_MODEL', ['1-U', '7-I'], { deadlineMs: 1_000 })
    expect(await rows).toMatchObject([
      { ok: false, error: { code: 'SLOT_LOST' } },
      { ok: true, value: Float32Array.of(3, 4) },
    ])
  })

  it('gives up a retryable failure after its last attempt', async () => {
    const client = await tested.start({}, { retry: { maxAttempts: 2, maxMs: 5 } })
    const error = new WeirError('NOT_UP_TO_BOUND', 'old')
    tested.backend.failing.set('1-U', { error, times: 1000 })
    const failure = await client.predict('ALS_MODEL', '1-U', '7-I').catch((e) => e)
    expect(failure.code).toBe('NOT_UP_TO_BOUND')
    expect(tested.backend.failing.get('1-U')?.times).toBe(998)
  })

  it('waits for a job that restores longer than its number of tries', async () => {
    const client = await tested.start({}, { retry: { maxAttempts: 2, maxMs: 1 } })
    const error = new WeirError('RESTORING', 'not yet')
    tested.backend.failing.set('1-U', { error, times: 20 })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(11)
  })

  it('fails a call whose answer does not come before its deadline', async () => {
    const client = await tested.start()
    const gate = Promise.withResolvers<void>()
    tested.backend.gate = gate.promise
    tested.backend.slowKeys.add('1-U')
    const options = { deadlineMs: 30 }
    const failure = await client.predict('ALS_MODEL', '1-U', '7-I', options).catch((e) => e)
    expect(failure.code).toBe('DEADLINE_EXCEEDED')
    const values = client.values('ALS_MODEL', ['count'], options)
    await expect(values).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(client.outstanding).toBe(0)
    gate.resolve()
  })

  it('says why it failed before where no answer comes to its last try', async () => {
    const client = await tested.start({}, { retry: { maxMs: 1 } })
    const failing = { error: new WeirError('RESTORING', 'not promoted'), times: 10_000 }
    tested.backend.failing.set('1-U', failing)
    const gate = Promise.withResolvers<void>()
    tested.backend.gate = gate.promise
    const failure = client.predict('ALS_MODEL', '1-U', '7-I', { deadlineMs: 3_000 }).catch((e) => e)
    await until('it has failed', () => failing.times < 9_998)
    tested.backend.slowKeys.add('1-U')
    expect(await failure).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      details: { lastError: 'RESTORING' },
    })
    gate.resolve()
  })

  it('refuses calls above its limit', async () => {
    const client = await tested.start({}, { maxInFlight: 2 })
    const calls = [1, 2, 3].map(() =>
      client.predict('ALS_MODEL', '1-U', '7-I').catch((e) => e.code),
    )
    expect(await Promise.all(calls)).toEqual([
      expect.objectContaining({ score: 11 }),
      expect.objectContaining({ score: 11 }),
      'OVERLOADED',
    ])
  })

  it('waits as long as the rate of its token asks for', async () => {
    const { text, record } = tokenOf(1, { limit: { perSecond: 1, burst: 2 } })
    const client = await tested.start({ access: shareAccess([record]) }, { token: text })
    const startMs = performance.now()
    for (let call = 0; call < 3; call++) await client.predict('ALS_MODEL', '1-U', '7-I')
    expect(performance.now() - startMs).toBeGreaterThan(880)
  })

  it('fails at once where the rate of its token lets no call through before its deadline', async () => {
    // Whatever the time since the first call: the next one is due in a quarter of an hour.
    const { text, record } = tokenOf(1, { limit: { perSecond: 0.001, burst: 1 } })
    const client = await tested.start({ access: shareAccess([record]) }, { token: text })
    await client.predict('ALS_MODEL', '1-U', '7-I')
    const startMs = performance.now()
    const hasty = client.predict('ALS_MODEL', '1-U', '7-I', { deadlineMs: 10_000 })
    await expect(hasty).rejects.toMatchObject({ code: 'OVERLOADED' })
    expect(performance.now() - startMs).toBeLessThan(9_000)
  })

  it('fails at its deadline where a job has no query threads', async () => {
    const server = new QueryServer(tested.backend)
    const port = await server.listen()
    tested.cleanups.push(() => server.close())
    // The empty routing table must have come before, also on a busy machine.
    await expect(WeirClient.connect({ port, deadlineMs: 1_000 })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/^the job has no query server yet/),
    })
  })

  it('fails waiting calls when it is closed', async () => {
    const client = await tested.start()
    const gate = Promise.withResolvers<void>()
    tested.backend.gate = gate.promise
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
