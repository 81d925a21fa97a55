import { AsyncLocalStorage } from 'node:async_hooks'
import { messageOf } from '../errors.ts'
import { formatTraceParent, newId, parseTraceParent, type TraceContext } from './context.ts'
import type { Environment } from './environment.ts'
import { SpanExporter } from './exporter.ts'
import { type TracingSettings, tracingSettings } from './settings.ts'
import { type Attributes, SPAN_KIND, Span } from './span.ts'

/** Makes the spans of one thread. */
export class Tracer {
  private readonly settings: TracingSettings
  private readonly exporter: SpanExporter
  private readonly active = new AsyncLocalStorage<Span>()

  constructor(settings: TracingSettings, exporter: SpanExporter) {
    this.settings = settings
    this.exporter = exporter
  }

  /** The span of a request from outside with this `traceparent`; undefined when it is not sampled. */
  request(name: string, header: string | undefined, attributes: Attributes): Span | undefined {
    const parent = parseTraceParent(header)
    const traceId = parent?.traceId ?? newId(16)
    if (!this.settings.sampler(parent, traceId)) return undefined
    return this.start(name, SPAN_KIND.server, { traceId, parentSpanId: parent?.spanId, attributes })
  }

  /** A span below another one, of this thread or another one. */
  child(
    { traceId, spanId }: TraceContext,
    name: string,
    kind: number,
    attributes: Attributes,
  ): Span {
    return this.start(name, kind, { traceId, parentSpanId: spanId, attributes })
  }

  private start(
    name: string,
    kind: number,
    place: {
      readonly traceId: string
      readonly parentSpanId: string | undefined
      readonly attributes: Attributes
    },
  ): Span {
    const startMs = performance.timeOrigin + performance.now()
    return new Span({ ...place, name, kind, spanId: newId(8), startMs }, this.exporter.add)
  }

  /** The span of the calling code. */
  get current(): Span | undefined {
    return this.active.getStore()
  }

  /** Runs `work`, and what it starts, below a span. */
  run<T>(span: Span, work: () => T): T {
    return this.active.run(span, work)
  }

  /** Sends the spans that have ended. Never rejects. */
  async flush(): Promise<void> {
    await this.exporter.flush()
  }
}

/** The tracer of this thread; undefined while nothing is traced, which costs a comparison. */
export let tracer: Tracer | undefined

/**
 * Traces in this thread if OpenTelemetry's variables name a collector. Further calls change nothing. With a
 * wrong value in a variable it warns and traces nothing: observation never stops a job.
 */
export function startTracing(
  env: Environment,
  warn: (message: string) => void = printWarning,
): void {
  if (tracer !== undefined) return
  try {
    const settings = tracingSettings(env)
    if (settings === undefined) return
    tracer = new Tracer(settings, new SpanExporter(settings, warn))
  } catch (error) {
    warn(`nothing is traced: ${messageOf(error)}`)
  }
}

/** Sends what has ended and traces no more. */
export async function stopTracing(): Promise<void> {
  const stopped = tracer
  tracer = undefined
  await stopped?.flush()
}

/** `traceparent` of the calling code's span, for another thread; undefined when there is none. */
export function currentTraceParent(): string | undefined {
  const span = tracer?.current
  return span === undefined ? undefined : formatTraceParent(span)
}

function printWarning(message: string): void {
  process.stderr.write(`weir: ${message}\n`)
}
