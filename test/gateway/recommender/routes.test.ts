import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import { GatewayWorld } from '../world.ts'

const json = { accept: 'application/json' }

/** A user and four items whose scores are 4, 3, 2 and 1. */
function ranked(): GatewayWorld {
  const world = new GatewayWorld()
  world.model.put('u,1-U', [1, 0, 0, 0])
  world.model.put('u2-U', [0, 1, 0, 0])
  for (const [item, row] of [
    ['a', [4, 0, 0, 0]],
    ['b', [3, 2, 0, 0]],
    ['c', [2, 9, 0, 0]],
    ['d', [0.5, 0, 0, 0]],
  ] as const) {
    world.model.put(`${item}-I`, row)
  }
  return world
}

describe('recommendations with the names of Oryx', () => {
  it('are CSV, and JSON to a client that accepts it', async () => {
    const app = await ranked().open()
    const csv = await app.inject('/recommend/u%2C1?howMany=2')
    expect(csv.headers['content-type']).toContain('text/csv')
    expect(csv.payload).toBe('a,4\nb,3\n')
    const list = await app.inject({ url: '/recommend/u%2C1?howMany=2&offset=1', headers: json })
    expect(list.json()).toEqual([
      { id: 'b', value: 3 },
      { id: 'c', value: 2 },
    ])
  })

  it('of a group are those of the mean of its rows; users that the model does not know do not count', async () => {
    const app = await ranked().open()
    const answer = await app.inject({
      url: '/recommendToMany/u%2C1/u2/unknown?howMany=1',
      headers: json,
    })
    expect(answer.json()).toEqual([{ id: 'c', value: 5.5 }])
    expect((await app.inject('/recommendToMany/x/y')).statusCode).toBe(404)
  })

  it('of an anonymous user follow the items of the path and leave them out', async () => {
    const app = await ranked().open()
    const ids = async (path: string) =>
      (await app.inject({ url: path, headers: json })).json<{ id: string }[]>().map(({ id }) => id)
    const likesC = await ids('/recommendToAnonymous/c=9')
    expect(likesC[0]).toBe('b')
    expect(likesC).not.toContain('c')
    expect((await app.inject('/recommendToAnonymous/unknown')).statusCode).toBe(404)
    expect((await app.inject('/recommendToAnonymous/c=x')).statusCode).toBe(400)
  })

  it('with context add ratings to the row of the user', async () => {
    const app = await ranked().open()
    const url = '/recommendWithContext/u%2C1/b=9?howMany=1'
    expect((await app.inject({ url, headers: json })).json()).toMatchObject([{ id: 'c' }])
  })

  it('of a user that the model does not know are a 404', async () => {
    const app = await ranked().open()
    expect((await app.inject('/recommend/nobody')).statusCode).toBe(404)
  })

  it('differ as much as is asked for, over pages, and have at most 100 results then', async () => {
    const world = new GatewayWorld()
    world.model.put('u-U', [1, 0.5, 0, 0])
    // Two items of one direction, and one across.
    world.model.put('a-I', [4, 0, 0, 0])
    world.model.put('b-I', [3.9, 0, 0, 0])
    world.model.put('c-I', [0, 6, 0, 0])
    const app = await world.open()
    const list = async (query: string) => {
      const answer = await app.inject({ url: `/recommend/u?${query}`, headers: json })
      return answer.json<{ id: string; value: number }[]>()
    }
    const ids = async (query: string) => (await list(query)).map(({ id }) => id)
    expect(await ids('howMany=3')).toEqual(['a', 'b', 'c'])
    expect(await ids('howMany=3&diversity=0')).toEqual(['a', 'b', 'c'])
    expect(await ids('howMany=2&diversity=0.5')).toEqual(['a', 'c'])
    expect(await ids('howMany=1&diversity=0.5&offset=1')).toEqual(['c'])
    expect((await list('howMany=1&diversity=0.5&offset=1'))[0]).toEqual({ id: 'c', value: 3 })
    expect(await ids('howMany=2&diversity=1')).toEqual(['a', 'c'])
    const tooLong = await app.inject('/recommend/u?howMany=101&diversity=0.1')
    expect([tooLong.statusCode, tooLong.body]).toEqual([
      400,
      expect.stringContaining('at most 100'),
    ])
    expect((await app.inject('/recommend/u?diversity=1.1')).statusCode).toBe(400)
  })

  it('have at most 1,000 results', async () => {
    const app = await ranked().open()
    expect((await app.inject('/recommend/u2?howMany=1001')).statusCode).toBe(400)
    const last = await app.inject('/recommend/u2?howMany=600&offset=999')
    expect([last.statusCode, last.body]).toEqual([200, ''])
  })
})

/** Value of map state: each part after its length. */
function mapBytes(entries: Readonly<Record<string, number>>): Uint8Array {
  const bytes = new ByteWriter(64)
  for (const part of Object.entries(entries).flat()) {
    const writer = new ByteWriter(16)
    msgpackSerializer<unknown>().write(part, writer)
    bytes.sized(writer.toBytes())
  }
  return bytes.toBytes()
}

/** A job of histories: the items of `u,1` and two lists of counts. */
function histories(items: Readonly<Record<string, number>>): ServedState {
  const envelope = { modelVersion: 0 }
  return {
    routing: { states: [{ name: 'KNOWN_ITEMS' }] },
    values: async (_state: string, [user]: readonly string[]) =>
      user === 'u,1'
        ? [{ ok: true, value: mapBytes(items), envelope }]
        : [{ ok: false, error: new WeirError('UNKNOWN_KEY', 'none') }],
    topK: async (state: string, query: Float32Array, options: { k: number; version: number }) => {
      expect([[...query], options.version]).toEqual([[1], 1])
      const found = [
        { key: state === 'USER_COUNTS' ? 'u,1' : 'a', score: 7 },
        { key: state === 'USER_COUNTS' ? 'u2' : 'b', score: 2 },
      ]
      return { ok: true, value: found.slice(0, options.k), envelope }
    },
  } as unknown as ServedState
}

describe('routes about the items of users', () => {
  it('answer 501 with what to start, as long as there are no histories', async () => {
    const app = await ranked().open()
    const paths = ['/knownItems/u2', '/because/u2/a', '/mostSurprising/u2', '/mostActiveUsers']
    for (const path of [...paths, '/mostPopularItems', '/recommend/u2?considerKnownItems=false']) {
      const answer = await app.inject(path)
      expect([path, answer.statusCode]).toEqual([path, 501])
      expect(answer.json()).toMatchObject({ code: 'UNSUPPORTED' })
      expect(answer.payload).toContain('weir run histories')
    }
    expect((await app.inject('/recommend/u2?considerKnownItems=true')).statusCode).toBe(200)
  })

  it('recommend items that a user does not know, unless known ones are to be considered', async () => {
    const app = await ranked().open({ histories: histories({ a: 5, c: 1, MEAN: 3 }) })
    const ids = async (url: string) =>
      (await app.inject({ url, headers: json })).json<{ id: string }[]>().map(({ id }) => id)
    expect(await ids('/recommend/u%2C1')).toEqual(['b', '50', 'd'])
    expect(await ids('/recommend/u%2C1?considerKnownItems=true')).toEqual([
      'a',
      'b',
      'c',
      '50',
      'd',
    ])
    expect(await ids('/recommendToMany/u%2C1/u2')).not.toContain('a')
    expect(await ids('/recommendWithContext/u%2C1/d=4')).toEqual(['b', '50'])
  })

  it('list known items, those like an item, and those that the model did not expect', async () => {
    const app = await ranked().open({ histories: histories({ a: 5, c: 1, gone: 2 }) })
    expect((await app.inject('/knownItems/u%2C1')).payload).toBe('a\nc\ngone\n')
    expect((await app.inject('/knownItems/nobody')).payload).toBe('')
    const because = await app.inject({ url: '/because/u%2C1/b?howMany=2', headers: json })
    expect(because.json()).toEqual([
      { id: 'a', value: expect.closeTo(3 / Math.sqrt(13), 5) },
      { id: 'c', value: expect.closeTo(24 / Math.sqrt(13 * 85), 5) },
    ])
    expect((await app.inject('/because/u%2C1/unknown')).statusCode).toBe(404)
    expect((await app.inject('/because/u%2C1')).statusCode).toBe(400)
    const surprising = await app.inject('/mostSurprising/u%2C1')
    expect(surprising.payload).toBe('gone,0\nc,2\na,4\n')
  })

  it('list the items with most users and the users with most items', async () => {
    const app = await ranked().open({ histories: histories({}) })
    expect((await app.inject('/mostPopularItems?howMany=1')).payload).toBe('a,7\n')
    const users = await app.inject({ url: '/mostActiveUsers?howMany=1&offset=1', headers: json })
    expect(users.json()).toEqual([{ id: 'u2', count: 2 }])
  })

  it('refuse rescorer parameters where there is no rescorer, and where a list is not rescored', async () => {
    const app = await ranked().open()
    const answer = await app.inject('/recommend/u2?rescorerParams=x')
    expect([answer.statusCode, answer.json()]).toMatchObject([501, { code: 'UNSUPPORTED' }])
    expect(answer.payload).toContain('start it with --rescorer FILE')
    const rescoring = await ranked().open({
      histories: histories({ a: 5 }),
      rescorer: (items) => items,
    })
    const known = await rescoring.inject('/mostPopularItems?rescorerParams=x')
    expect([known.statusCode, known.json().detail]).toEqual([
      501,
      expect.stringContaining('the list of /mostPopularItems is not rescored'),
    ])
  })
})

describe('a gateway with a rescorer', () => {
  /** `lists` gets what the rescorer got. */
  const open = (lists: unknown[] = []) =>
    ranked().open({
      rescorer: (items, list) => {
        lists.push(list)
        const without = items.filter(({ id }) => id !== list.params)
        return without.map(({ id, value }) => ({ id, value: id === 'd' ? 100 : value }))
      },
    })

  it('orders lists by its values, over all items that it gets and not those of a page', async () => {
    const lists: unknown[] = []
    const app = await open(lists)
    expect((await app.inject('/recommend/u%2C1?howMany=2')).payload).toBe('d,100\na,4\n')
    const next = await app.inject('/recommend/u%2C1?howMany=2&offset=1&rescorerParams=a')
    expect(next.payload).toBe('b,3\nc,2\n')
    const group = await app.inject('/recommendToMany/u%2C1/u2?howMany=1&rescorerParams=x%20y')
    expect(group.payload).toBe('d,100\n')
    await app.inject('/recommendToAnonymous/a=4/b?howMany=1')
    await app.inject('/recommendWithContext/u2/a=4?howMany=1')
    expect((await app.inject('/similarity/a?howMany=1')).payload).toBe('d,100\n')
    expect(lists).toEqual([
      { route: 'recommend', ids: ['u,1'], params: undefined },
      { route: 'recommend', ids: ['u,1'], params: 'a' },
      { route: 'recommendToMany', ids: ['u,1', 'u2'], params: 'x y' },
      { route: 'recommendToAnonymous', ids: ['a', 'b'], params: undefined },
      { route: 'recommendWithContext', ids: ['u2', 'a'], params: undefined },
      { route: 'similarity', ids: ['a'], params: undefined },
    ])
  })

  it('has diverse lists of the rescored items', async () => {
    const app = await open()
    const list = await app.inject('/recommend/u%2C1?howMany=2&diversity=0.1')
    expect(list.payload.split('\n')[0]).toBe('d,100')
  })
})

describe('similar items', () => {
  it('are those with the highest mean cosine, without the given ones', async () => {
    const app = await ranked().open()
    const one = await app.inject({ url: '/similarity/a?howMany=2', headers: json })
    expect(one.json()).toEqual([
      { id: 'd', value: expect.closeTo(1, 5) },
      { id: 'b', value: expect.closeTo(3 / Math.sqrt(13), 5) },
    ])
    const two = await app.inject({ url: '/similarity/a/c/unknown?howMany=1', headers: json })
    const mean = (3 / Math.sqrt(13) + 24 / Math.sqrt(13 * 85)) / 2
    expect(two.json()).toEqual([{ id: 'b', value: expect.closeTo(mean, 5) }])
    expect((await app.inject('/similarity/unknown')).statusCode).toBe(404)
  })

  it('are the best of each factor for a whole model', async () => {
    const app = await ranked().open()
    const list = await app.inject({ url: '/popularRepresentativeItems', headers: json })
    expect(list.json()).toEqual(['a', 'c', '50', '50'])
  })
})

describe('estimates with the names of Oryx', () => {
  it('are the scores of the items, 0 for one that the model does not know', async () => {
    const app = await ranked().open()
    expect((await app.inject('/estimate/u%2C1/a/unknown/c')).payload).toBe('4\n0\n2\n')
    expect((await app.inject('/estimate/nobody/a')).statusCode).toBe(404)
  })

  it('of an anonymous user come from the items of the path', async () => {
    const app = await ranked().open()
    const [likes] = (await app.inject({ url: '/estimateForAnonymous/b/c=9', headers: json })).json<
      number[]
    >()
    const [dislikes] = (
      await app.inject({ url: '/estimateForAnonymous/b/c=0', headers: json })
    ).json<number[]>()
    expect(likes!).toBeGreaterThan(dislikes!)
    expect((await app.inject('/estimateForAnonymous/unknown/c=9')).payload).toBe('0\n')
  })

  it('of similarity are cosines', async () => {
    const app = await ranked().open()
    const answer = await app.inject({ url: '/similarityToItem/a/d/unknown/c', headers: json })
    const [same, unknown, other] = answer.json<number[]>()
    expect(same).toBeCloseTo(1, 6)
    expect(unknown).toBe(0)
    expect(other).toBeCloseTo(2 / Math.hypot(2, 9), 6)
  })
})

describe('ids and ratings with the names of Oryx', () => {
  it('lists all ids of a side', async () => {
    const app = await ranked().open()
    expect((await app.inject('/user/allIDs')).payload).toBe('1\n"u,1"\nu2\n')
    expect((await app.inject({ url: '/item/allIDs', headers: json })).json()).toEqual([
      '50',
      'a',
      'b',
      'c',
      'd',
    ])
  })

  it('appends one rating, with the strength as its body', async () => {
    const world = ranked()
    const app = await world.open()
    const headers = { 'content-type': 'text/plain' }
    await app.inject({ method: 'POST', url: '/pref/1/50', payload: '3.5', headers })
    await app.inject({ method: 'POST', url: '/pref/1/51' })
    expect(world.stored.map(({ item, rating }) => [item, rating])).toEqual([
      ['50', 3.5],
      ['51', 1],
    ])
    const bad = await app.inject({ method: 'POST', url: '/pref/1/50', payload: 'much', headers })
    expect(bad.statusCode).toBe(400)
    expect((await app.inject({ method: 'DELETE', url: '/pref/1/50' })).statusCode).toBe(501)
  })

  it('takes lines of CSV at /ingest', async () => {
    const world = ranked()
    const app = await world.open()
    const answer = await app.inject({
      method: 'POST',
      url: '/ingest',
      payload: '1,2,3\n4,5,6,70\n',
    })
    expect(answer.statusCode).toBe(200)
    expect(world.stored).toHaveLength(2)
  })

  it('is ready when a version is live', async () => {
    const world = ranked()
    const app = await world.open()
    expect((await app.inject('/ready')).statusCode).toBe(200)
    expect((await app.inject({ method: 'HEAD', url: '/ready' })).statusCode).toBe(200)
    world.liveVersion = 0
    expect((await app.inject('/ready')).statusCode).toBe(503)
  })
})
