import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { WeirError } from '../../src/core/errors.ts'
import { GatewayWorld } from './world.ts'

describe('a prediction over HTTP', () => {
  it('is the inner product of both rows, with the envelope of the answer', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject('/v1/predict/1/50')
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      user: '1',
      item: '50',
      score: 10,
      userCold: false,
      itemCold: false,
      envelope: { modelVersion: 1, partition: 0, checkpointId: 0 },
    })
  })

  it('takes the mean row of a user that the model does not know, and says so', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject('/v1/predict/nobody/50')
    expect(answer.json()).toMatchObject({ score: 1, userCold: true, itemCold: false })
  })

  it('keeps ids that look like numbers as they are written', async () => {
    const world = new GatewayWorld()
    world.model.put('01-U', [5, 0, 0, 0])
    const app = await world.open()
    expect((await app.inject('/v1/predict/01/50')).json()).toMatchObject({ user: '01', score: 5 })
  })

  it('decodes ids with slashes, spaces and other scripts', async () => {
    const world = new GatewayWorld()
    world.model.put('a/b ü-U', [7, 0, 0, 0])
    const app = await world.open()
    const path = `/v1/predict/${encodeURIComponent('a/b ü')}/50`
    expect((await app.inject(path)).json()).toMatchObject({ user: 'a/b ü', score: 7 })
  })

  it('of a batch has the order of the pairs', async () => {
    const app = await new GatewayWorld().open()
    const pairs = [
      ['1', '50'],
      ['other', '50'],
    ]
    const answer = await app.inject({ method: 'POST', url: '/v1/predict', payload: { pairs } })
    expect(answer.json()).toEqual({
      predictions: [
        { score: 10, userCold: false, itemCold: false, modelVersion: 1 },
        { score: 1, userCold: true, itemCold: false, modelVersion: 1 },
      ],
    })
  })

  it('of a batch is the same for every way to write the same JSON', async () => {
    const app = await new GatewayWorld().open()
    const texts = [
      '{"pairs":[["1","50"]]}',
      '{ "pairs" : [ ["1", "50"] ] }',
      '{"pairs":[["\\u0031","50"]]}',
      '{"state":"ALS_MODEL","pairs":[["1","50"]]}',
      '{"pairs":[["1","50"]],"version":1}',
    ]
    for (const payload of texts) {
      const headers = { 'content-type': 'application/json' }
      const answer = await app.inject({ method: 'POST', url: '/v1/predict', payload, headers })
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.body).toBe(
        '{"predictions":[{"score":10,"userCold":false,"itemCold":false,"modelVersion":1}]}',
      )
    }
  })

  it.each(['', '{"pairs":[["1","2"]', '{"__proto__":1,"pairs":[["1","2"]]}'])(
    'of a batch refuses the body %s',
    async (payload) => {
      const app = await new GatewayWorld().open()
      const headers = { 'content-type': 'application/json' }
      const answer = await app.inject({ method: 'POST', url: '/v1/predict', payload, headers })
      expect(answer.statusCode).toBe(400)
    },
  )

  it('of a batch has an error in the place of a score', async () => {
    const app = await new GatewayWorld().open()
    const payload = { pairs: [['1', '50']], version: 9 }
    const answer = await app.inject({ method: 'POST', url: '/v1/predict', payload })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({
      predictions: [{ error: { code: 'UNKNOWN_VERSION', status: 404 } }],
    })
  })

  it.each([
    ['no pairs', { pairs: [] }],
    ['a pair of three', { pairs: [['1', '2', '3']] }],
    ['an empty id', { pairs: [['', '2']] }],
    ['an unknown field', { pairs: [['1', '2']], verison: 2 }],
    ['more pairs than allowed', { pairs: Array.from({ length: 4097 }, () => ['1', '2']) }],
  ])('refuses %s', async (_, payload) => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject({ method: 'POST', url: '/v1/predict', payload })
    expect(answer.statusCode).toBe(400)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json()).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400 })
  })

  it('refuses the id of the mean rows, which no user and no item can have', async () => {
    const app = await new GatewayWorld().open()
    const pairs = [
      ['1', '50'],
      ['1', 'MEAN'],
    ]
    const answers = [
      await app.inject('/v1/predict/MEAN/50'),
      await app.inject({ method: 'POST', url: '/v1/predict', payload: { pairs } }),
      await app.inject('/recommend/MEAN'),
      await app.inject('/estimate/1/MEAN'),
    ]
    for (const answer of answers) {
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { code: 'INVALID_ARGUMENT' }])
      expect(answer.json().detail).toContain('"MEAN" is the id of the mean rows')
    }
    // Its rows can be read under their keys.
    expect((await app.inject('/v1/states/ALS_MODEL/MEAN-U')).statusCode).toBe(200)
  })

  it('reads the version that the request names', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject('/v1/predict/1/50?version=9')
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toMatchObject({ code: 'UNKNOWN_VERSION' })
  })
})

describe('state over HTTP', () => {
  it('is listed with its kinds and versions', async () => {
    const app = await new GatewayWorld().open()
    expect((await app.inject('/v1/states')).json()).toMatchObject({
      job: 'als',
      states: [{ name: 'ALS_MODEL', liveVersion: 1 }, { name: 'SVM_MODEL' }, { name: 'COUNTS' }],
    })
  })

  it('gives the row of a key', async () => {
    const app = await new GatewayWorld().open()
    expect((await app.inject('/v1/states/ALS_MODEL/1-U')).json()).toMatchObject({
      key: '1-U',
      value: [1, 2, 3, 4],
      envelope: { modelVersion: 1 },
    })
  })

  it('gives a typed value as JSON', async () => {
    const world = new GatewayWorld()
    world.model.putCount('clicks', Uint8Array.of(0x81, 0xa1, 0x6e, 0x07))
    const app = await world.open()
    expect((await app.inject('/v1/states/COUNTS/clicks')).json()).toMatchObject({ value: { n: 7 } })
  })

  it('pages through a range of keys', async () => {
    const world = new GatewayWorld()
    for (const id of ['2', '3', '4']) world.model.put(`${id}-U`, [Number(id), 0, 0, 0])
    const app = await world.open()
    const seen: string[] = []
    let from: string | undefined = ''
    while (from !== undefined) {
      const url = `/v1/states/ALS_MODEL?limit=2&from=${encodeURIComponent(from)}`
      const page: { entries: { key: string }[]; next?: string } = (await app.inject(url)).json()
      expect(page.entries.length).toBeLessThanOrEqual(2)
      seen.push(...page.entries.map(({ key }) => key))
      from = page.next
    }
    expect(seen).toEqual(['1-U', '2-U', '3-U', '4-U', '50-I', 'MEAN-I', 'MEAN-U'])
  })

  it('gives at most 1,000 rows of a page', async () => {
    const app = await new GatewayWorld().open()
    const ask = async (limit: number): Promise<number> =>
      (await app.inject(`/v1/states/ALS_MODEL?limit=${limit}`)).statusCode
    expect([await ask(1000), await ask(1001)]).toEqual([200, 400])
  })

  it('names the states that exist when one does not', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject('/v1/states/NOPE/1')
    expect(answer.statusCode).toBe(404)
    expect(answer.json<{ detail: string }>().detail).toContain('ALS_MODEL, SVM_MODEL, COUNTS')
  })

  it('reads at the consistency of the header, and refuses a header outside the grammar', async () => {
    const world = new GatewayWorld()
    const app = await world.open()
    world.model.completeCheckpoint()
    world.model.put('1-U', [9, 9, 9, 9])
    const read = async (consistency: string) =>
      await app.inject({
        url: '/v1/states/ALS_MODEL/1-U',
        headers: { 'weir-consistency': consistency },
      })
    expect((await read('checkpoint')).json()).toMatchObject({ value: [1, 2, 3, 4] })
    expect((await read('live')).json()).toMatchObject({ value: [9, 9, 9, 9] })
    const wrong = await read('soon')
    expect(wrong.statusCode).toBe(400)
    expect(wrong.json<{ detail: string }>().detail).toContain('bounded:MS')
  })

  it('that is not up to the bound in time is a 503 with Retry-After', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject({
      url: '/v1/predict/1/50',
      headers: { 'weir-consistency': 'at-least:0:1000', 'weir-deadline-ms': '30' },
    })
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.json()).toMatchObject({ code: 'NOT_UP_TO_BOUND', retryable: true })
  })
})

describe('observations over HTTP', () => {
  const post = async (
    world: GatewayWorld,
    payload: string | Buffer | object,
    headers: Record<string, string> = {},
  ) => {
    const app = await world.open()
    return await app.inject({ method: 'POST', url: '/v1/observe', payload, headers })
  }

  it('are appended one by one and in arrays', async () => {
    const world = new GatewayWorld()
    const one = { user: '1', item: '50', rating: 4.5 }
    expect((await post(world, one)).json()).toEqual({ accepted: 1, positions: [] })
    expect((await post(world, [one, { ...one, timestamp: 7000 }])).json()).toEqual({
      accepted: 2,
      positions: [],
    })
    expect(world.stored).toEqual([
      { ...one, timestamp: -1 },
      { ...one, timestamp: -1 },
      { ...one, timestamp: 7000 },
    ])
  })

  it('come as CSV with a header, gzipped', async () => {
    const world = new GatewayWorld()
    const csv = 'userId,movieId,rating,timestamp\n1,2,3,10\n4,5,0.5\n'
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'gzip' }
    expect((await post(world, gzipSync(csv), headers)).json()).toEqual({
      accepted: 2,
      positions: [],
    })
    expect(world.stored[0]).toEqual({ user: '1', item: '2', rating: 3, timestamp: 10_000 })
  })

  it('come as NDJSON; a bad line is named and nothing is stored', async () => {
    const world = new GatewayWorld()
    const line = '{"user":"1","item":"2","rating":3}\n'
    const headers = { 'content-type': 'application/x-ndjson' }
    expect((await post(world, `${line}\n${line}`, headers)).json()).toEqual({
      accepted: 2,
      positions: [],
    })
    const bad = await post(world, `${line}{"user":"1"}\n`, headers)
    expect(bad.statusCode).toBe(400)
    expect(bad.json()).toMatchObject({ code: 'UNPARSABLE_RECORD', details: { line: 2 } })
    expect(world.stored).toHaveLength(2)
  })

  it.each([
    ['a rating that is no number', '{"user":"1","item":"2","rating":"x"}'],
    ['no item', '{"user":"1","rating":1}'],
    ['an unknown field', '{"user":"1","item":"2","rating":1,"admin":true}'],
    ['a prototype', '{"user":"1","item":"2","rating":1,"__proto__":{"a":1}}'],
    ['broken JSON', '{"user":'],
    ['an empty list', '[]'],
  ])('are refused with %s', async (_, payload) => {
    const world = new GatewayWorld()
    const answer = await post(world, payload, { 'content-type': 'application/json' })
    expect(answer.statusCode).toBe(400)
    expect(world.stored).toEqual([])
  })

  it('have lines of at most 16,384 characters', async () => {
    const line = (length: number): string => `user,item,rating\n${'1,2,3'.padEnd(length, '0')}\n`
    const ask = async (length: number): Promise<unknown> => {
      const headers = { 'content-type': 'text/csv' }
      const answer = await post(new GatewayWorld(), line(length), headers)
      return [answer.statusCode, answer.json().detail ?? '']
    }
    expect(await ask(16_385)).toEqual([400, expect.stringContaining('16384')])
    expect(await ask(16_383)).toEqual([expect.anything(), expect.not.stringContaining('16384')])
  })

  it('that unpack to more than the limit are refused', async () => {
    const world = new GatewayWorld()
    const bomb = gzipSync(Buffer.alloc(17 * 1024 * 1024, '1,2,3\n'))
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'gzip' }
    const answer = await post(world, bomb, headers)
    expect(answer.statusCode).toBe(413)
    expect(answer.json()).toMatchObject({ status: 413 })
    expect(world.stored).toEqual([])
  })

  it('whose gzip is damaged are a bad request', async () => {
    const world = new GatewayWorld()
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'gzip' }
    const answer = await post(world, Buffer.from('no gzip at all'), headers)
    expect(answer.statusCode).toBe(400)
  })

  it('that the topic did not take are no success', async () => {
    const world = new GatewayWorld()
    world.appendError = new WeirError('CONNECTOR_FAILED', 'no broker answers')
    const answer = await post(world, { user: '1', item: '2', rating: 3 })
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('1')
  })

  it('are not taken by a gateway without a topic', async () => {
    const world = new GatewayWorld()
    const app = await world.open({ observations: undefined as never })
    const answer = await app.inject({ method: 'POST', url: '/v1/observe', payload: {} })
    expect(answer.statusCode).toBe(404)
  })
})

describe('a gateway', () => {
  it('is ready when a version is live', async () => {
    const world = new GatewayWorld()
    const app = await world.open()
    expect((await app.inject('/v1/health/ready')).statusCode).toBe(200)
    world.liveVersion = 0
    const notReady = await app.inject('/v1/health/ready')
    expect(notReady.statusCode).toBe(503)
    expect(notReady.json()).toMatchObject({ code: 'RESTORING' })
  })

  it('describes every route in OpenAPI 3.1, with the problem as its error', async () => {
    const app = await new GatewayWorld().open()
    const document = (await app.inject('/openapi.json')).json<{
      openapi: string
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
    }>()
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining(['/v1/predict/{user}/{item}', '/v1/predict', '/v1/observe']),
    )
    const routes = Object.values(document.paths).flatMap((path) => Object.values(path))
    expect(routes.filter(({ responses }) => responses['200'] === undefined)).toEqual([])
  })

  it('answers an unknown path with a problem that says where the routes are', async () => {
    const app = await new GatewayWorld().open()
    const answer = await app.inject('/nope?secret=1')
    expect(answer.statusCode).toBe(404)
    expect(answer.json<{ detail: string }>().detail).toBe(
      'there is no GET /nope; /docs lists the routes',
    )
  })
})
