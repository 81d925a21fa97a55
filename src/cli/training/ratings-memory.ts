import { totalmem } from 'node:os'
import { openLineInput } from '../../connectors/file/open-folder.ts'
import { UsageError } from '../command/command.ts'
import { ratingFiles } from '../files/ratings-file.ts'

/** What a rating takes in memory while training starts; measured (docs/guide/training.md). */
const RATING_BYTES = 60
/** The shortest line of a rating. */
const SHORTEST_LINE = 6
const SAMPLE_BYTES = 64 * 1024
const LINE_FEED = 10
/** How files begin that are no lines as they are stored: gzip, zstd, Parquet, Arrow. */
const PACKED = ['\u001f\u008b', '(\u00b5/\u00fd', 'PAR1', 'ARROW1']

/** Memory that this process may use, bytes: of the machine, or of the container that it is in. */
export function machineMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/**
 * Throws UsageError where the ratings of text files surely need more memory than there is, with the flags that need less. The
 * lines are counted by their mean length at the start of the first file; of packed files that is not known.
 */
export async function requireMemoryFor(place: string, memoryBytes: number): Promise<void> {
  const files = await ratingFiles(place)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if ((bytes / SHORTEST_LINE) * RATING_BYTES <= memoryBytes) return
  const lineBytes = await meanLineBytes(files[0]!.place)
  const needed = lineBytes === undefined ? 0 : (bytes / lineBytes) * RATING_BYTES
  if (needed <= memoryBytes) return
  throw new UsageError(
    `the ratings of ${place} need about ${gigabytes(needed)} of memory, and this machine has ${gigabytes(memoryBytes)}: give --memory SIZE, which sorts them in files, or --engine spark`,
  )
}

/** Mean length of the first lines of a file with their ends; undefined where they are packed, or none ends. */
async function meanLineBytes(place: string): Promise<number | undefined> {
  const input = await openLineInput(place)
  try {
    const sample = Buffer.alloc(SAMPLE_BYTES)
    const bytes = await input.read(sample, 0)
    const head = sample.toString('latin1', 0, 8)
    if (PACKED.some((magic) => head.startsWith(magic))) return undefined
    const end = sample.subarray(0, bytes).lastIndexOf(LINE_FEED) + 1
    const lines = sample
      .subarray(0, end)
      .reduce((sum, each) => sum + (each === LINE_FEED ? 1 : 0), 0)
    return lines === 0 ? undefined : end / lines
  } finally {
    await input.close()
  }
}

const gigabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 30)} GB`
