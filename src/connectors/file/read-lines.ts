import { isUtf8 } from 'node:buffer'
import { WeirError } from '../../core/errors.ts'
import { requireLineEnd } from '../../core/text/longest-line.ts'
import { readPieces } from './open-folder.ts'

const NEWLINE = 10

/**
 * The lines of a UTF-8 file at a path or an `hdfs://` URL, many at a time, without their line ends (LF
 * or CRLF). One piece of the file and its longest line are held in memory. Throws MALFORMED_DATA with
 * the number of a line that is not UTF-8, or does not end.
 */
export async function* readLines(place: string): AsyncGenerator<readonly string[]> {
  // The pieces of a line that has not ended, each copied once.
  let rest: Uint8Array[] = []
  let restBytes = 0
  let before = 0
  for await (const piece of readPieces(place)) {
    const end = piece.lastIndexOf(NEWLINE)
    if (end >= 0) {
      const lines = linesOf(Buffer.concat([...rest, piece.subarray(0, end)]), place, before)
      before += lines.length
      rest = []
      restBytes = 0
      yield lines
    }
    rest.push(new Uint8Array(piece.subarray(end + 1)))
    restBytes += piece.length - end - 1
    requireLineEnd(restBytes, `line ${before + 1} of ${place}`)
  }
  if (restBytes > 0) yield linesOf(Buffer.concat(rest), place, before)
}

function linesOf(bytes: Buffer, place: string, before: number): readonly string[] {
  if (!isUtf8(bytes)) throw notUtf8(bytes, place, before)
  const text = bytes.toString('utf8')
  const lines = text.split('\n')
  if (!text.includes('\r')) return lines
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
}

/** The error of the first line in `bytes` that is not UTF-8; `before` lines precede them. */
function notUtf8(bytes: Buffer, place: string, before: number): WeirError {
  let line = before + 1
  let from = 0
  for (;;) {
    const end = bytes.indexOf(NEWLINE, from)
    if (end < 0 || !isUtf8(bytes.subarray(from, end))) break
    from = end + 1
    line += 1
  }
  return new WeirError(
    'MALFORMED_DATA',
    `line ${line} of ${place} is not UTF-8; convert the file, for example with "iconv -f latin1 -t utf-8"`,
    { details: { line, path: place } },
  )
}
