/*
 * Bytes of HTTP/2 (RFC 9113), so that a hostile client can cut and change them. A frame has its length in three bytes, its
 * type, its flags, and its stream; fields are literals without Huffman codes (RFC 7541).
 */

/** What a client sends first. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const [DATA, HEADERS, SETTINGS] = [0, 1, 4]
const [END_STREAM, END_HEADERS] = [1, 4]

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Preface and settings of a client. */
export const GREETING = Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, Buffer.alloc(0))])

/** A text of at most 126 bytes. */
function literal(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)])
}

/** The head of a request. */
export function headFrame(stream: number, fields: Readonly<Record<string, string>>): Buffer {
  const all = Object.entries(fields).flatMap(([name, value]) => [
    Buffer.of(0),
    literal(name),
    literal(value),
  ])
  return frame(HEADERS, END_HEADERS, stream, Buffer.concat(all))
}

/** Bytes of a request; by default the last ones. */
export function dataFrame(stream: number, bytes: Uint8Array, isLast = true): Buffer {
  return frame(DATA, isLast ? END_STREAM : 0, stream, bytes)
}
