import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { GatewayWorld } from '../world.ts'

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
}

/** A request of an operation of the document that takes the header fields about reads. */
interface Sample {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly payload?: object
}

const PLACES: Readonly<Record<string, string>> = {
  user: '1',
  item: '50',
  to: '50',
  state: 'ALS_MODEL',
  key: '1-U',
  model: 'ALS_MODEL',
  version: '1',
}

const INPUTS = [
  { name: 'user', datatype: 'BYTES', shape: [1], data: ['1'] },
  { name: 'item', datatype: 'BYTES', shape: [1], data: ['50'] },
]

function bodyOf(path: string): object {
  if (path.endsWith('/infer')) return { inputs: INPUTS }
  if (path === '/classify') return { model: 'ALS_MODEL', input: { user: ['1'], item: ['50'] } }
  return { pairs: [['1', '50']] }
}

let app: FastifyInstance
/** Every operation that says in the document that it takes the fields. */
let samples: readonly Sample[]

beforeAll(async () => {
  app = await new GatewayWorld().open()
  const document = (await app.inject({ url: '/openapi.json' })).json() as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  samples = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]): Sample[] => {
      const fields = parameters.filter((parameter) => parameter.in === 'header')
      if (!fields.some(({ name }) => name === 'weir-consistency')) return []
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => PLACES[name]!)
      return method === 'get'
        ? [{ method: 'GET', url }]
        : [{ method: 'POST', url, payload: bodyOf(path) }]
    }),
  )
})

const HEADERS = { 'weir-consistency': 'live', 'weir-deadline-ms': '4000' }

async function statusOf(sample: Sample, headers: Readonly<Record<string, string>>) {
  const { statusCode, body } = await app.inject({ ...sample, headers })
  return { url: sample.url, statusCode, body }
}

describe('the header fields about reads', () => {
  it('are taken by every route that reads state', () => {
    const urls = samples.map(({ method, url }) => `${method} ${url}`)
    expect(urls).toEqual(
      expect.arrayContaining([
        'GET /v1/predict/1/50',
        'POST /v1/predict',
        'GET /v1/states/ALS_MODEL/1-U',
        'POST /v2/models/ALS_MODEL/infer',
        'POST /v2/models/ALS_MODEL/versions/1/infer',
        'POST /classify',
        'GET /recommend/1',
      ]),
    )
    expect(urls.length).toBeGreaterThan(20)
  })

  it.each([
    { 'weir-consistency': 'soon' },
    { 'weir-consistency': 'at-least:1' },
    { 'weir-deadline-ms': 'nonsense' },
    { 'weir-deadline-ms': '0' },
    { 'weir-deadline-ms': '60001' },
  ])('are refused where they are nonsense: %o', async (wrong) => {
    for (const sample of samples) {
      expect(await statusOf(sample, wrong)).toMatchObject({
        statusCode: 400,
        body: expect.stringContaining(Object.keys(wrong)[0]!),
      })
    }
  })

  it('are kept: what a route answers with 200, it does not beyond an unreachable bound', async () => {
    const unreachable = { 'weir-consistency': 'at-least:0:999999', 'weir-deadline-ms': '30' }
    let answered = 0
    for (const sample of samples) {
      if ((await statusOf(sample, HEADERS)).statusCode !== 200) continue
      answered += 1
      const { statusCode, body, url } = await statusOf(sample, unreachable)
      // A batch says it pair by pair.
      const isBatch = url === '/v1/predict'
      expect({ url, statusCode }).toEqual({ url, statusCode: isBatch ? 200 : 503 })
      expect(body).toContain('NOT_UP_TO_BOUND')
    }
    expect(answered).toBeGreaterThan(6)
  })
})

it('a deadline in the parameters of an inference and one in its header: the shorter holds', async () => {
  const url = '/v2/models/ALS_MODEL/infer'
  const bound = { 'weir-consistency': 'at-least:0:999999' }
  const startMs = performance.now()
  const payload = { inputs: INPUTS, parameters: { timeout: 40_000 } }
  const headers = { ...bound, 'weir-deadline-ms': '55000' }
  expect((await app.inject({ method: 'POST', url, payload, headers })).statusCode).toBe(503)
  expect(performance.now() - startMs).toBeLessThan(10_000)
})
