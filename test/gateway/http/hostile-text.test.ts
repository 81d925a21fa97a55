import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WITHOUT_REGISTRY } from '../../../src/gateway/models/without-registry.ts'
import { GatewayWorld } from '../world.ts'

const ALS = '/v2/models/ALS_MODEL/infer'
const SVM = '/v2/models/SVM_MODEL/infer'
const tensor = (number: string): string =>
  `{"inputs":[{"name":"ids","shape":[1],"datatype":"INT32","data":[1]},{"name":"values","shape":[1],"datatype":"FP32","data":[${number}]}]}`

/** Bodies with a number at `NUMBER`. */
const NUMBERS: readonly (readonly [string, string, string])[] = [
  ['/v1/observe', 'application/json', '{"user":"1","item":"2","rating":NUMBER}'],
  ['/v1/observe', 'application/json', '[{"user":"1","item":"2","rating":NUMBER}]'],
  ['/v1/observe', 'application/x-ndjson', '{"user":"1","item":"2","rating":NUMBER}\n'],
  ['/v1/observe', 'text/csv', '1,2,NUMBER\n'],
  ['/ingest', 'text/csv', '1,2,NUMBER\n'],
  ['/pref/1/2', 'text/plain', 'NUMBER'],
  [SVM, 'application/json', tensor('NUMBER')],
  [
    '/classify',
    'application/json',
    '{"model":"ALS_MODEL","input":{"user":["1"],"item":["2"]},"top":NUMBER}',
  ],
  ['/v1/predict', 'application/json', '{"pairs":[["1","50"]],"version":NUMBER}'],
  ['/v1/models/rollback', 'application/json', '{"expectLive":NUMBER}'],
]
/** Bodies with a text at `TEXT`. */
const TEXTS: readonly (readonly [string, string, string])[] = [
  ['/v1/observe', 'application/json', '{"user":"TEXT","item":"2","rating":1}'],
  ['/v1/observe', 'application/x-ndjson', '{"user":"TEXT","item":"2","rating":1}\n'],
  ['/v1/observe', 'text/csv', 'TEXT,2,1\n'],
  ['/ingest', 'text/csv', 'TEXT,2,1\n'],
  ['/pref/1/2', 'text/plain', 'TEXT'],
  [
    ALS,
    'application/json',
    '{"inputs":[{"name":"user","shape":[1],"datatype":"BYTES","data":["TEXT"]},{"name":"item","shape":[1],"datatype":"BYTES","data":["50"]}]}',
  ],
  ['/classify', 'application/json', '{"model":"TEXT","input":["1"]}'],
  ['/v1/predict', 'application/json', '{"pairs":[["TEXT","50"]]}'],
  ['/v2/repository/index', 'application/json', '{"name":"TEXT"}'],
  ['/v1/models/rollback', 'application/json', '{"reason":"TEXT"}'],
  ['/v1/models/versions/1/promote', 'application/json', '{"force":"TEXT"}'],
]

const world = new GatewayWorld()
let app: FastifyInstance

beforeAll(async () => {
  app = await world.open({ models: WITHOUT_REGISTRY })
})

afterAll(() => app.close())

async function statusOf(url: string, type: string, payload: Buffer): Promise<number> {
  const headers = { 'content-type': type }
  const { statusCode } = await app.inject({ method: 'POST', url, headers, payload })
  expect(world.stored).toEqual([])
  return statusCode
}

describe('a gateway', () => {
  it.each(NUMBERS)(
    'refuses a number that is too large for its type: %s (%s) %s',
    async (url, type, body) => {
      for (const number of ['1e999', '-1e999']) {
        expect(await statusOf(url, type, Buffer.from(body.replace('NUMBER', number))), number).toBe(
          400,
        )
      }
    },
  )

  it.each(TEXTS)('refuses text that is no UTF-8: %s (%s) %s', async (url, type, body) => {
    const [before, after] = body.split('TEXT').map((part) => Buffer.from(part))
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      const payload = Buffer.concat([before!, Buffer.from(bytes), after!])
      expect(await statusOf(url, type, payload), String(bytes)).toBe(400)
    }
  })
})
