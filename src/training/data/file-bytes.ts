import { createReadStream } from 'node:fs'

/** A file: its path, or its bytes in pieces. */
export type FileBytes = string | URL | AsyncIterable<Uint8Array>

const PIECE_BYTES = 1 << 18

interface LineParser {
  readonly lineCount: number
  readonly badLineCount: number
  push(piece: Uint8Array): void
  end(): void
}

interface ParsedLines {
  readonly lines: number
  /** Lines left out; only with `badLines: 'count'`. */
  readonly badLines: number
}

/** Parses a file to its end. Throws errors of the parser and of the file system. */
export async function parseFile(parser: LineParser, file: FileBytes): Promise<ParsedLines> {
  for await (const piece of bytesOf(file)) parser.push(piece)
  parser.end()
  return { lines: parser.lineCount, badLines: parser.badLineCount }
}

/** The bytes of a file in pieces. Throws errors of the file system. */
export function bytesOf(file: FileBytes): AsyncIterable<Uint8Array> {
  if (typeof file === 'object' && Symbol.asyncIterator in file) return file
  return createReadStream(file, { highWaterMark: PIECE_BYTES })
}
