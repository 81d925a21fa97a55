import type { IncomingMessage } from 'node:http'
import { WeirError } from '../../core/errors.ts'
import type { RemoteServer } from './remote-exchange.ts'

/** An object of JSON whose fields may be anything. */
export type Json = Readonly<Record<string, unknown>>

/** Bytes of the longest event of an answer. */
const MAX_EVENT_BYTES = 1024 * 1024

/**
 * Throws for an answer without status 200: INVALID_ARGUMENT where the server refuses the request, MODEL_NOT_LOADED where it has
 * no place for it, REMOTE_MODEL_FAILED otherwise.
 */
export function requireGood(
  server: RemoteServer,
  { statusCode: status = 0 }: IncomingMessage,
): void {
  if (status === 200) return
  const message = server.statusText(status)
  if (status === 429 || status === 503) throw new WeirError('MODEL_NOT_LOADED', message)
  const isRefused = status >= 400 && status < 500 && status !== 401 && status !== 403
  if (!isRefused) throw new WeirError('REMOTE_MODEL_FAILED', message)
  throw new WeirError('INVALID_ARGUMENT', `${message}: it refuses the request`)
}

/**
 * The data of the server-sent events of an answer, each an object of JSON, until the event `last`, or until the end of the
 * answer where there is none. Throws REMOTE_MODEL_FAILED for anything else.
 */
export async function* eventsOf(
  server: RemoteServer,
  response: IncomingMessage,
  last?: string,
): AsyncGenerator<string> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const piece of response as AsyncIterable<string>) {
    const events = (rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    rest = events.pop()!
    if (rest.length > MAX_EVENT_BYTES) {
      throw server.wrong(`sent an event of more than ${MAX_EVENT_BYTES} bytes`)
    }
    for (const event of events) {
      const data = dataOf(event)
      // A comment keeps the connection alive.
      if (data === undefined) continue
      if (data === last) return
      const json = jsonOf(data)
      if (json === undefined) throw server.wrong('sent an event that is no JSON object')
      if (json['error'] !== undefined)
        throw server.wrong('sent an error in the middle of its answer')
      yield data
    }
  }
  if (last !== undefined) throw server.wrong(`ended its answer before ${last}`)
  if (rest.trim() !== '') throw server.wrong('ended its answer in the middle of an event')
}

/** The data of an event; undefined for one without. */
function dataOf(event: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0
    ? undefined
    : lines.map((line) => line.slice('data:'.length).trimStart()).join('\n')
}

/** The JSON object of a text; undefined for anything else. */
export function jsonOf(text: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Json) : undefined
  } catch {
    return undefined
  }
}
