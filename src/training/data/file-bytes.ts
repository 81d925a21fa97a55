import { createReadStream } from 'node:fs'

/** A file: its path, or its bytes in pieces. */
export type FileBytes = string | URL | AsyncIterable<Uint8Array>

const PIECE_BYTES = 1 << 18

/** The bytes of a file in pieces. Throws errors of the file system. */
export function bytesOf(file: FileBytes): AsyncIterable<Uint8Array> {
  if (typeof file === 'object' && Symbol.asyncIterator in file) return file
  return createReadStream(file, { highWaterMark: PIECE_BYTES })
}
