import type { IncomingMessage } from 'node:http'
import type { ConnectionOptions } from 'node:tls'

/** TLS of a request: the options of Node's `tls.connect`. */
export type RequestTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'checkServerIdentity'>

/** One request of the REST client. */
export interface RestRequest {
  readonly method: string
  /** `http:` or `https:` */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object | undefined
  /** Only for `https:`. @default the authorities of Node, no client certificate */
  readonly tls?: RequestTls | undefined
  /** Socket of the server, which is then asked without TLS. @default its port */
  readonly socketPath?: string | undefined
  /** @default REQUEST_LIMITS */
  readonly limits?: RequestLimits | undefined
}

/** What a server may take. */
export interface RequestLimits {
  /** Silence after which a request fails, ms. */
  readonly silenceMs: number
  /** Time for the whole answer, ms. */
  readonly deadlineMs: number
  /** Bytes of the longest answer. */
  readonly mostBytes: number
}

/** A whole answer. */
export interface RestAnswer {
  readonly status: number
  readonly text: string
}

/** A cancelled job may take its time to end. */
const REQUEST_LIMITS: RequestLimits = {
  silenceMs: 300_000,
  deadlineMs: 900_000,
  mostBytes: 256 * 1024 * 1024,
}

/**
 * Sends a request and reads the whole answer. Rejects with Node's error of the connection. `fetch` is not used
 * because it takes neither an authority nor a client certificate.
 */
export async function sendRequest(request: RestRequest): Promise<RestAnswer> {
  const { limits = REQUEST_LIMITS } = request
  const answer = await answerTo(request, limits)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop ends the connection.
    if (bytes > limits.mostBytes)
      throw new Error(`the answer is longer than ${limits.mostBytes} bytes`)
    chunks.push(chunk)
  }
  return { status: answer.statusCode!, text: Buffer.concat(chunks).toString('utf8') }
}

function answerTo(
  { method, url, headers, body, tls, socketPath }: RestRequest,
  { silenceMs, deadlineMs }: RequestLimits,
): Promise<IncomingMessage> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const length = bytes === undefined ? {} : { 'content-type': 'application/json' }
  const way = socketPath === undefined ? {} : { socketPath }
  const options = { method, headers: { ...headers, ...length }, agent: false as const, ...way }
  return new Promise((resolve, reject) => {
    const isEncrypted = url.startsWith('https:') && socketPath === undefined
    const sent = isEncrypted
      ? process.getBuiltinModule('node:https').request(url, { ...options, ...tls })
      : process.getBuiltinModule('node:http').request(url.replace(/^https:/, 'http:'), options)
    sent.once('response', resolve)
    sent.on('error', reject)
    sent.setTimeout(silenceMs, () => sent.destroy(new Error(`no answer for ${silenceMs / 1000} s`)))
    const late = setTimeout(() => {
      sent.destroy(new Error(`no whole answer in ${deadlineMs / 1000} s`))
    }, deadlineMs)
    sent.on('close', () => clearTimeout(late))
    sent.end(bytes)
  })
}
