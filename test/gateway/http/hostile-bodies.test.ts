import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { GatewayWorld } from '../world.ts'

const MIB = 1024 * 1024

/** The attack of one token and 61 kB: 60 MB of empty objects. */
const BOMB = gzipSync(`{"inputs":[${'{},'.repeat(20 * MIB)}{}]}`)
const NO_UTF8 = Buffer.from('{"model":"M\xfcller","user":"M\xfcller"}', 'latin1')

/** Bodies that cost much, that are no text, or that no one means. */
const BODIES: Readonly<Record<string, { body: Buffer; coding?: string }>> = {
  'a gzip bomb of empty objects': { body: BOMB, coding: 'gzip' },
  'a gzip bomb of zeros': { body: gzipSync(Buffer.alloc(30 * MIB, 0x30)), coding: 'gzip' },
  'empty objects': { body: Buffer.from(`{"inputs":[${'{},'.repeat(300_000)}{}]}`) },
  'brackets alone': { body: Buffer.from('['.repeat(900_000)) },
  'deep objects': { body: Buffer.from('{"a":'.repeat(100_000)) },
  'deep lists': { body: Buffer.from(`{"inputs":${'['.repeat(5000)}${']'.repeat(5000)}}`) },
  'different fields': {
    body: Buffer.from(`{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}`),
  },
  'text of another encoding': { body: NO_UTF8 },
}

const TYPES = ['application/json', 'text/csv', 'application/x-ndjson']

let app: FastifyInstance
let routes: readonly (readonly [string, string])[]

beforeAll(async () => {
  app = await new GatewayWorld().open({ modelControl: {} })
  await app.ready()
  const { paths = {} } = app.swagger() as unknown as {
    paths?: Record<string, Record<string, object>>
  }
  routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => 'requestBody' in operation)
      .map(([method]) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, '1')] as const),
  )
})

afterAll(() => app.close())

const send = async (method: string, url: string, name: string, type: string) => {
  const { body, coding } = BODIES[name]!
  const headers = {
    'content-type': type,
    ...(coding === undefined ? {} : { 'content-encoding': coding }),
  }
  return await app.inject({ method: method as 'POST', url, payload: body, headers })
}

describe('every route of a gateway that takes a body', () => {
  it.each(Object.keys(BODIES))('refuses it and blames the client: %s', async (name) => {
    expect(routes.length).toBeGreaterThan(5)
    for (const [at, [method, url]] of routes.entries()) {
      // From route to route another type, by the seed.
      const one = TYPES[(at + commitSeed()) % TYPES.length]!
      for (const type of campaignSize([one], TYPES)) {
        const { statusCode, body } = await send(method, url, name, type)
        const where = `${method} ${url} ${type}: ${body.slice(0, 200)}`
        expect(statusCode, where).toBeGreaterThanOrEqual(400)
        // A route of no service says so.
        expect(statusCode === 501 || statusCode < 500, where).toBe(true)
        expect(body, where).not.toContain('call stack')
      }
    }
  })

  it('says what is too much', async () => {
    const infer = '/v2/models/ALS_MODEL/infer'
    const refused = async (name: string) => {
      const answer = await send('POST', infer, name, 'application/json')
      return [answer.statusCode, answer.json<{ detail: string }>().detail] as const
    }
    expect(await refused('a gzip bomb of empty objects')).toEqual([
      413,
      expect.stringContaining('100 times'),
    ])
    expect(await refused('empty objects')).toEqual([413, expect.stringContaining('65536')])
    expect(await refused('deep lists')).toEqual([400, expect.stringContaining('deeper than 64')])
    expect(await refused('text of another encoding')).toEqual([
      400,
      expect.stringContaining('UTF-8'),
    ])
  })

  it('takes a compressed body of the usual ratio', async () => {
    const lines = Array.from({ length: 100_000 }, (_, i) => `${i},${(i * 7919) % 1000},3.5`)
    const headers = { 'content-type': 'text/csv', 'content-encoding': 'gzip' }
    const payload = gzipSync(lines.join('\n'))
    const answer = await app.inject({ method: 'POST', url: '/v1/observe', payload, headers })
    expect([answer.statusCode, answer.json()]).toEqual([200, { accepted: 100_000, positions: [] }])
  })
})

describe('a number of JSON that overflows', () => {
  it.each(['1e999', '-1e999', '1e39'])('is refused: %s', async (number) => {
    const body = (data: string): string =>
      `{"inputs":[{"name":"index","datatype":"INT64","shape":[1],"data":[1]},{"name":"value","datatype":"FP32","shape":[1],"data":[${data}]}]}`
    const infer = (payload: string) =>
      app.inject({ method: 'POST', url: '/v2/models/SVM_MODEL/infer', payload })
    expect((await infer(body('2'))).statusCode).toBe(200)
    const answer = await infer(body(number))
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([
      400,
      expect.stringContaining('too large for 32 bits'),
    ])
  })
})
