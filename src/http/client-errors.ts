import type { Duplex } from 'node:stream'
import { STATUS_CODES } from './builtin.ts'
import { SECURITY_FIELDS } from './security-headers.ts'

/** The body of an answer to bytes that are no request. */
export interface RefusalBody {
  readonly type: string
  readonly text: string
}

const BAD_BYTES = { status: 400, detail: 'the bytes are no HTTP request' }
const REFUSALS: Readonly<Record<string, typeof BAD_BYTES>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    detail: 'the path and the header fields have more than 16 KiB; send long lists in a body',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, detail: 'the request did not arrive in time' },
}

/** Answers bytes of which no request was made, as a whole, and ends the connection: for the event `clientError`. */
export function refuseClient(
  { code }: { readonly code?: string | undefined },
  socket: Pick<Duplex, 'writable' | 'write' | 'destroy'>,
  bodyOf: (status: number, detail: string) => RefusalBody,
): void {
  if (code !== 'ECONNRESET' && socket.writable) socket.write(refusalText(code, bodyOf))
  socket.destroy()
}

function refusalText(
  code: string | undefined,
  bodyOf: (status: number, detail: string) => RefusalBody,
): string {
  const { status, detail } = REFUSALS[code ?? ''] ?? BAD_BYTES
  const { type, text } = bodyOf(status, detail)
  const fields = `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}`
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields}\r\n${SECURITY_FIELDS}connection: close\r\n\r\n${text}`
}
