import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { messageOf } from '../../core/errors.ts'
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
  /** Longest body of the answer. @default 64 MiB */
  readonly mostBytes?: number
}

/** An answer of any status. */
export interface HttpAnswer {
  /** `host:port` of the server. */
  readonly peer: string
  readonly status: number
  readonly location: string | undefined
  readonly body: Uint8Array
}

/** Hadoop's optional protection against forged requests only checks that this header exists. */
const HEADERS = { 'X-XSRF-HEADER': 'weir' }
/** An answer of a NameNode lists a folder at most; one of a DataNode without a file is a message. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Sends a request and reads the whole answer. Redirects are not followed. Rejects with
 * WebHdfsAttemptError when there is no complete answer: also when it is longer than allowed, or comes so
 * slowly that it would hold the request forever without a silence.
 */
export async function exchange(options: HttpRequest): Promise<HttpAnswer> {
  const outgoing = openRequest(options, options.body?.length ?? 0)
  const { agent, timeoutMs, mostBytes } = options
  outgoing.setTimeout(timeoutMs, () => abortSilent(outgoing, agent, timeoutMs))
  const pace = new AnswerPace(timeoutMs, (error) => outgoing.destroy(error))
  outgoing.once('finish', () => pace.begin())
  try {
    return await new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(noAnswer(options.party, outgoing, error))
      outgoing.once('error', fail)
      outgoing.once('response', (incoming) => {
        readAnswer(incoming, mostBytes, (bytes) => pace.received(bytes)).then(resolve, fail)
      })
      outgoing.end(options.body)
    })
  } finally {
    pace.end()
  }
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

/**
 * Reads an answer to its end; rejects when the connection ends before, or the answer is longer than `mostBytes`.
 * `onBytes` gets the length of each piece.
 */
export async function readAnswer(
  incoming: IncomingMessage,
  mostBytes = MOST_BYTES,
  onBytes: (bytes: number) => void = () => {},
): Promise<HttpAnswer> {
  const { remoteAddress, remotePort } = incoming.socket
  const peer = `${remoteAddress}:${remotePort}`
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    onBytes(chunk.length)
    // Leaving the loop ends the connection.
    if (bytes > mostBytes) throw new Error(`the answer is longer than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  const joined = Buffer.concat(chunks)
  return {
    peer,
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
    peer: String(outgoing.getHeader('host')),
    address: address ?? peers.get(outgoing),
  })
}

/** Windows in a row in which an answer may come slower than it must. */
const SLOW_WINDOWS = 2

/**
 * Watches how fast an answer comes. A timeout of silence begins again with every byte, so that a server that
 * sends one byte now and then would hold its request forever. An answer must have a byte for each millisecond,
 * over two windows as long as that timeout.
 */
class AnswerPace {
  private readonly windowMs: number
  private readonly tooSlow: (error: Error) => void
  private timer: NodeJS.Timeout | undefined
  private bytes = 0
  private slowWindows = 0

  /** Calls `tooSlow` once, with the reason. */
  constructor(windowMs: number, tooSlow: (error: Error) => void) {
    this.windowMs = windowMs
    this.tooSlow = tooSlow
  }

  /** The request is sent. */
  begin(): void {
    this.timer = setInterval(() => this.look(), this.windowMs)
  }

  /** Bytes of the answer have come. */
  received(bytes: number): void {
    this.bytes += bytes
  }

  private look(): void {
    this.slowWindows = this.bytes < this.windowMs ? this.slowWindows + 1 : 0
    this.bytes = 0
    if (this.slowWindows < SLOW_WINDOWS) return
    this.end()
    const seconds = (SLOW_WINDOWS * this.windowMs) / 1000
    this.tooSlow(new Error(`the answer came slower than 1 kB a second for ${seconds} s`))
  }

  /** The answer is complete, or there is none. */
  end(): void {
    clearInterval(this.timer)
  }
}
