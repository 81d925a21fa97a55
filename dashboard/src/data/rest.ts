import { signal } from '@preact/signals'

const TOKEN_KEY = 'weir-token'

/** Token of the user, kept until the tab is closed; '' for none. */
const token = signal(sessionStorage.getItem(TOKEN_KEY) ?? '')

/** Whether the server asked for a token that it has not been given. */
export const needsToken = signal(false)

/** Whether the last request reached the server. */
export const isConnected = signal(true)

/** An answer that is no success. */
export class RestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Sets the token that requests are sent with. */
export function setToken(text: string): void {
  sessionStorage.setItem(TOKEN_KEY, text)
  token.value = text
  needsToken.value = false
}

/** Reads a path of the REST interface. Throws RestError. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send('GET', path, { signal })).json()) as T
}

/** Reads a path whose answer is text. Throws RestError. */
export async function readText(path: string, signal?: AbortSignal): Promise<string> {
  return await (await send('GET', path, { signal })).text()
}

/** Sends a change. Throws RestError. */
export async function change<T>(
  method: 'POST' | 'PATCH' | 'PUT',
  path: string,
  body?: object,
): Promise<T> {
  return (await (await send(method, path, { body })).json()) as T
}

/** Options of a stream of events. */
export interface StreamOptions {
  readonly signal: AbortSignal
  /** Id of the last event seen; '' for none. */
  readonly lastEventId: string
}

/** Opens a stream of server-sent events. Throws RestError. */
export async function openStream(
  path: string,
  { signal, lastEventId }: StreamOptions,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { body } = await send('GET', path, {
    signal,
    headers: lastEventId === '' ? {} : { 'last-event-id': lastEventId },
  })
  if (body === null) throw new RestError(0, 'the stream of events is empty')
  return body
}

interface Parts {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly body?: object | undefined
}

async function send(
  method: string,
  path: string,
  { signal, body, headers }: Parts,
): Promise<Response> {
  const response = await reach(path, {
    method,
    headers: {
      ...headers,
      ...(token.value === '' ? {} : { authorization: `Bearer ${token.value}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(signal === undefined ? {} : { signal }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.ok) return response
  if (response.status === 401) needsToken.value = true
  throw new RestError(response.status, await sentenceOf(response))
}

async function reach(path: string, options: RequestInit): Promise<Response> {
  try {
    const response = await fetch(path, options)
    isConnected.value = true
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    isConnected.value = false
    throw new RestError(0, 'the server does not answer')
  }
}

/** The sentence in an answer of the form `{"errors": ["..."]}`. */
async function sentenceOf(response: Response): Promise<string> {
  try {
    const { errors } = (await response.json()) as { errors?: readonly string[] }
    return errors?.join('; ') ?? response.statusText
  } catch {
    return response.statusText
  }
}
