import { readPieces } from './open-line-folder.ts'

const NEWLINE = 10

/**
 * The lines of a UTF-8 file at a path or an `hdfs://` URL, many at a time, without their ends (LF or
 * CRLF). A piece of the file and its longest line are what is held of it.
 */
export async function* readLines(place: string): AsyncGenerator<readonly string[]> {
  let rest = Buffer.alloc(0)
  for await (const piece of readPieces(place)) {
    const bytes = Buffer.concat([rest, piece])
    const end = bytes.lastIndexOf(NEWLINE) + 1
    rest = bytes.subarray(end)
    if (end > 0) yield linesOf(bytes.toString('utf8', 0, end - 1))
  }
  if (rest.length > 0) yield linesOf(rest.toString('utf8'))
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (!text.includes('\r')) return lines
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
}
