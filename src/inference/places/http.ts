import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isWeirError, WeirError } from '../../core/errors.ts'
import {
  isForbiddenAddress,
  openLookup,
  requireOpenAddress,
} from '../../http/access/allowed-hosts.ts'
import type { PlaceContent, PlaceEnvironment } from './port.ts'

/** Headers of a request. */
export type RequestHeaders = Readonly<Record<string, string>>

/** The head of an answer, and its body to be read. */
export interface PlaceAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Where the answer came from, after redirects. */
  readonly url: URL
  readonly body: AsyncIterable<Uint8Array>
  /** Ends the connection; the body is not read. */
  leave(): void
}

/** An answer that is JSON, with its text. */
export interface JsonAnswer {
  readonly head: PlaceAnswer
  readonly text: string
  readonly json: unknown
}

/** A request for the bytes of a file. */
export interface WantedContent {
  readonly headers: RequestHeaders
  /** Position of the first byte. */
  readonly from: number
  /** The file as messages name it. */
  readonly what: string
}

/** The headers of a request for a file from a position on. */
export function rangeHeaders({ headers, from }: Omit<WantedContent, 'what'>): RequestHeaders {
  return from > 0 ? { ...headers, range: `bytes=${from}-` } : headers
}

/** Position of the first byte of an answer: 0 where the place cannot continue. */
export function startOf({ status }: PlaceAnswer, from: number): number {
  return status === 206 ? from : 0
}

/** What a client of a place needs. */
export interface PlaceHttpOptions {
  /** The place as messages name it: `the Hugging Face Hub`. */
  readonly party: string
  /** Why an answer may ask for credentials, and which variables have them. */
  readonly credentials: string
  readonly environment: PlaceEnvironment
  /** Time in which at least 16 KiB come, or the end of the answer, in ms. @default 30,000 */
  readonly timeoutMs?: number
}

const DEFAULT_TIMEOUT_MS = 30_000
const LEAST_BYTES = 16 * 1024
const MOST_REDIRECTS = 5
/** Bytes of the longest list or description. */
const MOST_TEXT = 16 * 1024 * 1024
const OPEN_HEADERS: ReadonlySet<string> = new Set(['accept', 'if-match', 'range'])
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * GET requests to a place that is not believed: an answer that comes too slowly ends, what is read whole has a limit,
 * a redirect gets no credentials of another origin and leads from https to https only, no address is one that
 * `requireOpenAddress` refuses, and no message has text of the server.
 */
export class PlaceHttp {
  private readonly options: PlaceHttpOptions

  constructor(options: PlaceHttpOptions) {
    this.options = options
  }

  /** An answer of any status but a redirect. Rejects with CONNECTOR_FAILED, ACCESS_DENIED, UNSUPPORTED. */
  async get(start: URL, headers: RequestHeaders = {}): Promise<PlaceAnswer> {
    let url = start
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const answer = await this.once(url, url.origin === start.origin ? headers : open(headers))
      const { location } = answer.headers
      if (!REDIRECTS.has(answer.status) || location === undefined) return answer
      answer.leave()
      url = this.redirected(url, location)
    }
    throw this.failure('CONNECTOR_FAILED', start, `redirects more than ${MOST_REDIRECTS} times`)
  }

  /** The bytes of a file from a position on, or all of them where the place cannot continue. Rejects as `get`, and as `refusal` says. */
  async content(url: URL, wanted: WantedContent): Promise<Omit<PlaceContent, 'checksum'>> {
    const answer = await this.get(url, rangeHeaders(wanted))
    if (answer.status !== 200 && answer.status !== 206) throw this.refusal(answer, wanted.what)
    return { from: startOf(answer, wanted.from), bytes: answer.body }
  }

  /** The body of an answer, whole, as text. Rejects with MALFORMED_DATA when it is too long. */
  async text({ url, body }: PlaceAnswer, what: string): Promise<string> {
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of body) {
      bytes += part.length
      if (bytes > MOST_TEXT) throw this.wrong(url, `sent more than ${MOST_TEXT} bytes as ${what}`)
      parts.push(part)
    }
    return Buffer.concat(parts).toString()
  }

  /** The JSON of an answer with status 200. Rejects as `get`, as `refusal` says, and with MALFORMED_DATA. */
  async json(url: URL, headers: RequestHeaders, what: string): Promise<JsonAnswer> {
    const head = await this.get(url, headers)
    if (head.status !== 200) throw this.refusal(head, what)
    const text = await this.text(head, what)
    try {
      return { head, text, json: JSON.parse(text) as unknown }
    } catch {
      throw this.wrong(url, `sent an answer that is no JSON as ${what}`)
    }
  }

  /** The error of an answer that was not expected; `what` was asked for. Ends the answer. */
  refusal({ status, url, leave }: PlaceAnswer, what: string): WeirError {
    leave()
    const { credentials } = this.options
    const answered = `answered with HTTP ${status}`
    if (status === 401)
      return this.failure('UNAUTHENTICATED', url, `wants credentials for ${what}: ${credentials}`)
    if (status === 403)
      return this.failure(
        'ACCESS_DENIED',
        url,
        `does not let this user read ${what}: ${credentials}`,
      )
    if (status === 404) return this.failure('FILE_NOT_FOUND', url, `has no ${what}`)
    if (status >= 500 || status === 429 || status === 408)
      return this.failure('CONNECTOR_FAILED', url, answered)
    return this.failure('UNSUPPORTED', url, `${answered} to the request for ${what}`)
  }

  /** The error of an answer that contradicts what the place must send. */
  wrong(url: URL, what: string): WeirError {
    return this.failure('MALFORMED_DATA', url, what)
  }

  private failure(
    code:
      | 'ACCESS_DENIED'
      | 'CONNECTOR_FAILED'
      | 'FILE_NOT_FOUND'
      | 'MALFORMED_DATA'
      | 'UNAUTHENTICATED'
      | 'UNSUPPORTED',
    url: URL,
    what: string,
    cause?: unknown,
  ): WeirError {
    const message = `${this.options.party} (${url.origin}) ${what}`
    return new WeirError(code, message, cause === undefined ? {} : { cause })
  }

  private redirected(from: URL, location: string): URL {
    const to = URL.parse(location, from)
    if (to === null || !/^https?:$/.test(to.protocol))
      throw this.wrong(from, 'redirects to no address')
    if (isForbiddenAddress(to.hostname)) {
      const what = "redirects to a link-local address, or that of a cloud's metadata"
      throw this.failure('ACCESS_DENIED', from, what)
    }
    if (from.protocol === 'https:' && to.protocol !== 'https:') {
      throw this.failure('ACCESS_DENIED', from, 'redirects to an address without TLS')
    }
    return to
  }

  private once(url: URL, headers: RequestHeaders): Promise<PlaceAnswer> {
    requireOpenAddress(url.hostname)
    const { Agent, request } =
      url.protocol === 'https:'
        ? process.getBuiltinModule('node:https')
        : process.getBuiltinModule('node:http')
    const agent = new Agent({ lookup: openLookup, proxyEnv: { ...this.options.environment } })
    const timeoutMs = this.options.timeoutMs ?? DEFAULT_TIMEOUT_MS
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => reject(this.broken(url, error))
      const sent = request(url, { agent, headers: { ...headers, 'accept-encoding': 'identity' } })
      const pace = new Pace(timeoutMs, (error) => sent.destroy(error))
      sent.once('error', fail)
      sent.once('close', () => pace.end())
      sent.once('response', (response) => resolve(this.answerOf(url, response, pace)))
      sent.end()
    })
  }

  private answerOf(url: URL, response: IncomingMessage, pace: Pace): PlaceAnswer {
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      url,
      body: this.bodyOf(url, response, pace),
      leave: () => response.destroy(),
    }
  }

  private async *bodyOf(
    url: URL,
    response: IncomingMessage,
    pace: Pace,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const part of response as AsyncIterable<Uint8Array>) {
        pace.bytes += part.length
        yield part
      }
    } catch (error) {
      throw this.broken(url, error)
    } finally {
      pace.end()
    }
  }

  private broken(url: URL, error: unknown): WeirError {
    if (isWeirError(error)) return error
    const reason =
      error instanceof TooSlow
        ? error.message
        : ((error as NodeJS.ErrnoException).code ?? 'no whole answer')
    return this.failure('CONNECTOR_FAILED', url, `does not answer (${reason})`, error)
  }
}

/** An answer comes too slowly. */
class TooSlow extends Error {}

/** Ends a request of which too little comes. */
class Pace {
  /** Bytes since the last look. */
  bytes = 0
  private readonly timer: NodeJS.Timeout

  constructor(everyMs: number, fail: (error: TooSlow) => void) {
    this.timer = setInterval(() => {
      if (this.bytes < LEAST_BYTES) fail(new TooSlow(`less than 16 KiB in ${everyMs / 1000} s`))
      this.bytes = 0
    }, everyMs)
  }

  end(): void {
    clearInterval(this.timer)
  }
}

/** The headers that another origin may have: none with a secret. */
function open(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => OPEN_HEADERS.has(name)))
}
