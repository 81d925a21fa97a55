import { describe, expect, it } from 'vitest'
import { RequestReader } from '../../../src/gateway/hot/request-reader.ts'
import { HEAD, LIMITS, MAX_OBSERVATION_BYTES, read } from './reading.ts'

describe('the reader of hot observations', () => {
  const BODY = '{"user":"1","item":"50","rating":4.5}'
  const JSON_TYPE = 'Content-Type: application/json\r\n'
  const post = (body: string, fields = JSON_TYPE): string =>
    `POST /v1/observe HTTP/1.1\r\n${HEAD}${fields}Content-Length: ${body.length}\r\n\r\n${body}`
  const WHOLE = post(BODY)
  const readingOf = (text: string) => new RequestReader(LIMITS).read(text, 0)
  const RATING = { user: '1', item: '50', rating: 4.5, timestamp: -1 }

  it('reads the observation, the token and the end of a request', () => {
    const text = post(BODY, `${JSON_TYPE}Authorization: Bearer abc\r\n`)
    const reader = read(`${text}GET `)
    expect(reader).toMatchObject({ token: 'abc', end: text.length })
    expect(reader?.request).toEqual({ kind: 'observation', observation: RATING })
  })

  it.each([
    ['{ "item": "50",\n "user": "1", "rating": 45e-1 }', RATING],
    ['{"user":"1","item":"50","rating":4.5,"timestamp":1000}', { ...RATING, timestamp: 1000 }],
    ['{"user":"a \\u00fc\\"","item":"50","rating":4.5}', { ...RATING, user: 'a ü"' }],
    ['{"user":"\xc3\xbc","item":"50","rating":4.5}', { ...RATING, user: 'ü' }],
  ])('reads %s', (body, observation) => {
    expect(read(post(body))?.request).toEqual({ kind: 'observation', observation })
  })

  it('waits for a body whose head has arrived, and leaves a part of a head to node:http', () => {
    for (let length = 0; length < WHOLE.length; length++) {
      const isHead = length >= WHOLE.length - BODY.length
      expect(readingOf(WHOLE.slice(0, length)), String(length)).toBe(isHead ? 'part' : 'other')
    }
  })

  it('gives a batch after an observation the token of its own head', () => {
    const reader = new RequestReader(LIMITS)
    const batch = post('{"pairs":[["1","50"]]}').replace('observe', 'predict')
    const text = post(BODY, `${JSON_TYPE}Authorization: Bearer abc\r\n`) + WHOLE + batch
    const seen: unknown[] = []
    for (let at = 0; at < text.length; at = reader.end) {
      seen.push([reader.read(text, at), reader.request.kind, reader.token])
    }
    expect(seen).toEqual([
      ['whole', 'observation', 'abc'],
      ['whole', 'observation', undefined],
      ['whole', 'pairs', undefined],
    ])
  })

  it('leaves all to node:http where the gateway takes no observations', () => {
    expect(new RequestReader({ ...LIMITS, maxObservationBytes: 0 }).read(WHOLE, 0)).toBe('other')
  })

  it.each([
    ['several observations', post(`[${BODY}]`)],
    ['no user', post('{"item":"50","rating":4.5}')],
    ['a user that is a number', post('{"user":1,"item":"50","rating":4.5}')],
    ['an empty user', post('{"user":"","item":"50","rating":4.5}')],
    ['a user of two lines', post('{"user":"1\\n","item":"50","rating":4.5}')],
    ['no rating', post('{"user":"1","item":"50"}')],
    ['a rating that is a text', post('{"user":"1","item":"50","rating":"4.5"}')],
    ['a rating that is too large', post('{"user":"1","item":"50","rating":1e999}')],
    ['a time that is too early', post('{"user":"1","item":"50","rating":4.5,"timestamp":-1}')],
    ['a time that is no integer', post('{"user":"1","item":"50","rating":4.5,"timestamp":0.5}')],
    ['a time that is null', post('{"user":"1","item":"50","rating":4.5,"timestamp":null}')],
    ['an unknown field', post('{"user":"1","item":"50","rating":4.5,"time":1}')],
    ['one field too many', post('{"user":"1","item":"50","rating":1,"timestamp":1,"a":1}')],
    ['a prototype', post('{"user":"1","item":"50","rating":1,"__proto__":1}')],
    ['a body that is no JSON', post(BODY.slice(1))],
    ['null', post('null')],
    ['bytes that are no UTF-8', post('{"user":"\xfc","item":"50","rating":4.5}')],
    ['a byte order mark', post(`\xef\xbb\xbf${BODY}`)],
    ['a body that is too long', post(`${BODY}${' '.repeat(MAX_OBSERVATION_BYTES)}`)],
    ['no type', post(BODY, '')],
    ['another type', post(BODY, 'Content-Type: text/csv\r\n')],
    ['a content coding', post(BODY, `${JSON_TYPE}Content-Encoding: gzip\r\n`)],
    ['two lengths', post(BODY, `${JSON_TYPE}Content-Length: 3\r\n`)],
    ['chunks', post(BODY, `${JSON_TYPE}Transfer-Encoding: chunked\r\n`)],
    ['a deadline', post(BODY, `${JSON_TYPE}Weir-Deadline-Ms: 5\r\n`)],
    ['a session', post(BODY, `${JSON_TYPE}Weir-Session: 1:0:3\r\n`)],
    ['a page that sends it', post(BODY, `${JSON_TYPE}Origin: http://localhost\r\n`)],
    ['where a page is from', post(BODY, `${JSON_TYPE}Sec-Fetch-Site: cross-site\r\n`)],
    ['a query', WHOLE.replace('/observe', '/observe?a=1')],
    ['another version of HTTP', WHOLE.replace('HTTP/1.1', 'HTTP/1.0')],
  ])('leaves a request with %s to node:http', (_, text) => {
    expect(readingOf(text)).toBe('other')
    const knowing = new RequestReader(LIMITS)
    expect(knowing.read(WHOLE, 0)).toBe('whole')
    expect(knowing.read(text, 0), 'after a head that it knows').toBe('other')
  })
})
