import type { Serializer } from './serializer.ts'

/**
 * A part of an array of bytes, without a copy. The code that creates one says how long it is valid, often
 * until the next one.
 */
export interface ByteSpan {
  readonly bytes: Uint8Array
  readonly start: number
  readonly length: number
}

/** A span that is reused for many places, so that none is created per record. */
export interface MutableByteSpan extends ByteSpan {
  bytes: Uint8Array
  start: number
  length: number
}

const NO_BYTES = new Uint8Array(0)

/** An empty span. */
export function emptySpan(): MutableByteSpan {
  return { bytes: NO_BYTES, start: 0, length: 0 }
}

/** Bytes in the format of `bytesSerializer`; a span that is read is part of the reader's bytes. */
export const spanSerializer: Serializer<ByteSpan> = {
  id: 'bytes/1',
  write: (value, writer) => writer.copy(value.bytes, value.start, value.length),
  read: ({ bytes, position: start, remaining: length }) => ({ bytes, start, length }),
}
