import { WeirError } from '../../../core/errors.ts'

/** An answer of an HTTP server. */
export interface HttpResponse {
  readonly status: number
  /** Part of the bytes that were read: valid until more are. */
  readonly body: Buffer
  /** Whether the connection may take another request. */
  readonly keepsAlive: boolean
}

const HEADER_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)
const MAX_HEADER_BYTES = 64 * 1024

/**
 * Takes the answers of one HTTP/1.1 connection apart. It reads no more than a load generator needs, so
 * that the client takes as little of the machine as it can: status, length, chunks and `Connection`.
 */
export class ResponseReader {
  private received: Buffer = EMPTY

  /**
   * Adds bytes, which may change after the call: those of an answer that is not complete are copied. Returns
   * the answer when it is complete. Throws PROTOCOL_ERROR.
   */
  push(chunk: Buffer): HttpResponse | undefined {
    const isFirst = this.received.length === 0
    this.received = isFirst ? chunk : Buffer.concat([this.received, chunk])
    const response = this.take()
    if (isFirst && this.received.length > 0) this.received = Buffer.from(this.received)
    return response
  }

  private take(): HttpResponse | undefined {
    for (;;) {
      const headerEnd = this.received.indexOf(HEADER_END)
      if (headerEnd < 0) {
        if (this.received.length > MAX_HEADER_BYTES) throw malformed('its header has no end')
        return undefined
      }
      const header = this.received.toString('latin1', 0, headerEnd + 2)
      const status = statusOf(header)
      const start = headerEnd + HEADER_END.length
      // An interim answer (1xx) comes before the real one.
      if (status >= 100 && status < 200) this.received = this.received.subarray(start)
      else return this.bodyOf(header, status, start)
    }
  }

  /** The answer whose body ends with the connection, if this is one; undefined if the answer is cut off. */
  end(): HttpResponse | undefined {
    const headerEnd = this.received.indexOf(HEADER_END)
    if (headerEnd < 0) return undefined
    const header = this.received.toString('latin1', 0, headerEnd + 2)
    if (lengthOf(header) !== undefined || isChunked(header)) return undefined
    const body = this.received.subarray(headerEnd + HEADER_END.length)
    return { status: statusOf(header), body, keepsAlive: false }
  }

  private bodyOf(header: string, status: number, start: number): HttpResponse | undefined {
    const keepsAlive = !/\r\nconnection: *close/i.test(header)
    if (isChunked(header)) {
      const chunks = chunksFrom(this.received, start)
      return chunks && this.finish(status, chunks.body, chunks.end, keepsAlive)
    }
    const hasNoBody = status === 204 || status === 304
    const length = hasNoBody ? 0 : lengthOf(header)
    if (length === undefined) return undefined
    const end = start + length
    if (this.received.length < end) return undefined
    return this.finish(status, this.received.subarray(start, end), end, keepsAlive)
  }

  private finish(status: number, body: Buffer, end: number, keepsAlive: boolean): HttpResponse {
    this.received = end === this.received.length ? EMPTY : this.received.subarray(end)
    return { status, body, keepsAlive }
  }
}

/** The body in chunks that starts at `start` and where it ends; undefined while it is not complete. */
function chunksFrom(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf(LINE_END, at)
    if (lineEnd < 0) return undefined
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (!(length >= 0)) throw malformed('a chunk has no length')
    const from = lineEnd + LINE_END.length
    if (length === 0) {
      // Trailers may follow; an empty line ends them.
      const end = bytes.indexOf(HEADER_END, lineEnd)
      return end < 0 ? undefined : { body: Buffer.concat(parts), end: end + HEADER_END.length }
    }
    if (bytes.length < from + length + LINE_END.length) return undefined
    parts.push(bytes.subarray(from, from + length))
    at = from + length + LINE_END.length
  }
}

function statusOf(header: string): number {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(header)?.[1]
  if (status === undefined) throw malformed(`it starts with ${JSON.stringify(header.slice(0, 20))}`)
  return Number(status)
}

function lengthOf(header: string): number | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(header)?.[1]
  return length === undefined ? undefined : Number(length)
}

const isChunked = (header: string): boolean => /\r\ntransfer-encoding: *chunked/i.test(header)

function malformed(problem: string): WeirError {
  return new WeirError(
    'PROTOCOL_ERROR',
    `the server's answer is not HTTP/1.1: ${problem}; check the URL, and http against https`,
  )
}
