import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { messageOf } from '../core/errors.ts'
import { type FailedParty, WebHdfsAttemptError } from './webhdfs-failure.ts'

/** `node:http`, loaded by the first process that asks HDFS: it takes longer than all of this folder. */
export function loadHttp(): typeof import('node:http') {
  return process.getBuiltinModule('node:http')
}

/** One HTTP request to a NameNode or a DataNode. */
export interface HttpRequest {
  readonly party: FailedParty
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: string
  readonly agent: Agent
  /** Longest silence in milliseconds. */
  readonly timeoutMs: number
  readonly body?: Uint8Array
}

/** An answer, whatever its status. */
export interface HttpAnswer {
  readonly status: number
  readonly location: string | undefined
  readonly body: Uint8Array
}

/** Hadoop's optional guard against forged requests asks only that the header is there. */
const HEADERS = { 'X-XSRF-HEADER': 'weir' }

/**
 * Asks and reads the whole answer. Redirects are not followed. Rejects with WebHdfsAttemptError when
 * no complete answer comes.
 */
export async function exchange(options: HttpRequest): Promise<HttpAnswer> {
  const outgoing = openRequest(options, options.body?.length ?? 0)
  const { agent, timeoutMs } = options
  outgoing.setTimeout(timeoutMs, () => giveUp(outgoing, agent, timeoutMs))
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(noAnswer(options.party, outgoing, error))
    outgoing.once('error', fail)
    outgoing.once('response', (incoming) => {
      readAnswer(incoming).then(resolve, fail)
    })
    outgoing.end(options.body)
  })
}

/** Numeric addresses of the peers of open requests: a broken socket no longer knows its own. */
const peers = new WeakMap<ClientRequest, string>()

/** Opens a request whose body is still to come; `length` undefined sends it in chunks. */
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
 * Ends a request whose peer said nothing for too long. What lost this connection may have lost those
 * that lie idle, too; they are closed, or each would have to be found out in the same way.
 */
export function giveUp(outgoing: ClientRequest, agent: Agent, timeoutMs: number): void {
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy()
  }
  outgoing.destroy(new Error(`nothing came for ${timeoutMs} ms`))
}

/** What a broken connection stands for. */
export function noAnswer(
  party: FailedParty,
  outgoing: ClientRequest,
  error: unknown,
): WebHdfsAttemptError {
  const { address, syscall } = error as { address?: string; syscall?: string }
  return new WebHdfsAttemptError({
    kind: 'no-answer',
    party,
    // Nothing can have been done by a peer that was never reached.
    sent: syscall !== 'connect' && syscall !== 'getaddrinfo',
    reason: messageOf(error) || 'the connection failed',
    address: address ?? peers.get(outgoing),
  })
}
