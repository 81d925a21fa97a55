import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { messageOf } from '../core/errors.ts'
import { type FailedParty, WebHdfsAttemptError } from './failure.ts'

/** Loads `node:http` at the first request to HDFS: loading it takes longer than all of this folder. */
export function loadHttp(): typeof import('node:http') {
  return process.getBuiltinModule('node:http')
}

/** One HTTP request to a NameNode or a DataNode. */
export interface HttpRequest {
  readonly party: FailedParty
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: string
  readonly agent: Agent
  /** Longest silence of the server, ms. */
  readonly timeoutMs: number
  readonly body?: Uint8Array
}

/** An answer of any status. */
export interface HttpAnswer {
  readonly status: number
  readonly location: string | undefined
  readonly body: Uint8Array
}

/** Hadoop's optional protection against forged requests only checks that this header exists. */
const HEADERS = { 'X-XSRF-HEADER': 'weir' }

/**
 * Sends a request and reads the whole answer. Redirects are not followed. Rejects with
 * WebHdfsAttemptError when there is no complete answer.
 */
export async function exchange(options: HttpRequest): Promise<HttpAnswer> {
  const outgoing = openRequest(options, options.body?.length ?? 0)
  const { agent, timeoutMs } = options
  outgoing.setTimeout(timeoutMs, () => abortSilent(outgoing, agent, timeoutMs))
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(noAnswer(options.party, outgoing, error))
    outgoing.once('error', fail)
    outgoing.once('response', (incoming) => {
      readAnswer(incoming).then(resolve, fail)
    })
    outgoing.end(options.body)
  })
}

/** Numeric addresses of the servers of open requests: a broken socket has lost its address. */
const peers = new WeakMap<ClientRequest, string>()

/** Opens a request whose body is sent later; `length` undefined sends it in chunks. */
export function openRequest(options: HttpRequest, length: number | undefined): ClientRequest {
  const outgoing = loadHttp().request(options.url, {
    method: options.method,
    agent: options.agent,
    headers: {
      ...HEADERS,
      ...(length === undefined ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': length }),
      ...(options.method === 'PUT' ? { 'Content-Type': 'application/octet-stream' } : {}),
    },
  })
  outgoing.once('socket', (socket) => {
    const remember = (): void => {
      if (socket.remoteAddress !== undefined) peers.set(outgoing, socket.remoteAddress)
    }
    if (socket.connecting) socket.once('connect', remember)
    else remember()
  })
  return outgoing
}

/** Reads an answer to its end; rejects when the connection ends before. */
export async function readAnswer(incoming: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
  const joined = Buffer.concat(chunks)
  return {
    status: incoming.statusCode ?? 0,
    location: incoming.headers.location,
    body: new Uint8Array(joined.buffer, joined.byteOffset, joined.length),
  }
}

/**
 * Ends a request whose server was silent for too long. The idle connections may be lost for the same
 * reason. They are closed too, because otherwise each of them would cost another timeout.
 */
export function abortSilent(outgoing: ClientRequest, agent: Agent, timeoutMs: number): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy()
  }
  outgoing.destroy(new Error(`no data for ${timeoutMs} ms`))
}

/** The error of a broken connection. */
export function noAnswer(
  party: FailedParty,
  outgoing: ClientRequest,
  error: unknown,
): WebHdfsAttemptError {
  const { address, syscall } = error as { address?: string; syscall?: string }
  return new WebHdfsAttemptError({
    kind: 'no-answer',
    party,
    // A server that was never reached cannot have executed the request.
    sent: syscall !== 'connect' && syscall !== 'getaddrinfo',
    reason: messageOf(error) || 'the connection failed',
    address: address ?? peers.get(outgoing),
  })
}
