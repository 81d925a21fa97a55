import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import {
  consistencyOfSession,
  positionsOfSession,
  withSessions,
  writtenPlaces,
} from '../../../src/gateway/http/session.ts'
import type { ServedState, StoredPosition } from '../../../src/gateway/port/services.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import type { EncodedPairs } from '../../../src/wire/encoded-pairs.ts'
import type {
  Answer,
  Consistency,
  Prediction,
  QueryOptions,
} from '../../../src/wire/model-reader.ts'
import type { RoutingTable } from '../../../src/wire/routing-table.ts'
import { GatewayWorld } from '../world.ts'

const LEARNING = { sources: [{ number: 1, uid: 'observations', tracked: true }] }

const written = (
  positions: readonly StoredPosition[],
  routing: Pick<RoutingTable, 'sources'>,
  session: string,
) => writtenPlaces({ topic: 'ratings', positions }, routing, session)

describe('the places of stored observations', () => {
  it('are a consistency for one partition, and a session that grows', () => {
    const first = written([{ partition: 2, offset: 9 }], LEARNING, '')
    expect(first).toEqual({ consistency: 'at-least:1:2:9', session: '1:2:9' })
    const second = written(
      [
        { partition: 0, offset: 4 },
        { partition: 2, offset: 12 },
      ],
      LEARNING,
      first.session!,
    )
    expect(second).toEqual({ consistency: undefined, session: '1:2:12,1:0:4' })
    // An older position takes nothing back.
    expect(written([{ partition: 2, offset: 3 }], LEARNING, '1:2:12').session).toBe('1:2:12')
  })

  it('are none for a job that does not learn from them, and for a session of too many partitions', () => {
    const none = { consistency: undefined, session: undefined }
    const stored = [{ partition: 0, offset: 1 }]
    expect(written(stored, { sources: [] }, '')).toEqual(none)
    const untracked = { sources: [{ number: 1, uid: 'observations', tracked: false }] }
    expect(written(stored, untracked, '')).toEqual(none)
    const many = Array.from({ length: 17 }, (_, partition) => ({ partition, offset: 1 }))
    expect(written(many, LEARNING, '')).toEqual(none)
  })

  it('are none where the job reads another topic: its positions are not those of this one', () => {
    const source = { number: 1, uid: 'observations', tracked: true }
    const stored = [{ partition: 0, offset: 1 }]
    const none = { consistency: undefined, session: undefined }
    expect(written(stored, { sources: [{ ...source, topic: 'clicks' }] }, '')).toEqual(none)
    const read = written(stored, { sources: [{ ...source, topic: 'ratings' }] }, '')
    expect(read.session).toBe('1:0:1')
  })
})

describe('a session', () => {
  it.each(['1:2', 'a:1:2', '1:2:3:4', `${'1:1:1,'.repeat(17)}`, '99999:0:1'])(
    'is refused as %j',
    (text) => {
      expect(() => positionsOfSession(text)).toThrow(/weir-session must be that of an answer/)
    },
  )

  it('lets a read wait for each of its positions, one after the other', async () => {
    const asked: (Consistency | undefined)[] = []
    const state = withSessions(
      {
        rows: async (_state: string, _keys: readonly string[], options) => {
          asked.push(options?.consistency)
          return []
        },
      } as Partial<ServedState> as ServedState,
      new ManualClock(),
    )
    const consistency = consistencyOfSession('1:2:9,1:0:4')!
    await state.rows('ALS_MODEL', ['1-U'], { consistency })
    expect(asked).toEqual([
      { level: 'at-least', source: 1, partition: 2, offset: 9 },
      { level: 'at-least', source: 1, partition: 0, offset: 4 },
    ])
    await state.rows('ALS_MODEL', ['1-U'], { consistency: { level: 'live' } })
    await state.rows('ALS_MODEL', ['1-U'])
    expect(asked.slice(2)).toEqual([{ level: 'live' }, undefined])
    expect(consistencyOfSession('')).toBeUndefined()
  })
})

describe('a read of a session that names two positions', () => {
  const consistency = consistencyOfSession('1:2:9,1:0:4')!
  const late = new WeirError('NOT_UP_TO_BOUND', 'slot 0 has not reached the bound')
  const unknown = new WeirError('UNKNOWN_KEY', 'no row "1-U"')
  const envelope = { modelVersion: 1 }
  /** Whether a read is the one of the first position, for which the answers are others. */
  const isFirst = (options: QueryOptions | undefined): boolean =>
    options?.consistency?.level === 'at-least' && options.consistency.partition === 2
  const served = (members: Partial<ServedState>, clock = new ManualClock()): ServedState =>
    withSessions(members as ServedState, clock)

  it.each([
    [late, false],
    [unknown, true],
  ])('fails with %s at the first one: %s', async (error, isAnswered) => {
    const state = served({
      predictWithEnvelope: async (_state, _left, _right, options) =>
        isFirst(options)
          ? { ok: false, error }
          : ({ ok: true, value: { score: 3 }, envelope } as Answer<Prediction>),
    })
    const answer = await state.predictWithEnvelope('ALS_MODEL', '1-U', '50-I', { consistency })
    expect(answer.ok).toBe(isAnswered)
    if (!answer.ok) expect(answer.error).toBe(error)
  })

  it('fails for the rows and pairs alone that the first one was not reached for', async () => {
    const row = { ok: true, value: new Float32Array(1), envelope } as Answer<Float32Array>
    const pairs = {
      scores: new Float32Array(2),
      flags: new Uint8Array(2),
      versions: new Uint32Array(2),
    }
    const state = served({
      rows: async (_state, _keys, options) =>
        isFirst(options) ? [row, { ok: false, error: late }] : [row, row],
      predictPairs: async (_state, _pairs, options) => ({
        ...pairs,
        errors: new Map(isFirst(options) ? [[1, late]] : [[0, unknown]]),
      }),
    })
    const rows = await state.rows('ALS_MODEL', ['1-U', '2-U'], { consistency })
    expect(rows.map((one) => one.ok)).toEqual([true, false])
    const answer = await state.predictPairs('ALS_MODEL', {} as EncodedPairs, { consistency })
    expect([...answer.errors]).toEqual([
      [0, unknown],
      [1, late],
    ])
  })

  it('has one deadline: the last read has what the others left of it', async () => {
    const clock = new ManualClock()
    const asked: (number | undefined)[] = []
    const members: Partial<ServedState> = {
      rows: async (_state, _keys, options) => {
        asked.push(options?.deadlineMs)
        clock.advance(300)
        return []
      },
    }
    const state = served(members, clock)
    await state.rows('ALS_MODEL', [], { consistency, deadlineMs: 1_000 })
    expect(asked).toEqual([1_000, 700])
  })
})

describe('observations over HTTP', () => {
  const observe = { method: 'POST', url: '/v1/observe' } as const
  const payload = { user: '1', item: '50', rating: 4 }

  it('are answered with their position, a Weir-Consistency and a session', async () => {
    const world = new GatewayWorld()
    world.sources = LEARNING.sources
    world.positions = [{ partition: 2, offset: 9 }]
    await using app = await world.open()
    const answer = await app.inject({ ...observe, payload })
    expect(answer.json()).toEqual({ accepted: 1, positions: world.positions })
    expect(answer.headers).toMatchObject({
      'weir-consistency': 'at-least:1:2:9',
      'weir-session': '1:2:9',
    })
    world.positions = [{ partition: 0, offset: 4 }]
    const headers = { 'weir-session': '1:2:9' }
    const pref = await app.inject({ method: 'POST', url: '/pref/1/50', payload: '4', headers })
    expect([pref.statusCode, pref.headers['weir-session']]).toEqual([200, '1:2:9,1:0:4'])
  })

  it('of two partitions come before a prediction with an interval too', async () => {
    const world = new GatewayWorld()
    world.sources = LEARNING.sources
    await using app = await world.open()
    const url = '/v1/predict/1/50?interval=0.9'
    const read = (session: string) => app.inject({ url, headers: { 'weir-session': session } })
    const [none, two] = [await read(''), await read('1:2:9,1:0:4')]
    // The job of this world has no partition; without a session its version has no variances.
    expect(none.json()).toMatchObject({ code: 'UNSUPPORTED' })
    expect(two.json().detail).toMatch(/^at-least names partition 2 of source 1/)
  })

  it('of another form than a session, or of two consistencies, are refused', async () => {
    const world = new GatewayWorld()
    await using app = await world.open()
    const read = async (headers: Record<string, string>): Promise<number> =>
      (await app.inject({ url: '/v1/predict/1/50', headers })).statusCode
    expect(await read({ 'weir-session': '1:2' })).toBe(400)
    expect(await read({ 'weir-session': '1:2:9', 'weir-consistency': 'checkpoint' })).toBe(400)
  })
})

describe('the readiness of a gateway', () => {
  it('says no while the topic of observations cannot be reached; it lives, and answers predictions', async () => {
    const world = new GatewayWorld()
    await using app = await world.open()
    const get = async (url: string): Promise<number> => (await app.inject({ url })).statusCode
    expect(await get('/v1/health/ready')).toBe(200)
    world.topicError = new Error('no connection to Kafka at k1:9092')
    const answer = await app.inject({ url: '/v1/health/ready' })
    expect(answer.statusCode).toBe(503)
    // A probe shows no token, and learns no address.
    expect(answer.body).not.toContain('k1')
    expect(await get('/v1/health/live')).toBe(200)
    expect(await get('/v1/predict/1/50')).toBe(200)
    world.topicError = undefined
    expect(await get('/v1/health/ready')).toBe(200)
  })
})
