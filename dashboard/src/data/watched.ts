import { type Signal, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { EventParser } from './event-parser.ts'
import { isConnected, needsToken, openStream, RestError, read } from './rest.ts'

/** What is known of a path that is watched. */
export interface Watched<T> {
  /** The last answer; undefined before the first. */
  readonly data: T | undefined
  /** Why the last request failed; undefined when it did not. */
  readonly error: RestError | undefined
}

interface Entry {
  readonly answer: Signal<Watched<unknown>>
  users: number
}

/** How answers arrive: pushed by the server, or by a request a second while it sends no events. */
export const delivery = signal<'events' | 'requests'>('requests')
/** Number of times that events have stopped: what was missed since must be read again. */
export const gaps = signal(0)

/** Time between two requests while the server sends no events, ms. */
const POLL_MS = 1000
/** Longest pause after failures, ms. */
const LONGEST_MS = 10_000
/** Time without a sign of life after which a stream counts as lost, ms; the server sends one every 15 s. */
const SILENCE_MS = 40_000
const NOTHING: Watched<never> = { data: undefined, error: undefined }

const entries = new Map<string, Entry>()
/** Ends the delivery that runs now. */
let current = new AbortController()
/** Paths of the stream that is open or being opened. */
let streamed: ReadonlySet<string> = new Set()
let lastEventId = ''
let isStartDue = false

/** The answer to a path, now and whenever it changes. Nothing is requested where the path is undefined. */
export function useWatched<T>(path: string | undefined): Watched<T> {
  // In the same turn as the path is rendered, so that `start` finds it in use.
  useLayoutEffect(() => (path === undefined ? undefined : watch(path)), [path])
  if (path === undefined) return NOTHING
  return entryOf(path).answer.value as Watched<T>
}

/** Follows the visibility of the page: a hidden one keeps no stream open. */
export function followVisibility(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stopDelivery()
    else startSoon()
  })
  needsToken.subscribe((isNeeded) => {
    if (isNeeded) stopDelivery()
    else startSoon()
  })
}

function entryOf(path: string): Entry {
  const known = entries.get(path)
  if (known !== undefined) return known
  const entry = { answer: signal<Watched<unknown>>(NOTHING), users: 0 }
  entries.set(path, entry)
  return entry
}

function watch(path: string): () => void {
  const entry = entryOf(path)
  entry.users += 1
  const { data, error } = entry.answer.peek()
  if (!streamed.has(path) || (data === undefined && error === undefined)) startSoon()
  return () => {
    entry.users -= 1
  }
}

/** Starts a delivery of all paths when the components of this turn have named theirs. */
function startSoon(): void {
  if (isStartDue) return
  isStartDue = true
  setTimeout(() => {
    isStartDue = false
    if (!document.hidden && !needsToken.value) start()
  })
}

function start(): void {
  current.abort()
  current = new AbortController()
  for (const [path, { users }] of entries) if (users === 0) entries.delete(path)
  streamed = new Set(entries.keys())
  if (streamed.size > 0) void deliver(current.signal)
}

function stopDelivery(): void {
  current.abort()
  streamed = new Set()
  gaps.value += 1
}

/** Delivers by events; while they fail, by requests. */
async function deliver(stop: AbortSignal): Promise<void> {
  for (let failures = 0; !stop.aborted; failures++) {
    const beganMs = performance.now()
    await stream(stop).catch(() => {})
    if (stop.aborted) return
    if (delivery.value === 'events') gaps.value += 1
    delivery.value = 'requests'
    // A stream that lasted was no failure: only its end was.
    if (performance.now() - beganMs > LONGEST_MS) failures = 0
    await requestFor(Math.min(LONGEST_MS, POLL_MS * 2 ** failures), stop)
  }
}

/** Reads events until the stream ends. Throws RestError. */
async function stream(stop: AbortSignal): Promise<void> {
  const paths = [...streamed].map((path) => `path=${encodeURIComponent(path)}`)
  const silence = new AbortController()
  const response = await openStream(`/weir/events?${paths.join('&')}`, {
    signal: AbortSignal.any([stop, silence.signal]),
    lastEventId: isEveryPathKnown() ? lastEventId : '',
  })
  const parser = new EventParser()
  const reader = response.pipeThrough(new TextDecoderStream()).getReader()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      if (stop.aborted) return
      delivery.value = 'events'
      for (const { id, data } of parser.push(value)) {
        lastEventId = id
        take(JSON.parse(data) as AnswerEvent)
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** With a path whose answer is not known yet the server must send everything. */
function isEveryPathKnown(): boolean {
  return [...entries.values()].every(({ answer }) => answer.peek().data !== undefined)
}

/** An event of the server: the answer to a path. */
interface AnswerEvent {
  readonly path: string
  readonly status: number
  readonly body: unknown
}

function take({ path, status, body }: AnswerEvent): void {
  if (status < 400) {
    put(path, { data: body, error: undefined })
    return
  }
  const { errors = [] } = body as { readonly errors?: readonly string[] }
  fail(path, new RestError(status, errors.join('; ')))
}

function put(path: string, watched: Watched<unknown>): void {
  const entry = entries.get(path)
  if (entry !== undefined) entry.answer.value = watched
}

function fail(path: string, error: RestError): void {
  put(path, { data: entries.get(path)?.answer.peek().data, error })
}

/** Requests all paths once a second for some time, and once at least. */
async function requestFor(ms: number, stop: AbortSignal): Promise<void> {
  const endMs = performance.now() + ms
  do {
    const used = [...entries].filter(([, { users }]) => users > 0)
    await Promise.all(used.map(([path]) => request(path, stop)))
    await pause(isConnected.value ? POLL_MS : ms, stop)
  } while (performance.now() < endMs && !stop.aborted)
}

async function request(path: string, stop: AbortSignal): Promise<void> {
  try {
    put(path, { data: await read<unknown>(path, stop), error: undefined })
  } catch (error) {
    if (!stop.aborted) fail(path, error instanceof RestError ? error : new RestError(0, `${error}`))
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stop.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
