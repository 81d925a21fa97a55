import { seededRandom } from '../../src/core/random.ts'
import { requestWriter } from '../../src/testing/load/http/request.ts'
import { measureThroughput, type Throughput } from '../load/generator.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { percentile } from './serving.ts'

const FLOATS = 784
/** Connections of the clients over HTTP, one request at a time on each. */
export const CONNECTIONS = 64
/** Where Weir, MLServer and Triton take the requests of the protocol. */
const PATH = '/v2/models/linear/infer'

/** Grey values of an image, as bytes from 0 to 255 over 255. */
const pixels = (): number[] => {
  const random = seededRandom(784)
  return Array.from({ length: FLOATS }, () => Math.round((random.below(256) / 255) * 1e4) / 1e4)
}

/** Floats whose bytes are all below 128, because a request is a text of single bytes. */
export const values = (): Float32Array<ArrayBuffer> => new Float32Array(FLOATS).fill(0.5)

const post = (path: string, headers: Readonly<Record<string, string>>, body: string): string =>
  requestWriter({ method: 'POST', host: 'localhost', headers })(path, body)

const bytesOf = (floats: Float32Array<ArrayBuffer>): string =>
  Buffer.from(floats.buffer).toString('latin1')

/** A request with nothing but the bytes of the floats. */
export const rawRequest = (path: string): string =>
  post(path, { 'content-type': 'application/octet-stream' }, bytesOf(values()))

/** A request of the Open Inference Protocol with its tensor as bytes. */
export function binaryRequest(): string {
  const parameters = { binary_data_size: FLOATS * 4 }
  const head = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, FLOATS], parameters }],
    parameters: { binary_data_output: true },
  })
  const headers = {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(head.length),
  }
  return post(PATH, headers, head + bytesOf(values()))
}

const json = (path: string, body: object): string =>
  post(path, { 'content-type': 'application/json' }, JSON.stringify(body))

/** A request of the Open Inference Protocol with its floats as JSON. */
export const jsonRequest = (): string =>
  json(PATH, { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, FLOATS], data: pixels() }] })

/** The same floats as most people name them: `{"data": [...]}`. */
export const plainJsonRequest = (): string => json('/json', { data: pixels() })

/** The same floats for BentoML, as a matrix of one row. */
export const matrixJsonRequest = (): string => json('/infer', { x: [pixels()] })

/** A request with a body of any bytes. */
export function bytesRequest(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Buffer {
  const length = { 'content-length': String(body.length) }
  const writer = requestWriter({
    method: 'POST',
    host: 'localhost',
    headers: { ...headers, ...length },
  })
  return Buffer.concat([Buffer.from(writer(path)), body])
}

/** Connections that send the same bytes again and again, after a warm-up. */
export async function overHttp(
  port: number,
  request: string | Buffer,
  seconds: number,
): Promise<Throughput> {
  using connections = new HttpConnections(port, CONNECTIONS)
  // A text would be encoded again for each request, by the client that shares the cores with the server.
  const bytes = typeof request === 'string' ? Buffer.from(request) : request
  await measureThroughput(() => connections.ask(bytes), CONNECTIONS, seconds * 0.4)
  return await measureThroughput(() => connections.ask(bytes), CONNECTIONS, seconds)
}

/** The time that a share of the sampled requests took at most, ms. */
export const quantile = ({ sampledMs }: Throughput, share: number): number =>
  percentile(
    sampledMs.toSorted((a, b) => a - b),
    share,
  )
