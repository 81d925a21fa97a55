import { WeirError } from '../errors.ts'

/**
 * Longest line of a text file, in bytes. A line is in memory as a whole, so that a file without line ends, which
 * may be no text at all, would otherwise take all of it.
 */
export const LONGEST_LINE_BYTES = 16 * 1024 * 1024

/** Throws MALFORMED_DATA if the bytes of a line that has not ended are more than a line may have. `where`: `line 7 of a.csv`. */
export function requireLineEnd(bytes: number, where: string): void {
  if (bytes <= LONGEST_LINE_BYTES) return
  throw new WeirError(
    'MALFORMED_DATA',
    `${where} does not end within ${LONGEST_LINE_BYTES / 1024 / 1024} MiB; is this a text file with one record a line?`,
  )
}
