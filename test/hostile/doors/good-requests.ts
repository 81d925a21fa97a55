import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request } from 'node:http'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2'
import { Agent as HttpsAgent, request as requestTls } from 'node:https'
import { WeirClient } from '../../../src/client/index.ts'
import { framed, methodOf } from '../../gateway/grpc/frames.ts'
import { type Door, MODEL } from './door.ts'
import { grpcFields, inferMessage } from './grpc-messages.ts'
import type { Ask } from './waits.ts'

/** Time after which an answer counts as lost, ms. */
const LOST_MS = 30_000
/** Each so many requests the client connects again. */
const NEW_EVERY = 10

/** A request of HTTP that a good client sends. */
export interface GoodHttpRequest {
  readonly port: number
  readonly path: string
  /** @default a GET */
  readonly body?: string
  /** Text that the answer must have. */
  readonly answer: string
  readonly token?: string | undefined
  /** Authority of the server's certificate (PEM); without it there is no TLS. */
  readonly ca?: string | undefined
}

/** A good client of a door. */
export interface GoodClient {
  readonly ask: Ask
  readonly close: () => Promise<void>
}

/** A client of HTTP that keeps its connection, and makes a new one now and then. */
export function goodHttpClient(good: GoodHttpRequest): GoodClient {
  const { port, path, body, token, ca } = good
  const settings = { keepAlive: true, maxSockets: 1 }
  const agent = ca === undefined ? new HttpAgent(settings) : new HttpsAgent({ ...settings, ca })
  const headers: Record<string, string> = {}
  if (body !== undefined) headers['content-type'] = 'application/json'
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  const method = body === undefined ? 'GET' : 'POST'
  const tls = ca === undefined ? {} : { ca }
  const options = { host: '127.0.0.1', port, path, method, headers, timeout: LOST_MS, ...tls }
  let count = 0
  const ask = async (): Promise<void> => {
    const isNew = count++ % NEW_EVERY === 0
    const text = await exchange(
      { ...options, agent: isNew ? false : agent },
      { isTls: ca !== undefined, body },
    )
    if (!text.includes(good.answer)) throw new Error(`the answer is ${text.slice(0, 300)}`)
  }
  return { ask, close: async () => agent.destroy() }
}

/** The body of the answer to a GET, as text. Throws when the answer is not 200. */
export async function getText({
  port,
  path,
  token,
  ca,
}: Omit<GoodHttpRequest, 'body' | 'answer'>): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const tls = ca === undefined ? {} : { ca }
  const options = { host: '127.0.0.1', port, path, headers, agent: false, ...tls } as const
  const text = await exchange(options, { isTls: ca !== undefined, body: undefined })
  if (!text.startsWith('200 ')) throw new Error(`GET ${path}: ${text.slice(0, 300)}`)
  return text.slice(4)
}

/** The status and the body of an answer, as text. A kept connection that was closed meanwhile is replaced once. */
async function exchange(
  options: RequestOptions,
  sent: { readonly isTls: boolean; readonly body: string | undefined },
  isAgain = false,
): Promise<string> {
  const answer = Promise.withResolvers<IncomingMessage>()
  const asked = (sent.isTls ? requestTls : request)(options, answer.resolve)
  asked.on('timeout', () => asked.destroy(new Error(`no answer in ${LOST_MS} ms`)))
  asked.on('error', answer.reject)
  asked.end(sent.body)
  try {
    const chunks: Buffer[] = []
    const response = await answer.promise
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return `${response.statusCode} ${Buffer.concat(chunks)}`
  } catch (error) {
    if (!asked.reusedSocket || isAgain) throw error
    return await exchange({ ...options, agent: false }, sent, true)
  }
}

/** A client of the query port that asks the model, keeps its connection, and makes a new one now and then. */
export async function goodQueryClient(
  given: NonNullable<Parameters<typeof WeirClient.connect>[0]>,
): Promise<GoodClient> {
  const options = { ...given, deadlineMs: LOST_MS }
  const kept = await WeirClient.connect(options)
  const input = { name: 'x', shape: [1, 2], data: Float32Array.of(1, 2) }
  let count = 0
  const ask = async (): Promise<void> => {
    const isNew = count++ % NEW_EVERY === 0
    const client = isNew ? await WeirClient.connect(options) : kept
    const { outputs } = await client.infer(MODEL, [input])
    if (isNew) await client.close()
    const data = outputs[0]?.data as Float32Array | undefined
    if (data?.[1] !== 4) throw new Error(`the model answers ${data}`)
  }
  return { ask, close: () => kept.close() }
}

/** A client of gRPC that keeps its connection, and makes a new one now and then. */
export function goodGrpcClient({
  ca,
  ...door
}: Pick<Door, 'port' | 'isTls' | 'token'> & { readonly ca?: string | undefined }): GoodClient {
  const fields = grpcFields(door)
  const url = `${fields[':scheme']}://${fields[':authority']}`
  const message = framed(inferMessage({ shape: [1, 2] }, floatsOf(1, 2)))
  const open = (): ClientHttp2Session => {
    const session = connect(url, ca === undefined ? {} : { ca })
    session.on('error', () => {})
    return session
  }
  let kept = open()
  let count = 0
  const ask = async (): Promise<void> => {
    const isNew = count++ % NEW_EVERY === 0
    if (kept.closed || kept.destroyed) kept = open()
    const session = isNew ? open() : kept
    const call = session.request(fields)
    call.end(message)
    const answer = await answerOf(call)
    if (isNew) session.destroy()
    if (!answer.equals(floatsOf(2, 4))) throw new Error(`the answer is ${answer.toString('hex')}`)
  }
  return { ask, close: async () => kept.destroy() }
}

const floatsOf = (...values: readonly number[]): Buffer =>
  Buffer.from(Float32Array.from(values).buffer)

/** The bytes of the output of a call. */
async function answerOf(call: ClientHttp2Stream): Promise<Buffer> {
  call.setTimeout(LOST_MS, () => call.destroy(new Error(`no answer in ${LOST_MS} ms`)))
  let end: IncomingHttpHeaders = {}
  const note = (more: IncomingHttpHeaders): void => {
    end = { ...end, ...more }
  }
  call.on('response', note).on('trailers', note)
  const chunks: Buffer[] = []
  for await (const chunk of call) chunks.push(chunk as Buffer)
  if (end['grpc-status'] !== '0') {
    throw new Error(`the call ended with ${end['grpc-status']} ${end['grpc-message']}`)
  }
  const reply = methodOf('ModelInfer').responseDeserialize(Buffer.concat(chunks).subarray(5))
  return (reply['raw_output_contents'] as Buffer[])[0]!
}
