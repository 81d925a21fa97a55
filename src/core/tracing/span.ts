import type { TraceContext } from './context.ts'

/** What a span stands for; numbers of OTLP's `SpanKind`. */
export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const

/** An attribute's value. */
export type AttributeValue = string | number | boolean

/** Attributes of a span by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>

/** What a span is made of. */
export interface SpanStart extends TraceContext {
  readonly name: string
  readonly kind: number
  readonly parentSpanId: string | undefined
  readonly attributes: Attributes
  /** ms since 1970, with fractions. */
  readonly startMs: number
}

/** One step of a sampled request. It is exported when it has ended. */
export class Span implements TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly start: SpanStart
  endMs = 0
  /** Code of the error with which the step failed. */
  error: string | undefined
  private readonly added: Record<string, AttributeValue> = {}
  private readonly onEnd: (span: Span) => void

  constructor(start: SpanStart, onEnd: (span: Span) => void) {
    this.traceId = start.traceId
    this.spanId = start.spanId
    this.start = start
    this.onEnd = onEnd
  }

  get attributes(): Attributes {
    return { ...this.start.attributes, ...this.added }
  }

  /** Adds an attribute, or replaces it. */
  set(name: string, value: AttributeValue): void {
    this.added[name] = value
  }

  /** The step has failed with this code. */
  fail(code: string): void {
    this.error ??= code
  }

  /** Ends the span once; later calls do nothing. */
  end(): void {
    if (this.endMs !== 0) return
    this.endMs = performance.timeOrigin + performance.now()
    this.onEnd(this)
  }
}
