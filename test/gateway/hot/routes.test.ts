import { once } from 'node:events'
import { afterAll, describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import type { GatewayOptions } from '../../../src/gateway/gateway.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { GatewayWorld } from '../world.ts'
import { RawClient } from './raw-client.ts'

type App = Awaited<ReturnType<GatewayWorld['open']>>

const opened: App[] = []

afterAll(async () => {
  await Promise.all(opened.map((app) => app.close()))
})

async function listening(world: GatewayWorld, options: Partial<GatewayOptions>): Promise<App> {
  const app = await world.open({}, options)
  opened.push(app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return app
}

/** The same gateway twice: with hot requests, and with node:http for all of them. */
async function bothWays(
  options: () => Partial<GatewayOptions>,
  world = new GatewayWorld(),
): Promise<[App, App]> {
  const open = (isHot: boolean) => listening(world, { ...options(), isHot })
  return [await open(true), await open(false)]
}

let openToAll: Promise<[App, App]> | undefined
const withoutTokens = (): Promise<[App, App]> => (openToAll ??= bothWays(() => ({})))

const get = (path: string, fields = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`
const PREDICT = get('/v1/predict/1/50')
const post = (body: string, fields = ''): string =>
  `POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const observe = (body: string, fields = ''): string =>
  post(body, fields).replace('/v1/predict', '/v1/observe')
const OBSERVE = observe('{"user":"1","item":"50","rating":4.5}')
const RECOMMEND = get('/recommend/1?howMany=2')
const BATCH = post('{"pairs":[["1","50"],["nobody","50"],["1","nothing"]]}')
const pairInputs = (data: string) =>
  `"inputs":[{"name":"user","datatype":"BYTES","shape":[1],${data}},{"name":"item","datatype":"BYTES","shape":[1],"data":["50"]}]`
/** A run of a model over the Open Inference Protocol. */
const infer = (body: string, fields = '', path = 'ALS_MODEL'): string =>
  `POST /v2/models/${path}/infer HTTP/1.1\r\nHost: localhost\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`
const INFER = infer(
  `{"id":"a \\u00fc","parameters":{"timeout":9000000},${pairInputs('"data":["1"]')}}`,
)
const BINARY_JSON = `{${pairInputs('"parameters":{"binary_data_size":5}')},"outputs":[{"name":"user_cold"},{"name":"score","parameters":{"binary_data":true}}]}`
const jsonLength = (length: number) => `Inference-Header-Content-Length: ${length}\r\n`
const INFER_BINARY = infer(`${BINARY_JSON}\x01\0\0\x001`, jsonLength(BINARY_JSON.length))
const LAST = get('/v1/health/live', 'Connection: close\r\n')

/** What a gateway answers to these bytes, with the server's own fields in the order of their names. */
async function answerOf(app: App, text: string, first = ''): Promise<string> {
  using client = await RawClient.open(app)
  if (first !== '') {
    client.send(first)
    await client.answers(1)
  }
  client.send(text)
  return comparable(await client.all())
}

function comparable(received: string): string {
  return received
    .replaceAll(/Date: [^\r]*/g, 'Date: D')
    .replaceAll(/"ageMs":[-.0-9e]+/g, '"ageMs":0')
    .replaceAll(/content-length: \d+\r\n/g, '')
    .replaceAll(/(HTTP\/1\.1 [^\r]*\r\n)([^{]*?)\r\n\r\n/g, (_, line, fields) => {
      const sorted = String(fields).split('\r\n').sort()
      return `${line}${sorted.join('\r\n')}\r\n\r\n`
    })
}

describe('a hot request', () => {
  const reader = tokenOf(1)
  const writer = tokenOf(2, { role: 'write' })
  const slow = tokenOf(3, { limit: { perSecond: 0.1, burst: 1 } })
  const withTokens = () => ({
    access: new AccessControl(
      shareAccess([reader, writer, slow].map(({ record }) => record)),
      new ManualClock(),
    ),
  })
  const bearer = (token: string) => `Authorization: Bearer ${token}\r\n`

  it.each([
    ['a prediction', PREDICT],
    ['a user that the model does not know', get('/v1/predict/nobody/50')],
    ['fields of a proxy', get('/v1/predict/1/50', 'X-Forwarded-For: 10.0.0.1\r\nVia: 1.1 x\r\n')],
    ['several requests at once', PREDICT + get('/v1/predict/2/50') + PREDICT],
    ['the id of the mean rows', get('/v1/predict/MEAN/50') + post('{"pairs":[["1","MEAN"]]}')],
    ['a batch', BATCH],
    ['a batch in a row of other requests', PREDICT + BATCH + BATCH + PREDICT + BATCH],
    ['a batch that is not as the scanner reads it', post('{"pairs":[["1","5\\u0030"]]}') + BATCH],
    ['a batch that the schema refuses', post('{"pairs":[["1"]]}') + PREDICT],
    ['a list', RECOMMEND],
    ['a list as JSON', get('/recommend/1', 'Accept: application/json\r\n')],
    ['a list as text', get('/recommend/1', 'Accept: text/plain\r\n')],
    ['a list of a type that lists do not have', get('/recommend/1', 'Accept: image/png\r\n')],
    ['a list of a user that the model does not know', RECOMMEND + get('/recommend/nobody')],
    ['a list of the mean user', get('/recommend/MEAN')],
    ['lists between other requests', PREDICT + RECOMMEND + BATCH + RECOMMEND + PREDICT],
    ['a run of a model', INFER],
    ['runs between other requests', PREDICT + INFER + INFER_BINARY + INFER_BINARY + BATCH + INFER],
    ['an observation', OBSERVE],
    ['observations between other requests', PREDICT + OBSERVE + OBSERVE + BATCH + OBSERVE + INFER],
    ['an observation at a time', observe('{"user":"1","item":"5","rating":-0,"timestamp":1e3}')],
    ['an observation with an empty id', OBSERVE + observe('{"user":"","item":"50","rating":1}')],
    ['an observation with a field too many', observe('{"user":"1","item":"5","rating":1,"a":1}')],
    ['several observations', OBSERVE + observe('[{"user":"1","item":"50","rating":1}]') + OBSERVE],
    [
      'an observation in a session',
      OBSERVE + observe('{"user":"1","item":"5","rating":1}', 'Weir-Session: 1:0:7\r\n'),
    ],
    [
      'a run with the best classes',
      infer(
        `{${pairInputs('"data":["1"]')},"outputs":[{"name":"score","parameters":{"classification":1}}]}`,
      ),
    ],
    ['a run of a version', infer(`{${pairInputs('"data":["1"]')}}`, '', 'ALS_MODEL/versions/1')],
    ['a run of a version that is not there', infer('{}', '', 'ALS_MODEL/versions/7')],
    ['a run of a version that is none', infer('{}', '', 'ALS_MODEL/versions/x')],
    ['a run of an unknown model', infer('{}', '', 'nothing') + INFER],
    ['a run without inputs', INFER + infer('{"inputs":[]}') + INFER],
    ['a run whose body is no JSON', infer('{"inputs') + INFER],
    ['a run whose body is shorter than its JSON', infer('{}', jsonLength(3))],
    [
      'a run with too few bytes',
      INFER_BINARY + infer(`${BINARY_JSON}\x01`, jsonLength(BINARY_JSON.length)),
    ],
    [
      'a run with too many bytes',
      INFER_BINARY + infer(`${BINARY_JSON}\x01\0\0\x001!`, jsonLength(BINARY_JSON.length)),
    ],
    [
      'a run with bytes that are no text',
      infer(`${BINARY_JSON}\x02\0\0\x001`, jsonLength(BINARY_JSON.length)),
    ],
  ])('for %s has the answer of the Fastify route', async (_, text) => {
    const [hot, plain] = await withoutTokens()
    const answer = await answerOf(hot, text + LAST)
    expect(answer).toContain('"live":true')
    expect(answer).toBe(await answerOf(plain, text + LAST))
  })

  it('has the answer of the Fastify route for every token, and counts in the same metrics', async () => {
    const [hot, plain] = await bothWays(withTokens)
    const tokens = [slow.text.slice(0, -2), reader.text, slow.text, slow.text]
    const requests = tokens.map((token) => get('/v1/predict/1/50', bearer(token)))
    const batches = [reader.text, slow.text].map((token) =>
      post('{"pairs":[["1","50"]]}', bearer(token)),
    )
    const lists = [reader.text, slow.text].map((token) => get('/recommend/1', bearer(token)))
    const runs = [reader.text, slow.text].map((token) => infer('{}', bearer(token)))
    const writes = [reader.text, writer.text].map((token) =>
      observe('{"user":"1","item":"50","rating":4}', bearer(token)),
    )
    const text = [PREDICT, ...requests, ...batches, ...lists, ...runs, ...writes, BATCH, LAST].join(
      '',
    )
    const answer = await answerOf(hot, text)
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '401',
      '401',
      '200',
      '200',
      '429',
      '200',
      '429',
      '200',
      '429',
      '400',
      '429',
      '403',
      '200',
      '401',
      '200',
    ])
    expect(answer).toBe(await answerOf(plain, text))
    const counts = [hot, plain].map(async (app) => {
      const headers = { authorization: `Bearer ${reader.text}` }
      const { body } = await app.inject({ url: '/metrics', headers })
      return body
        .split('\n')
        .filter((line) => /_count.*(predict|recommend|infer|observe)/.test(line))
    })
    const [ofHot, ofPlain] = await Promise.all(counts)
    expect(ofHot).toHaveLength(12)
    expect(ofHot).toEqual(ofPlain)
  })

  it('of an observation has the places that the Fastify route names, and its problems', async () => {
    const world = new GatewayWorld()
    world.sources = [{ number: 1, uid: 'observations', tracked: true }]
    world.positions = [{ partition: 1, offset: 8 }]
    const apps = await bothWays(() => ({}), world)
    const [hot, plain] = await Promise.all(apps.map((app) => answerOf(app, OBSERVE + LAST)))
    expect(hot).toContain('weir-session: 1:1:8\r\n')
    expect(hot).toContain('{"accepted":1,"positions":[{"partition":1,"offset":8}]}')
    expect(hot).toBe(plain)
    const rating = { user: '1', item: '50', rating: 4.5, timestamp: -1 }
    expect(world.stored).toEqual([rating, rating])
    world.appendError = new WeirError('CONNECTOR_FAILED', 'the topic is gone')
    const [failed, same] = await Promise.all(apps.map((app) => answerOf(app, OBSERVE + LAST)))
    expect(failed).toContain('HTTP/1.1 503 Service Unavailable')
    expect(failed).toBe(same)
  })

  it('of an observation is never one of node:http', async () => {
    const app = await listening(new GatewayWorld(), {})
    let requests = 0
    app.server.on('request', () => {
      requests += 1
    })
    using client = await RawClient.open(app)
    client.send(OBSERVE + OBSERVE)
    await client.answers(2)
    expect(requests).toBe(0)
    client.send(LAST)
    await client.all()
    expect(requests).toBe(1)
  })

  it('has the problem of an error that the job answers', async () => {
    const world = new GatewayWorld()
    const error = new WeirError('RESTORING', 'not yet; ünd warte')
    const state = Object.assign(Object.create(world.model.reader()), {
      predictWithEnvelope: async () => ({ ok: false, error }),
      predictPairs: async () => {
        throw error
      },
    })
    const answers = [true, false].map(async (isHot) => {
      const app = await world.open({ state }, { isHot })
      opened.push(app)
      await app.listen({ host: '127.0.0.1', port: 0 })
      return await answerOf(app, PREDICT + BATCH + LAST)
    })
    const [hot, plain] = await Promise.all(answers)
    expect(hot).toContain('HTTP/1.1 503 Service Unavailable')
    expect(hot).toContain('retry-after: 1')
    expect(hot).toBe(plain)
  })

  it('is left to Fastify when every request is logged', async () => {
    const lines: string[] = []
    const logger = { level: 'info', stream: { write: (line: string) => void lines.push(line) } }
    const app = await listening(new GatewayWorld(), { logger })
    await answerOf(app, PREDICT + LAST)
    expect(lines.filter((line) => line.includes('incoming request'))).toHaveLength(2)
  })
})

describe('a connection', () => {
  it.each([
    ['a length and no body', get('/v1/predict/1/50', 'Content-Length: 0\r\n')],
    [
      'a request in a body',
      get('/v1/predict/1/50', `Content-Length: ${PREDICT.length}\r\n`) + PREDICT,
    ],
    [
      'a length and chunks',
      `${get('/v1/predict/1/50', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n`,
    ],
    ['chunks', `${get('/v1/predict/1/50', 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`],
    ['two hosts', get('/v1/predict/1/50', 'Host: other\r\n')],
    ['a folded field', get('/v1/predict/1/50', 'Accept: a\r\n b\r\n')],
    ['a bare line feed', get('/v1/predict/1/50', 'Accept: a\nContent-Length: 4\r\n')],
    ['a zero byte', get('/v1/predict/1/50', 'Accept: \0\r\n')],
    ['HTTP/1.0', `GET /v1/predict/1/50 HTTP/1.0\r\n\r\n`],
    ['no host', `GET /v1/predict/1/50 HTTP/1.1\r\n\r\n`],
    ['an empty line first', `\r\n${PREDICT}`],
    ['another route between', PREDICT + get('/v1/states') + PREDICT],
    ['an escaped id', get('/v1/predict/%31/50')],
    ['a batch that is no JSON', post('{"pairs":[["1","50"') + PREDICT],
    ['a run that is no JSON', infer('{"inputs":') + PREDICT],
    ['a run with two lengths', infer('{"inputs":[]}', 'Content-Length: 4\r\n')],
    ['a batch with two lengths', post('{"pairs":[["1","50"]]}', 'Content-Length: 4\r\n')],
    ['bytes of no protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
  ])('with %s after a hot request has the answers of node:http', async (_, text) => {
    const [hot, plain] = await withoutTokens()
    const answer = await answerOf(hot, text + LAST, PREDICT)
    expect(answer).toContain('"score":10')
    expect(answer).toBe(await answerOf(plain, text + LAST, PREDICT))
  })

  it('may send a request in two parts, cut anywhere', async () => {
    const [app] = await withoutTokens()
    const text = BATCH + PREDICT + INFER_BINARY + get('/v1/states') + PREDICT
    const expected = await answerOf(app, text + LAST)
    const first = BATCH.length + PREDICT.length + INFER_BINARY.length
    // In the short part at every eighth byte, from another one for each commit.
    const cuts = Array.from({ length: first + 8 }, (_, i) => i + 1).filter(
      (cut) => (cut + commitSeed()) % campaignSize(8, 1) === 0,
    )
    const answers = cuts.map(async (cut) => {
      using client = await RawClient.open(app)
      client.send(text.slice(0, cut))
      await new Promise(setImmediate)
      client.send(text.slice(cut) + LAST)
      return comparable(await client.all())
    })
    expect(new Set(await Promise.all(answers))).toEqual(new Set([expected]))
  })

  it('that ends in the middle of a body is closed', async () => {
    const [app] = await withoutTokens()
    using client = await RawClient.open(app)
    client.send(PREDICT)
    await client.answers(1)
    client.socket.end(BATCH.slice(0, -1))
    await client.all()
  })

  it('may send more requests than are answered at once, and gets all answers in their order', async () => {
    const ids = Array.from({ length: 500 }, (_, i) => `u${i}`)
    const [app] = await withoutTokens()
    using client = await RawClient.open(app)
    client.send(ids.map((id) => get(`/v1/predict/${id}/50`)).join(''))
    const received = await client.answers(ids.length, /"userCold"/g)
    expect([...received.matchAll(/"user":"(u\d+)"/g)].map(([, id]) => id)).toEqual(ids)
  })

  it('is ended when the gateway closes, and the answer of its last request arrives before', async () => {
    const world = new GatewayWorld()
    const gate = Promise.withResolvers<void>()
    const reader = world.model.reader()
    const state = Object.assign(Object.create(reader), {
      predictWithEnvelope: async (...args: Parameters<typeof reader.predictWithEnvelope>) => {
        await gate.promise
        return await reader.predictWithEnvelope(...args)
      },
    })
    const app = await world.open({ state })
    await app.listen({ host: '127.0.0.1', port: 0 })
    using idle = await RawClient.open(app)
    using busy = await RawClient.open(app)
    busy.send(PREDICT)
    using plain = await RawClient.open(app)
    plain.send(get('/v1/health/live'))
    await plain.answers(1)
    const closed = app.close()
    await idle.all()
    gate.resolve()
    expect(await busy.all()).toContain('"score":10')
    await closed
  })

  it('that ends before its answer still gets it', async () => {
    const [app] = await withoutTokens()
    using client = await RawClient.open(app)
    client.socket.end(PREDICT)
    await once(client.socket, 'end')
    expect(client.received).toContain('"score":10')
  })
})
