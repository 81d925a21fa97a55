import type { AttributeValue, Span } from './span.ts'

const STATUS_ERROR = 2

/** Spans as the JSON of an `ExportTraceServiceRequest` (OTLP 1.x). */
export function otlpTraces(
  resource: Readonly<Record<string, AttributeValue>>,
  spans: readonly Span[],
): object {
  const scope = { name: 'weir' }
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope, spans: spans.map(spanOf) }],
      },
    ],
  }
}

function spanOf(span: Span): object {
  const { traceId, spanId, parentSpanId, name, kind, startMs } = span.start
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(span.endMs),
    attributes: attributesOf(span.attributes),
    status: span.error === undefined ? {} : { code: STATUS_ERROR, message: span.error },
  }
}

/** 64-bit numbers are texts in OTLP's JSON. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}

function attributesOf(attributes: Readonly<Record<string, AttributeValue>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValueOf(value) }))
}

function anyValueOf(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
