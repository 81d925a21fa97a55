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
}

/** A whole answer. */
export interface RestAnswer {
  readonly status: number
  readonly text: string
}

/** Silence of the server after which a request fails: a cancelled job may take its time to end. */
const SILENCE_MS = 300_000

/**
 * Sends a request and reads the whole answer. Rejects with Node's error of the connection. `fetch` is not used
 * because it takes neither an authority nor a client certificate.
 */
export async function sendRequest(request: RestRequest): Promise<RestAnswer> {
  const answer = await answerTo(request)
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return { status: answer.statusCode!, text: Buffer.concat(chunks).toString('utf8') }
}

function answerTo({ method, url, headers, body, tls }: RestRequest): Promise<IncomingMessage> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const length = bytes === undefined ? {} : { 'content-type': 'application/json' }
  const options = { method, headers: { ...headers, ...length }, agent: false as const }
  return new Promise((resolve, reject) => {
    const sent = url.startsWith('https:')
      ? process.getBuiltinModule('node:https').request(url, { ...options, ...tls })
      : process.getBuiltinModule('node:http').request(url, options)
    sent.once('response', resolve)
    sent.on('error', reject)
    sent.setTimeout(SILENCE_MS, () =>
      sent.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)),
    )
    sent.end(bytes)
  })
}
