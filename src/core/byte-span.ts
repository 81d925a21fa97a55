import type { Serializer } from './serializer.ts'

/** Bytes where they lie. Whoever hands one out says how long it is valid; often until the next one. */
export interface ByteSpan {
  readonly bytes: Uint8Array
  readonly start: number
  readonly length: number
}

/** A span that is pointed from place to place, so that none is made per record. */
export interface MutableByteSpan extends ByteSpan {
  bytes: Uint8Array
  start: number
  length: number
}

const NO_BYTES = new Uint8Array(0)

/** A span of nothing. */
export function emptySpan(): MutableByteSpan {
  return { bytes: NO_BYTES, start: 0, length: 0 }
}

/** Bytes as they are, the same ones as `bytesSerializer`'s; a span read lies in the reader's bytes. */
export const spanSerializer: Serializer<ByteSpan> = {
  id: 'bytes/1',
  write: (value, writer) => writer.copy(value.bytes, value.start, value.length),
  read: ({ bytes, position: start, remaining: length }) => ({ bytes, start, length }),
}
