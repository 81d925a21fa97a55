import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirError } from '../../src/core/errors.ts'
import type { EncodedPairs } from '../../src/wire/encoded-pairs.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'
import { FAKE_ENVELOPE } from '../serving/port/fake-query-backend.ts'
import { TestedClient } from './tested-client.ts'

let tested: TestedClient

beforeEach(() => {
  tested = new TestedClient()
})

afterEach(() => tested.close())

function encoded(...pairs: (readonly [left: string, right: string])[]): EncodedPairs {
  const writer = new FrameWriter(64)
  for (const key of pairs.flat()) writer.key(key)
  return { count: pairs.length, bytes: writer.written() }
}

describe('encoded pairs', () => {
  it('predicts many encoded pairs, each with its score, flags and version, or its error', async () => {
    const client = await tested.start()
    const pairs = encoded(['1-U', '7-I'], ['new-U', '7-I'], ['1-U', '9-I'], ['2-U', '8-I'])
    const predictions = await client.predictPairs('ALS_MODEL', pairs, { coldLeft: 'MEAN-U' })
    expect([...predictions.scores]).toEqual([11, 4, 0, -0.5])
    expect([...predictions.flags]).toEqual([0, 1, 0, 0])
    const { modelVersion } = FAKE_ENVELOPE
    expect([...predictions.versions]).toEqual([modelVersion, modelVersion, 0, modelVersion])
    expect([...predictions.errors.keys()]).toEqual([2])
    expect(predictions.errors.get(2)).toMatchObject({ code: 'UNKNOWN_KEY' })
  })

  it('predicts more encoded pairs than fit one frame, some of which wait for slots', async () => {
    const client = await tested.start()
    tested.backend.slowKeys.add('2-U')
    const wanted = Array.from({ length: 1500 }, (_, i) => (i % 3 === 0 ? '2-U' : '1-U'))
    const pairs = encoded(...wanted.map((user) => [user, '7-I'] as const))
    const calls = [client.predictPairs('ALS_MODEL', pairs), client.predictPairs('ALS_MODEL', pairs)]
    for (const { scores, errors } of await Promise.all(calls)) {
      expect([...scores]).toEqual(wanted.map((user) => (user === '2-U' ? -1 : 11)))
      expect(errors.size).toBe(0)
    }
    expect(client.outstanding).toBe(0)
  })

  it('gives every encoded pair the error of a call that fails whole', async () => {
    const client = await tested.start()
    const pairs = encoded(['1-U', '7-I'], ['2-U', '8-I'])
    const { errors } = await client.predictPairs('NOPE', pairs)
    expect([...errors.values()].map(({ code }) => code)).toEqual(['UNKNOWN_STATE', 'UNKNOWN_STATE'])
    await client.close()
    await expect(client.predictPairs('ALS_MODEL', pairs)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
  })

  it('tries an encoded pair again after a retryable failure', async () => {
    const client = await tested.start({}, { retry: { maxMs: 5 } })
    tested.backend.failing.set('1-U', { error: new WeirError('RESTORING', 'not yet'), times: 1 })
    const predictions = await client.predictPairs('ALS_MODEL', encoded(['1-U', '7-I']))
    expect([...predictions.scores]).toEqual([11])
    expect(predictions.errors.size).toBe(0)
  })
})
