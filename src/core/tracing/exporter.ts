import { messageOf } from '../errors.ts'
import { otlpTraces } from './otlp.ts'
import type { TracingSettings } from './settings.ts'
import type { Span } from './span.ts'

/** Spans that wait for the collector; further ones are dropped, so that memory stays bounded. */
const MAX_WAITING = 2048
/** Spans of one export. */
const MAX_BATCH = 512
/** Answers of a collector that may take the same spans later. */
const RETRYABLE = new Set([429, 502, 503, 504])
const MAX_ATTEMPTS = 3
/** Bytes of an answer that are read, so that its connection is used again; a longer one ends it. */
const MAX_ANSWER_BYTES = 64 * 1024

/**
 * Sends ended spans to a collector in the background. It never slows a request: spans are dropped when
 * the collector is away, and the first failure is reported.
 */
export class SpanExporter implements AsyncDisposable {
  /** Spans that the collector did not get. */
  dropped = 0
  private readonly settings: TracingSettings
  private readonly warn: (message: string) => void
  private waiting: Span[] = []
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> = Promise.resolve()
  private hasWarned = false

  constructor(settings: TracingSettings, warn: (message: string) => void) {
    this.settings = settings
    this.warn = warn
  }

  /** Takes a span that has ended. */
  readonly add = (span: Span): void => {
    if (this.waiting.length >= MAX_WAITING) {
      this.dropped += 1
      return
    }
    this.waiting.push(span)
    if (this.waiting.length >= MAX_BATCH) void this.flush()
    else if (this.timer === undefined) {
      this.timer = setTimeout(() => void this.flush(), this.settings.delayMs)
      this.timer.unref()
    }
  }

  /** Sends what waits. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const spans = this.waiting
    this.waiting = []
    if (spans.length > 0) {
      this.sending = this.sending.then(() => this.send(spans)).catch((e) => this.lost(spans, e))
    }
    await this.sending
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush()
  }

  private async send(spans: readonly Span[]): Promise<void> {
    const { url, headers, resource, timeoutMs } = this.settings
    const body = JSON.stringify(otlpTraces(resource, spans))
    for (let attempt = 1; ; attempt++) {
      const answer = await this.post(url, { headers, body, timeoutMs }, attempt)
      if (answer?.ok === true) return
      if (answer !== undefined && !RETRYABLE.has(answer.status)) {
        throw new Error(`it answered ${answer.status}`)
      }
      await pause(attempt)
    }
  }

  /**
   * Sends a body and reads the answer. Undefined after the first failure of a connection: a kept one may have been closed
   * by the collector meanwhile. Redirects are not followed: the header fields are for this collector only.
   */
  private async post(
    url: string,
    { headers, body, timeoutMs }: Post,
    attempt: number,
  ): Promise<Response | undefined> {
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      await readSome(answer)
      if (RETRYABLE.has(answer.status) && attempt === MAX_ATTEMPTS) {
        throw new Error(`it answered ${answer.status}`)
      }
      return answer
    } catch (error) {
      const isFirst = attempt === 1 && error instanceof TypeError
      if (isFirst) return undefined
      throw error
    }
  }

  private lost(spans: readonly Span[], error: unknown): void {
    this.dropped += spans.length
    if (this.hasWarned) return
    this.hasWarned = true
    const why = messageOf(error)
    this.warn(`spans were dropped: the collector ${this.settings.url} does not take them: ${why}`)
  }
}

/** What is sent to a collector. */
interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly timeoutMs: number
}

/** Reads the body of an answer, which says nothing that is of use; a long one is left. */
async function readSome({ body }: Response): Promise<void> {
  if (body === null) return
  let bytes = 0
  // Leaving the loop ends the connection.
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) return
  }
}

/** Waits longer after each attempt; the timer keeps no process alive. */
function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, attempt * 500).unref())
}
