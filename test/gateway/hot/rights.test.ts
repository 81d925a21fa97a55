import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { shareAccess } from '../../../src/http/access/control.ts'
import { parseRight } from '../../../src/http/access/object-rights.ts'
import { httpAccess } from '../../../src/http/access/people/http-access.ts'
import { keySetOf, rsaKey, signed } from '../../http/access/people/issuer.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { GatewayWorld } from '../world.ts'
import { RawClient } from './raw-client.ts'

const OWN = ['read:state:ALS_MODEL', 'read:model:ALS_MODEL', 'write:topic:ratings'].map(parseRight)
const FOREIGN = ['admin:state:ALS', 'admin:model:ALS', 'admin:job:*', 'admin:topic:rating'].map(
  parseRight,
)
const KEY = rsaKey('one')
const own = tokenOf(1, { rights: OWN })
const foreign = tokenOf(2, { role: 'admin', rights: FOREIGN })
const anything = tokenOf(3, { role: 'write' })

const CLAIMS = {
  ...{ iss: 'https://id.example.org', aud: 'weir' },
  exp: Math.floor(systemClock.nowMs() / 1000) + 600,
}
const person = (name: string, groups: readonly string[]): string =>
  signed(KEY, { ...CLAIMS, sub: name, groups })

const TENSORS = JSON.stringify({
  inputs: [
    { name: 'user', shape: [1], datatype: 'BYTES', data: ['1'] },
    { name: 'item', shape: [1], datatype: 'BYTES', data: ['50'] },
  ],
})
const REQUESTS: readonly (readonly [method: string, path: string, body: string | undefined])[] = [
  ['GET', '/v1/predict/1/50', undefined],
  ['POST', '/v1/predict', '{"pairs":[["1","50"]]}'],
  ['GET', '/recommend/1', undefined],
  ['POST', '/v1/observe', '{"user":"1","item":"50","rating":4}'],
  ['POST', '/v2/models/ALS_MODEL/infer', TENSORS],
  ['POST', '/v2/models/ALS_MODEL/versions/1/infer', TENSORS],
]

let app: FastifyInstance

beforeAll(async () => {
  const people = {
    ...{ issuer: CLAIMS.iss, audience: CLAIMS.aud, claim: 'groups', clockSkewSeconds: 0 },
    keys: { json: keySetOf(KEY) },
    grants: {
      own: { role: 'read', rights: OWN },
      foreign: { role: 'admin', rights: FOREIGN },
    },
  } as const
  const records = [own, foreign, anything].map(({ record }) => record)
  const access = httpAccess(shareAccess(records, undefined, people), systemClock)
  app = await new GatewayWorld().open({}, { access })
  await app.listen({ host: '127.0.0.1', port: 0 })
})

afterAll(() => app.close())

it.each(REQUESTS)(
  'the hot way asks for the same rights as the other: %s %s',
  async (method, path, body) => {
    const ask = async (token: string, extra: string): Promise<number> => {
      // A connection that node:http has taken over is never a hot one again.
      using client = await RawClient.open(app)
      const type = body === undefined ? '' : 'Content-Type: application/json\r\n'
      const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`
      client.send(
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n${extra}${type}${length}\r\n${body ?? ''}`,
      )
      return Number(/^HTTP\/1\.1 (\d+)/.exec(await client.answers(1))![1])
    }
    // An option in a header makes a request one that node:http takes.
    const ways = ['', 'Weir-Deadline-Ms: 5000\r\n']
    for (const way of ways) {
      expect(await ask(own.text, way)).not.toBe(403)
      expect(await ask(own.text, way)).toBe(await ask(anything.text, way))
      expect(await ask(foreign.text, way)).toBe(403)
      expect(await ask(person('ann', ['own']), way)).toBe(await ask(anything.text, way))
      expect(await ask(person('bob', ['foreign']), way)).toBe(403)
      expect(await ask(person('eve', ['no group']), way)).toBe(401)
      expect(await ask(`${person('ann', ['own'])}x`, way)).toBe(401)
    }
  },
)
