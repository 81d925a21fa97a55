import { gzipSync } from 'node:zlib'

/** An HTTP request as bytes. */
function request(
  method: string,
  path: string,
  body?: string | Buffer,
  headers: readonly string[] = [],
): Buffer {
  const content = body === undefined ? undefined : Buffer.from(body)
  const length = content === undefined ? [] : [`Content-Length: ${content.length}`]
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...length, ...headers]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), content ?? Buffer.alloc(0)])
}

const JSON_TYPE = 'Content-Type: application/json'
const POLLUTION =
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"user":"1","item":"2","rating":3}'
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

/** Paths that try to leave what a server serves. */
const TRAVERSALS = [
  '/../../../../etc/passwd',
  '/docs/..%2f..%2f..%2fetc/passwd',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/assets/..%5c..%5cpackage.json',
  '/%00',
  '//etc/passwd',
  '/docs/static/....//....//package.json',
].map((path) => request('GET', path))

/** Requests that a proxy and a server could cut in different places. */
export const SMUGGLING: readonly Buffer[] = [
  ['Content-Length: 6', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: chunked', 'Content-Length: 6'],
  ['Content-Length: 6', 'Content-Length: 5'],
  ['Content-Length: 6', 'Transfer-Encoding : chunked'],
  ['Content-Length: 6', 'Transfer-Encoding: xchunked'],
  ['Content-Length: +6'],
  ['Content-Length: 0x6'],
  ['Content-Length: 6, 5'],
].map((headers) =>
  Buffer.from(
    `POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n${headers.join('\r\n')}\r\n\r\n0\r\n\r\nXGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ),
)

const ODD: readonly Buffer[] = [
  ...TRAVERSALS,
  Buffer.from('GET / HTTP/0.9\r\n\r\n'),
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from(`GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  Buffer.from(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'b'.repeat(70_000)}\r\n\r\n`),
  Buffer.from(
    'POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{',
  ),
  Buffer.from(
    'POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n{',
  ),
]

/** Valid requests of the gateway's routes, and odd ones. */
export const GATEWAY_REQUESTS: readonly Buffer[] = [
  request('GET', '/v1/predict/1/2'),
  request('GET', '/v1/predict/1/2', undefined, ['Weir-Consistency: at-least:0:0:5']),
  request('POST', '/v1/predict', '{"pairs":[["1","2"],["3","x"]]}', [JSON_TYPE]),
  request('POST', '/v1/predict', POLLUTION, [JSON_TYPE]),
  request('POST', '/v1/predict', DEEP, [JSON_TYPE]),
  request('POST', '/v1/observe', '{"user":"1","item":"2","rating":3}', [JSON_TYPE]),
  request('POST', '/v1/observe', POLLUTION, [JSON_TYPE]),
  request('POST', '/v1/observe', '1,2,3\n4,5,1,100\n', ['Content-Type: text/csv']),
  request('POST', '/v1/observe', gzipSync('1,2,3\n'), [
    'Content-Type: text/csv',
    'Content-Encoding: gzip',
  ]),
  request('POST', '/v1/observe', gzipSync(Buffer.alloc(40_000_000, 0x31)), [
    'Content-Type: text/csv',
    'Content-Encoding: gzip',
  ]),
  request('GET', '/v1/states'),
  request('GET', '/v1/states/ALS_MODEL/1-U'),
  request('GET', '/v1/states/ALS_MODEL?from=1&limit=10'),
  request('GET', '/recommend/1?howMany=3'),
  request('GET', '/recommendToAnonymous/1=2/3'),
  request('GET', '/similarity/1/2'),
  request('GET', '/estimate/1/2/3'),
  request('GET', '/mostActiveUsers'),
  request('POST', '/pref/1/2', '4'),
  request('POST', '/ingest', '1,2,3\n', ['Content-Type: text/csv']),
  request('GET', '/v2/models/ALS_MODEL'),
  request(
    'POST',
    '/v2/models/ALS_MODEL/infer',
    '{"inputs":[{"name":"user","shape":[1],"datatype":"BYTES","data":["1"]},{"name":"item","shape":[1],"datatype":"BYTES","data":["2"]}]}',
    [JSON_TYPE],
  ),
  request(
    'POST',
    '/v2/models/ALS_MODEL/infer',
    Buffer.concat([
      Buffer.from(
        '{"inputs":[{"name":"user","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}',
      ),
      Buffer.from([1, 0, 0, 0, 0x31]),
    ]),
    ['Inference-Header-Content-Length: 96'],
  ),
  request('GET', '/metrics'),
  request('GET', '/openapi.json'),
  request('GET', '/docs'),
  ...ODD,
]

/** Valid requests of the REST port about a job that change nothing, and odd ones. */
export function restRequests(jobId: string): readonly Buffer[] {
  const job = `/jobs/${jobId}`
  return [
    ...['/overview', '/config', '/jobs', '/jobs/overview', '/taskmanagers', '/metrics', '/'].map(
      (path) => request('GET', path),
    ),
    ...['', '/plan', '/checkpoints', '/exceptions', '/config', '/metrics?get=numRestarts'].map(
      (path) => request('GET', `${job}${path}`),
    ),
    request('GET', `/weir${job}/states/ALS_MODEL/entry?key=1-U`),
    request('GET', `/weir${job}/states/ALS_MODEL/rows?after=1-U&limit=10`),
    request('GET', `/weir${job}/models`),
    request('GET', `/weir${job}/models/diff?a=1&b=1`),
    request('GET', `/weir${job}/recommendations?user=1&k=3`),
    request('GET', `/weir${job}/topics`),
    request('POST', `/weir${job}/models/1/promote`, '{"expectLive":99}', [JSON_TYPE]),
    request('POST', `/weir${job}/models/rollback`, POLLUTION, [JSON_TYPE]),
    request('POST', '/jobs', '{"job":"no-such-job","options":{}}', [JSON_TYPE]),
    request('POST', '/jobs', POLLUTION, [JSON_TYPE]),
    request('POST', '/jobs', DEEP, [JSON_TYPE]),
    ...ODD,
  ]
}
