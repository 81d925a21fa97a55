import type { Agent as HttpAgent, IncomingMessage } from 'node:http'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { openLookup, requireOpenAddress } from '../../http/access/allowed-hosts.ts'
import { Agent, request } from '../../http/builtin.ts'

/** HTTP without TLS. */
const plain = { Agent, request }

/** Header of the length of the JSON part, of the binary tensor extension. */
const JSON_LENGTH = 'inference-header-content-length'

/** An answer of another server. */
export interface RemoteAnswer {
  readonly json: unknown
  /** What follows the JSON part. */
  readonly binary: Buffer
}

/** A request to another server. */
export interface RemoteRequest {
  readonly path: string
  /** Parts of the body, the JSON first; undefined for a GET. */
  readonly body?: readonly Uint8Array[]
  /** Time from the first byte to the last one, in ms. */
  readonly timeoutMs: number
  /** Bytes of the longest answer. */
  readonly maxBytes: number
}

/** A request on its way: `headers` are those of tensors unless they are given. */
interface SentRequest extends Pick<RemoteRequest, 'path' | 'body'> {
  readonly headers?: Readonly<Record<string, number | string>>
}

/** Most connections to a server at a time; answers in parts keep theirs until the end. */
const MOST_CONNECTIONS = 1024

/**
 * Kept connections to a server that is not believed: it has a deadline and a limit of bytes, redirects are not
 * followed, and no error has text of the server, because others may read it.
 */
export class RemoteServer {
  private readonly base: URL
  private readonly agent: HttpAgent
  private readonly request: typeof request
  private readonly authorization: Readonly<Record<string, string>>

  /** `key`: sent as a bearer token with each request. Throws ACCESS_DENIED for an address that no model may call. */
  constructor(url: string, key?: string) {
    this.base = new URL(url)
    requireOpenAddress(this.base.hostname)
    const http = this.base.protocol === 'https:' ? process.getBuiltinModule('node:https') : plain
    this.request = http.request
    this.agent = new http.Agent({
      keepAlive: true,
      maxSockets: MOST_CONNECTIONS,
      lookup: openLookup,
    })
    this.authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  }

  /** `http://HOST:PORT`, as messages name the server. */
  get name(): string {
    return this.base.origin
  }

  /**
   * Sends a request. A kept connection that the server closed meanwhile is replaced once. Rejects with
   * MODEL_NOT_LOADED when the server does not answer in time or has no place for the request, MODEL_FAILED when it
   * refuses the request, and REMOTE_MODEL_FAILED when it fails or its answer is wrong.
   */
  async exchange(sent: RemoteRequest): Promise<RemoteAnswer> {
    const signal = AbortSignal.timeout(sent.timeoutMs)
    try {
      return await this.twice(signal, async () =>
        this.answerOf(await this.send(sent, signal), sent.maxBytes),
      )
    } catch (error) {
      throw this.errorOf(error, signal)
    }
  }

  /**
   * Sends JSON and resolves with the answer when its head is there, whatever its status; who called reads it, and destroys
   * it. Rejects as `exchange` where the server does not answer, and with the reason of the signal.
   */
  async open(path: string, json: string, signal: AbortSignal): Promise<IncomingMessage> {
    const body = [Buffer.from(json)]
    const headers = { 'content-type': 'application/json' }
    try {
      return await this.twice(signal, () => this.send({ path, body, headers }, signal))
    } catch (error) {
      throw this.errorOf(error, signal)
    }
  }

  /** The bytes of an answer. Rejects with REMOTE_MODEL_FAILED for more than `maxBytes`. */
  async bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of response as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > maxBytes) throw this.wrong(`sent more than ${maxBytes} bytes`)
      parts.push(part)
    }
    return Buffer.concat(parts)
  }

  /** Ends the connection. */
  close(): void {
    this.agent.destroy()
  }

  /** The error of an answer that contradicts the protocol or what was promised. */
  wrong(what: string): WeirError {
    return new WeirError('REMOTE_MODEL_FAILED', `the model server ${this.name} ${what}`)
  }

  /** What `ask` gives; it asks again where a kept connection was closed meanwhile. */
  private async twice<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ClosedMeanwhile) || signal.aborted) throw error
      return await ask()
    }
  }

  /** Resolves with the head of the answer. */
  private send(
    { path, body, headers = headersOf(body) }: SentRequest,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { agent, authorization } = this
      const method = body === undefined ? 'GET' : 'POST'
      const settings = { agent, signal, method, headers: { ...headers, ...authorization } }
      const sent = this.request(new URL(path, this.base), settings, resolve)
      sent.on('error', (error) => reject(sent.reusedSocket ? new ClosedMeanwhile(error) : error))
      for (const part of body ?? []) sent.write(part)
      sent.end()
    })
  }

  private async answerOf(response: IncomingMessage, maxBytes: number): Promise<RemoteAnswer> {
    const status = response.statusCode ?? 0
    if (status !== 200) {
      response.destroy()
      throw this.refusalOf(status)
    }
    const whole = await this.bodyOf(response, maxBytes)
    const jsonLength = Number(response.headers[JSON_LENGTH] ?? whole.length)
    try {
      const json: unknown = JSON.parse(whole.toString('utf8', 0, jsonLength))
      return { json, binary: whole.subarray(jsonLength) }
    } catch {
      throw this.wrong('sent an answer that is no JSON')
    }
  }

  /** What a status other than 200 says, for messages. */
  statusText(status: number): string {
    // What it says of a key is about the operator of this server, not about who asks.
    const hint = status === 401 || status === 403 ? ': it wants a key, see --remote-keys' : ''
    return `the model server ${this.name} answered with HTTP ${status}${hint}`
  }

  private refusalOf(status: number): WeirError {
    const message = this.statusText(status)
    if (status === 503 || status === 429) return new WeirError('MODEL_NOT_LOADED', message)
    const isRefused = status >= 400 && status < 500
    return new WeirError(isRefused ? 'MODEL_FAILED' : 'REMOTE_MODEL_FAILED', message)
  }

  /** The error of a request that failed on its way, or of an answer that broke off. */
  errorOf(error: unknown, { aborted }: AbortSignal): WeirError {
    if (isWeirError(error)) return error
    const code = aborted ? 'no whole answer in time' : systemCode(error)
    const message = `the model server ${this.name} does not answer (${code})`
    return new WeirError('MODEL_NOT_LOADED', message, { cause: error })
  }
}

/** A kept connection was closed before the answer began. */
class ClosedMeanwhile extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

function systemCode(error: unknown): string {
  const cause = error instanceof ClosedMeanwhile ? error.cause : error
  const code = (cause as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : 'the connection failed'
}

function headersOf(body: readonly Uint8Array[] | undefined): Record<string, number | string> {
  if (body === undefined) return {}
  return {
    'content-type': 'application/octet-stream',
    [JSON_LENGTH]: body[0]!.length,
    'content-length': body.reduce((sum, { length }) => sum + length, 0),
  }
}
