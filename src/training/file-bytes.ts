import { createReadStream } from 'node:fs'

/** A file, given by its path or as its bytes, piece by piece. */
export type FileBytes = string | URL | AsyncIterable<Uint8Array>

const PIECE_BYTES = 1 << 18

/** The bytes of a file, never as a whole. Throws the file system's own errors. */
export function bytesOf(file: FileBytes): AsyncIterable<Uint8Array> {
  if (typeof file === 'object' && Symbol.asyncIterator in file) return file
  return createReadStream(file, { highWaterMark: PIECE_BYTES })
}
