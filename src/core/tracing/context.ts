/**
 * The place of a span in a trace, as the W3C's Trace Context (level 2) describes it. Only sampled spans
 * have one in Weir: what is not sampled makes no span.
 */
export interface TraceContext {
  /** 32 hex digits, not all 0. */
  readonly traceId: string
  /** 16 hex digits, not all 0. */
  readonly spanId: string
}

/** A `traceparent` header: the caller's span, and whether the caller's trace is sampled. */
export interface TraceParent extends TraceContext {
  readonly isSampled: boolean
}

/** Bytes of a context in a frame of the query protocol: trace id, span id. */
export const CONTEXT_BYTES = 24

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Reads a `traceparent` header; undefined when it is missing or malformed, which starts a new trace. */
export function parseTraceParent(header: string | undefined): TraceParent | undefined {
  const found = header === undefined ? null : TRACEPARENT.exec(header)
  if (found === null) return undefined
  const [, version, traceId, spanId, flags, rest] = found
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined
  const isSampled = (Number.parseInt(flags!, 16) & SAMPLED) !== 0
  return { traceId: traceId!, spanId: spanId!, isSampled }
}

/** The `traceparent` of a sampled span. */
export function formatTraceParent({ traceId, spanId }: TraceContext): string {
  return `00-${traceId}-${spanId}-01`
}

/** The context as bytes of a frame. */
export function encodeContext({ traceId, spanId }: TraceContext): Uint8Array {
  return Buffer.from(traceId + spanId, 'hex')
}

/** Reads a context from `bytes`, which has at least 24 from `at` on; undefined when an id is all 0. */
export function decodeContext(bytes: Uint8Array, at: number): TraceContext | undefined {
  const hex = Buffer.from(bytes.subarray(at, at + CONTEXT_BYTES)).toString('hex')
  const parsed = parseTraceParent(`00-${hex.slice(0, 32)}-${hex.slice(32)}-01`)
  return parsed === undefined ? undefined : { traceId: parsed.traceId, spanId: parsed.spanId }
}

/** A random id of so many bytes, as hex digits; never all 0. */
export function newId(bytes: 8 | 16): string {
  // Loaded at the first use: it takes a thread milliseconds at its start, and most never need it.
  const { randomFillSync } = process.getBuiltinModule('node:crypto')
  const id = randomFillSync(Buffer.allocUnsafe(bytes))
  if (id.every((byte) => byte === 0)) id[0] = 1
  return id.toString('hex')
}
