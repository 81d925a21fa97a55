import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { preferredType } from '../../../src/gateway/http/accept.ts'
import { GatewayWorld } from '../world.ts'

let app: FastifyInstance
beforeAll(async () => {
  app = await new GatewayWorld().open()
})
afterAll(async () => await app.close())

const json = { 'content-type': 'application/json' }

describe('a request that a route does not take', () => {
  it.each([
    ['POST', '/v1/predict/1/50', 'GET, HEAD'],
    ['QUERY', '/v1/predict', 'POST'],
    ['TRACE', '/v1/states', 'GET, HEAD'],
    ['PUT', '/pref/1/50', 'DELETE, POST'],
    ['DELETE', '/recommend/1', 'GET, HEAD'],
  ])('%s %s is answered with 405 and the methods of the path', async (method, url, allow) => {
    const answer = await app.inject({ method: method as 'POST', url })
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, allow])
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json()).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' })
  })

  it('of an unknown path is a 404 before its body is read', async () => {
    const headers = { 'content-type': 'no/type' }
    const answer = await app.inject({ method: 'POST', url: '/nope', headers, payload: 'x' })
    expect(answer.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })

  it.each([
    ['GET', '/v2/nope', 404],
    ['GET', '/v2/models/none/nope/at/all', 404],
    ['DELETE', '/v2/health/live', 405],
    ['PUT', '/v2/models/double/infer', 405],
  ])('%s %s has the field error of the Open Inference Protocol', async (method, url, status) => {
    const answer = await app.inject({ method: method as 'PUT', url })
    expect(answer.statusCode).toBe(status)
    const { error, detail } = answer.json<{ error: string; detail: string }>()
    expect(error).toMatch(/^(there is no|\/v2\S* takes) /)
    expect(error).toBe(detail)
  })

  it('with a path that is not well escaped is a problem', async () => {
    const answer = await app.inject('/v1/states/%zz')
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.statusCode).toBe(400)
  })

  it.each([
    [`GET /v1/predict/${'a'.repeat(20_000)}/1 HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['no request\r\n\r\n', 400],
  ])('of bytes that HTTP refuses is a problem', async (bytes, status) => {
    await app.listen({ host: '127.0.0.1', port: 0 }).catch(() => undefined)
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(bytes)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString()
    })
    await once(socket, 'close')
    expect(answer).toMatch(
      new RegExp(`^HTTP/1.1 ${status} .*\r\ncontent-type: application/problem\\+json`),
    )
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ status })
  })
})

describe('a body', () => {
  it.each([
    ['/v1/observe', '{"user":1,"item":"50","rating":5}'],
    ['/v1/observe', '{"user":"1","item":"50","rating":"5"}'],
    ['/v1/observe', '[{"user":"1","item":"50","rating":5,"timestamp":null}]'],
    ['/v1/observe', '{"user":"1\\n2","item":"50","rating":5}'],
    ['/v1/observe', '{"user":"1","item":"50","rating":1e16}'],
    ['/v1/observe', ''],
    ['/v1/predict', '{"pairs":[[1,"50"]]}'],
    ['/v1/predict', '{"pairs":[["1","50"]],"version":"1"}'],
  ])('to %s that is %s is refused, and not converted', async (url, payload) => {
    const answer = await app.inject({ method: 'POST', url, payload, headers: json })
    expect(answer.json()).toMatchObject({ status: 400 })
  })

  it('that is missing is refused where the route needs one', async () => {
    const answer = await app.inject({ method: 'POST', url: '/v1/observe' })
    expect(answer.json()).toMatchObject({ status: 400, detail: 'the body holds no observation' })
  })
})

it.each(['application/x-ndjson', 'application/ndjson', 'application/jsonl'])(
  'observations as lines may be called %s',
  async (type) => {
    const payload = '{"user":"1","item":"50","rating":5}\n'
    const headers = { 'content-type': type }
    const answer = await app.inject({ method: 'POST', url: '/v1/observe', payload, headers })
    expect(answer.json()).toEqual({ accepted: 1, positions: [] })
  },
)

it('a body of an unknown type is refused with where the types are listed', async () => {
  const headers = { 'content-type': 'application/xml' }
  const answer = await app.inject({ method: 'POST', url: '/v1/observe', payload: '<a/>', headers })
  expect(answer.json()).toMatchObject({
    status: 415,
    detail: expect.stringContaining('/docs lists'),
  })
})

it('a refused header says what it takes', async () => {
  const headers = { 'weir-consistency': 'soon' }
  const { detail } = (await app.inject({ url: '/v1/predict/1/50', headers })).json()
  expect(detail).toContain('headers/weir-consistency cannot be "soon". How fresh or consistent')
})

describe('the type of a list', () => {
  const TYPES = ['text/csv', 'application/json', 'text/plain'] as const
  it.each([
    [undefined, 'text/csv'],
    ['*/*', 'text/csv'],
    ['application/json', 'application/json'],
    ['text/csv;q=0.5, application/json', 'application/json'],
    ['application/json;q=0, */*', 'text/csv'],
    ['text/html, application/*;q=0.9, */*;q=0.1', 'application/json'],
    ['text/plain', 'text/plain'],
    ['application/xml', undefined],
    ['application/json;q=no', undefined],
  ])('for Accept: %s is %s', (accept, type) => {
    expect(preferredType(accept, TYPES)).toBe(type)
  })

  it('that none fits is a 406', async () => {
    const answer = await app.inject({ url: '/item/allIDs', headers: { accept: 'image/png' } })
    expect(answer.json()).toMatchObject({ status: 406, code: 'NOT_ACCEPTABLE' })
  })
})
