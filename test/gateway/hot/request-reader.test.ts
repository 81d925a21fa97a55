import { describe, expect, it } from 'vitest'
import { RequestReader } from '../../../src/gateway/hot/request-reader.ts'
import { nextPair, pairAt } from '../../../src/wire/encoded-pairs.ts'
import { HEAD, LIMITS, MAX_BODY_BYTES, read } from './reading.ts'

const userOf = (reader: RequestReader | undefined): string | undefined =>
  reader?.request.kind === 'pair' ? reader.request.user : undefined

describe('the reader of hot requests', () => {
  it('reads ids, the token and the end of a request', () => {
    const text = `GET /v1/predict/a-1/b_2.~ HTTP/1.1\r\n${HEAD}Authorization: Bearer abc\r\nUser-Agent: x y\r\n\r\n`
    expect(read(`${text}GET `)).toMatchObject({
      request: { kind: 'pair', user: 'a-1', item: 'b_2.~' },
      token: 'abc',
      end: text.length,
    })
  })

  it('reads the head that the fetch of Node sends', () => {
    const fields = [
      'host: localhost:8080',
      'connection: keep-alive',
      'authorization: Bearer abc',
      'accept: */*',
      'accept-language: *',
      'sec-fetch-mode: cors',
      'user-agent: node',
      'accept-encoding: gzip, deflate',
    ]
    const text = `GET /v1/predict/1/2 HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`
    expect(read(text)).toMatchObject({ request: { user: '1', item: '2' }, token: 'abc' })
  })

  it('reads a head that it knows, and forgets its token when another head follows', () => {
    const reader = new RequestReader(LIMITS)
    const first = `GET /v1/predict/1/2 HTTP/1.1\r\n${HEAD}Authorization: Bearer abc\r\n\r\n`
    const other = `GET /v1/predict/3/4 HTTP/1.1\r\n${HEAD}\r\n`
    const text = first + first + other
    const tokens: (string | undefined)[] = []
    for (let at = 0; at < text.length; at = reader.end) {
      expect(reader.read(text, at)).toBe('whole')
      tokens.push(reader.token)
    }
    expect(tokens).toEqual(['abc', 'abc', undefined])
    expect(reader.request).toMatchObject({ user: '3', item: '4' })
  })

  it('leaves other names than those of this machine to node:http where it is asked to', () => {
    const reader = new RequestReader({ ...LIMITS, onlyLoopbackNames: true })
    const of = (host: string) => `GET /v1/predict/1/2 HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    for (const own of ['localhost', 'localhost:8080', '127.0.0.1:8080', '[::1]:8080']) {
      expect(reader.read(of(own), 0)).toBe('whole')
    }
    for (const other of ['evil.example:8080', 'localhost.evil.example', '127.0.0.1.evil.example']) {
      expect(reader.read(of(other), 0)).toBe('other')
      expect(read(of(other))).toBeDefined()
    }
  })

  it('reads ids of at most the longest length', () => {
    const of = (id: string) => `GET /v1/predict/${id}/2 HTTP/1.1\r\n${HEAD}\r\n`
    expect(userOf(read(of('u'.repeat(1024))))).toHaveLength(1024)
    expect(read(of('u'.repeat(1025)))).toBeUndefined()
  })

  it.each([
    'POST /v1/predict/1/2 HTTP/1.1',
    'get /v1/predict/1/2 HTTP/1.1',
    'GET /v1/predict/1/2 HTTP/1.0',
    'GET /v1/predict/1/2  HTTP/1.1',
    'GET  /v1/predict/1/2 HTTP/1.1',
    'GET /v1/predict/1 HTTP/1.1',
    'GET /v1/predict//2 HTTP/1.1',
    'GET /v1/predict/1/ HTTP/1.1',
    'GET /v1/predict/1/2/3 HTTP/1.1',
    'GET /v1/predict/1/2?version=1 HTTP/1.1',
    'GET /v1/predict/1/2#part HTTP/1.1',
    'GET /v1/predict/%31/2 HTTP/1.1',
    'GET /v1/predict/\xfc/2 HTTP/1.1',
    'GET http://localhost/v1/predict/1/2 HTTP/1.1',
    ' GET /v1/predict/1/2 HTTP/1.1',
  ])('leaves "%s" to node:http', (line) => {
    expect(read(`${line}\r\n${HEAD}\r\n`)).toBeUndefined()
  })

  it.each([
    ['no Host', 'Accept: */*\r\n'],
    ['two Hosts', `${HEAD}${HEAD}`],
    ['two Authorizations', `${HEAD}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n`],
    ['a length', `${HEAD}Content-Length: 0\r\n`],
    ['chunks', `${HEAD}Transfer-Encoding: chunked\r\n`],
    ['another protocol', `${HEAD}Connection: Upgrade\r\nUpgrade: websocket\r\n`],
    ['the end of the connection', `${HEAD}Connection: close\r\n`],
    ['a wish to continue', `${HEAD}Expect: 100-continue\r\n`],
    ['a consistency', `${HEAD}Weir-Consistency: checkpoint\r\n`],
    ['an unknown field', `${HEAD}X-Other: 1\r\n`],
    ['a folded field', `${HEAD}Accept: a\r\n b\r\n`],
    ['a space before the colon', `${HEAD}Accept : a\r\n`],
    ['a line without a colon', `${HEAD}Accept\r\n`],
    ['a bare line feed', `${HEAD}Accept: a\nContent-Length: 5\r\n`],
    ['a bare carriage return', `${HEAD}Accept: a\rContent-Length: 5\r\n`],
    ['a zero byte', `${HEAD}Accept: a\0b\r\n`],
    ['a byte above 7 bits', `${HEAD}User-Agent: \xfc\r\n`],
    ['more than 8 KiB', `${HEAD}User-Agent: ${'x'.repeat(9000)}\r\n`],
  ])('leaves a head with %s to node:http', (_, head) => {
    expect(read(`GET /v1/predict/1/2 HTTP/1.1\r\n${head}\r\n`)).toBeUndefined()
  })

  it('leaves a request whose end has not arrived to node:http', () => {
    const whole = `GET /v1/predict/1/2 HTTP/1.1\r\n${HEAD}\r\n`
    for (let length = 0; length < whole.length; length++) {
      expect(read(whole.slice(0, length)), String(length)).toBeUndefined()
    }
    expect(read(whole)).toBeDefined()
  })
})

describe('the reader of hot batches', () => {
  const BODY = '{"pairs":[["1","50"],["2","50"]]}'
  const post = (body: string, fields = 'Content-Type: application/json\r\n'): string =>
    `POST /v1/predict HTTP/1.1\r\n${HEAD}${fields}Content-Length: ${body.length}\r\n\r\n${body}`
  const WHOLE = post(BODY)
  const readingOf = (text: string) => new RequestReader(LIMITS).read(text, 0)

  it('reads the keys of the pairs, the token and the end of a request', () => {
    const fields = 'Content-Type: application/json; charset=utf-8\r\nAuthorization: Bearer abc\r\n'
    const text = post(BODY, fields)
    const reader = read(`${text}GET `)
    expect(reader).toMatchObject({ token: 'abc', end: text.length, request: { kind: 'pairs' } })
    if (reader?.request.kind !== 'pairs') return
    const { count, bytes } = reader.request.pairs
    expect(count).toBe(2)
    expect(pairAt(bytes, 0)).toEqual(['1-U', '50-I'])
    expect(pairAt(bytes, nextPair(bytes, 0))).toEqual(['2-U', '50-I'])
  })

  it('waits for a body whose head has arrived, and leaves a part of a head to node:http', () => {
    for (let length = 0; length < WHOLE.length; length++) {
      const isHead = length >= WHOLE.length - BODY.length
      expect(readingOf(WHOLE.slice(0, length)), String(length)).toBe(isHead ? 'part' : 'other')
    }
  })

  it('gives a pair after a batch the token of its own head', () => {
    const reader = new RequestReader(LIMITS)
    const pair = `GET /v1/predict/1/2 HTTP/1.1\r\n${HEAD}\r\n`
    const fields = 'Content-Type: application/json\r\nAuthorization: Bearer abc\r\n'
    const text = pair + post(BODY, fields) + pair
    const tokens: (string | undefined)[] = []
    for (let at = 0; at < text.length; at = reader.end) {
      expect(reader.read(text, at)).toBe('whole')
      tokens.push(reader.token)
    }
    expect(tokens).toEqual([undefined, 'abc', undefined])
  })

  it('reads a head that it knows but for the length, and forgets its token with another head', () => {
    const reader = new RequestReader(LIMITS)
    const fields = 'Content-Type: application/json\r\nAuthorization: Bearer abc\r\n'
    const other = '{"pairs":[["1","2"]]}'
    const read: unknown[] = []
    for (const text of [post(BODY, fields), post(other, fields), post(other)]) {
      expect(reader.read(text, 0)).toBe('whole')
      read.push([reader.end === text.length, reader.token])
    }
    expect(read).toEqual([
      [true, 'abc'],
      [true, 'abc'],
      [true, undefined],
    ])
  })

  it.each([
    ['a body that it does not read as pairs', post('{"pairs":[["1","5\\u0030"]]}')],
    ['a body that is too long', post(`{"pairs":[["1","${'5'.repeat(MAX_BODY_BYTES)}"]]}`)],
    ['no type', post(BODY, '')],
    ['another type', post(BODY, 'Content-Type: text/csv\r\n')],
    ['two types', post(BODY, 'Content-Type: application/json\r\n'.repeat(2))],
    [
      'a content coding',
      post(BODY, 'Content-Type: application/json\r\nContent-Encoding: gzip\r\n'),
    ],
    ['two lengths', post(BODY, 'Content-Type: application/json\r\nContent-Length: 3\r\n')],
    ['chunks', post(BODY, 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n')],
    [
      'a wish to continue',
      post(BODY, 'Content-Type: application/json\r\nExpect: 100-continue\r\n'),
    ],
    ['a length with a sign', WHOLE.replace('Length: ', 'Length: +')],
    ['a length with a zero first', WHOLE.replace('Length: ', 'Length: 0')],
    ['two lengths in one field', WHOLE.replace('Length: ', 'Length: 3, ')],
    ['no length', WHOLE.replace(/Content-Length: \d+\r\n/, '')],
    ['options in the path', WHOLE.replace('/predict', '/predict?version=1')],
    ['another version of HTTP', WHOLE.replace('HTTP/1.1', 'HTTP/1.0')],
  ])('leaves a request with %s to node:http', (_, text) => {
    expect(readingOf(text)).toBe('other')
    const knowing = new RequestReader(LIMITS)
    expect(knowing.read(WHOLE, 0)).toBe('whole')
    expect(knowing.read(text, 0), 'after a head that it knows').toBe('other')
  })
})

describe('the reader of hot inferences', () => {
  const JSON_FIELD = 'Inference-Header-Content-Length: 2\r\n'
  const post = (path: string, body: string, fields = JSON_FIELD): string =>
    `POST /v2/models/${path} HTTP/1.1\r\n${HEAD}${fields}Content-Length: ${body.length}\r\n\r\n${body}`
  const WHOLE = post('ocr/infer', '{}\xff\x00')
  const readingOf = (text: string) => new RequestReader(LIMITS).read(text, 0)

  it('reads model, version, the length of the JSON, the bytes of the body, token and end', () => {
    const fields = `${JSON_FIELD}Authorization: Bearer abc\r\nContent-Type: text/plain\r\n`
    const text = post('ocr-1.x/versions/12/infer', '{}\xff\x00', fields)
    const reader = read(`${text}POST `)
    expect(reader).toMatchObject({ token: 'abc', end: text.length })
    expect(reader?.request).toEqual({
      kind: 'infer',
      model: 'ocr-1.x',
      version: '12',
      jsonLength: '2',
      body: Buffer.from([0x7b, 0x7d, 0xff, 0]),
    })
  })

  it('reads the next request of a connection by its own head', () => {
    const reader = new RequestReader(LIMITS)
    const token = `${JSON_FIELD}Authorization: Bearer abc\r\n`
    const texts = [
      post('ocr/infer', '{}', token),
      post('ocr/infer', '{}', token),
      post('ocr/infer', '[1, 2]', ''),
      post('other/infer', '{}', token),
    ]
    const seen = texts.map((text) => {
      expect(reader.read(text, 0)).toBe('whole')
      expect(reader.end).toBe(text.length)
      const { request } = reader
      if (request.kind !== 'infer') throw new Error('no inference')
      return [request.model, request.jsonLength, String(request.body), reader.token]
    })
    expect(seen).toEqual([
      ['ocr', '2', '{}', 'abc'],
      ['ocr', '2', '{}', 'abc'],
      ['ocr', undefined, '[1, 2]', undefined],
      ['other', '2', '{}', 'abc'],
    ])
  })

  it('takes bytes that are one inference with the head before, of any length, and no other bytes', () => {
    const reader = new RequestReader(LIMITS)
    const bytesOf = (text: string) => Buffer.from(text, 'latin1')
    expect(reader.readWhole(bytesOf(WHOLE))).toBe(false)
    expect(reader.read(WHOLE, 0)).toBe('whole')
    for (const body of ['{}\x80\x01', '{}', `{}${'\xfe'.repeat(900)}`]) {
      const bytes = bytesOf(post('ocr/infer', body))
      expect(reader.readWhole(bytes)).toBe(true)
      const call = { kind: 'infer', model: 'ocr', version: undefined, jsonLength: '2' }
      expect(reader.request).toEqual({ ...call, body: bytesOf(body) })
    }
    const wrong = [
      WHOLE.slice(0, -1),
      `${WHOLE}P`,
      WHOLE + WHOLE,
      post('ocr2/infer', '{}'),
      post('ocr/infer', ''),
      post('ocr/infer', 'x'.repeat(MAX_BODY_BYTES + 1)),
      post('ocr/infer', '{}', ''),
      WHOLE.replace('Length: 4', 'Length: 04'),
      WHOLE.replace('Length: 4', 'Length: +4'),
      '',
    ]
    for (const text of wrong) expect(reader.readWhole(bytesOf(text)), text).toBe(false)
  })

  it('waits for a body whose head has arrived, and leaves a part of a head to node:http', () => {
    for (let length = 0; length < WHOLE.length; length++) {
      const isHead = length >= WHOLE.length - 4
      expect(readingOf(WHOLE.slice(0, length)), String(length)).toBe(isHead ? 'part' : 'other')
    }
  })

  it.each([
    ['no model', post('/infer', '{}')],
    ['an escaped model', post('%31/infer', '{}')],
    ['an alias', post('ocr@stable/infer', '{}')],
    ['no version', post('ocr/versions//infer', '{}')],
    ['another action', post('ocr/load', '{}')],
    ['options in the path', post('ocr/infer?x=1', '{}')],
    ['a longer path', post('ocr/infer/more', '{}')],
    ['two lengths of the JSON', post('ocr/infer', '{}', JSON_FIELD.repeat(2))],
    ['two lengths', post('ocr/infer', '{}', 'Content-Length: 3\r\n')],
    ['a content coding', post('ocr/infer', '{}', 'Content-Encoding: gzip\r\n')],
    ['chunks', post('ocr/infer', '{}', 'Transfer-Encoding: chunked\r\n')],
    ['a wish to continue', post('ocr/infer', '{}', 'Expect: 100-continue\r\n')],
    ['a length with a zero first', WHOLE.replace(/\nContent-Length: /, '\nContent-Length: 0')],
    ['a body that is too long', post('ocr/infer', 'x'.repeat(MAX_BODY_BYTES + 1))],
    ['an empty body', post('ocr/infer', '')],
    ['another version of HTTP', WHOLE.replace('HTTP/1.1', 'HTTP/1.0')],
  ])('leaves a request with %s to node:http', (_, text) => {
    expect(readingOf(text)).toBe('other')
    const knowing = new RequestReader(LIMITS)
    expect(knowing.read(WHOLE, 0)).toBe('whole')
    expect(knowing.read(text, 0), 'after a head that it knows').toBe('other')
  })
})

describe('a request for recommendations', () => {
  const of = (path: string, fields = ''): string =>
    `GET /recommend/${path} HTTP/1.1\r\n${HEAD}${fields}\r\n`

  it.each([
    ['1', '', { user: '1', howMany: 10, type: 'text/csv' }],
    ['a-b.c?howMany=3', '', { user: 'a-b.c', howMany: 3, type: 'text/csv' }],
    ['1', 'Accept: application/json\r\n', { howMany: 10, type: 'application/json' }],
    ['1', 'Accept: */*\r\n', { type: 'text/csv' }],
    ['1?howMany=999', 'Accept: text/plain\r\n', { howMany: 999, type: 'text/plain' }],
  ] as const)('is read: %s %j', (path, fields, request) => {
    const text = of(path, fields)
    expect(read(`${text}GET `)).toMatchObject({ request, end: text.length })
  })

  it.each([
    ['', ''],
    ['?howMany=3', ''],
    ['1/2', ''],
    ['1?', ''],
    ['1?howMany=', ''],
    ['1?howMany=0', ''],
    ['1?howMany=03', ''],
    ['1?howMany=+3', ''],
    ['1?howMany=1001', ''],
    ['1?howMany=3&offset=1', ''],
    ['1?howMany=3&howMany=4', ''],
    ['1?offset=1', ''],
    ['1?howmany=3', ''],
    ['%31', ''],
    ['1', 'Accept: image/png\r\n'],
    ['1', 'Accept: text/csv\r\nAccept: text/plain\r\n'],
    ['1', 'Weir-Consistency: checkpoint\r\n'],
    ['1', 'Content-Length: 0\r\n'],
  ])('is left to node:http: "%s" with %j', (path, fields) => {
    expect(read(of(path, fields))).toBeUndefined()
  })

  it('has the type of its own head, not of the one before', () => {
    const reader = new RequestReader(LIMITS)
    const types = ['Accept: application/json\r\n', '', 'Accept: application/json\r\n'].map(
      (fields) => {
        reader.read(of('1', fields), 0)
        return reader.request.kind === 'recommend' ? reader.request.type : undefined
      },
    )
    expect(types).toEqual(['application/json', 'text/csv', 'application/json'])
    const refused = `GET /v1/predict/1/2 HTTP/1.1\r\n${HEAD}Accept: image/png\r\n\r\n`
    expect(reader.read(refused, 0)).toBe('whole')
    expect(reader.read(of('1', 'Accept: image/png\r\n'), 0)).toBe('other')
  })

  it('is not read before its end has arrived', () => {
    const whole = of('1?howMany=3')
    for (let length = 0; length < whole.length; length++) {
      expect(read(whole.slice(0, length))).toBeUndefined()
    }
  })
})
