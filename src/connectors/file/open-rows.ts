import { WeirError } from '../../core/errors.ts'
import { arrowLines } from './arrow-lines.ts'
import { decoded } from './decoded.ts'
import type { LineFileInput } from './line-folder.ts'
import { openLineInput, storedPieces, thenClosed } from './open-folder.ts'
import { parquetLines } from './parquet-lines.ts'

const MAGIC_BYTES = 8

/** Formats of tables, and how their files begin. */
const TABLES = [
  { begins: 'PAR1', linesOf: parquetLines },
  { begins: 'ARROW1\0\0', linesOf: arrowLines },
  // The mark before the first message of a stream of Arrow.
  { begins: '\xff\xff\xff\xff', linesOf: arrowLines },
] as const

/** A file of rows that is open. */
export interface OpenRows {
  /** Whether it is a table: its first line names the columns, and its fields are between commas. */
  readonly isTable: boolean
  /** Its lines; closes the file at their end. Each piece is valid until the next one is read. */
  readonly pieces: AsyncGenerator<Uint8Array>
}

/** What else reads a file of rows. */
export interface RowsReading {
  /** Of a table, positions of the columns to read, asked behind the header; undefined: all. */
  readonly wanted: () => ReadonlySet<number> | undefined
  /** Gets the bytes of the file that are read so far, and each piece as it is stored. */
  readonly onRead?: ((bytes: number, piece: Uint8Array) => void) | undefined
}

/**
 * Opens a file of lines at a path or URL as `readPieces` does, or a file of Parquet or Arrow, whose rows become lines
 * (`parquetLines`, `arrowLines`). The first bytes decide. Throws as they do.
 */
export async function openRows(place: string, reading: RowsReading): Promise<OpenRows> {
  const input = await openLineInput(place)
  try {
    const magic = await magicOf(input)
    if (magic.startsWith('PARE')) throw encrypted(place)
    const table = TABLES.find(({ begins }) => magic.startsWith(begins))
    const pieces =
      table === undefined
        ? decoded(storedPieces(input, reading.onRead), place)
        : tablePieces(input, place, { ...reading, linesOf: table.linesOf })
    return { isTable: table !== undefined, pieces: thenClosed(input, pieces) }
  } catch (error) {
    await input.close()
    throw error
  }
}

async function magicOf(input: LineFileInput): Promise<string> {
  const magic = Buffer.alloc(MAGIC_BYTES)
  const bytes = await input.read(magic, 0)
  return magic.toString('latin1', 0, bytes)
}

/** A table is read by position: who wants its bytes gets them in a pass before. */
async function* tablePieces(
  input: LineFileInput,
  place: string,
  { wanted, onRead, linesOf }: RowsReading & { readonly linesOf: typeof parquetLines },
): AsyncGenerator<Uint8Array> {
  if (onRead !== undefined) for await (const _ of storedPieces(input, onRead));
  yield* linesOf(input, place, wanted)
}

function encrypted(place: string): WeirError {
  return new WeirError(
    'MALFORMED_DATA',
    `${place} is an encrypted Parquet file, which is not read; write it without encryption`,
    { details: { path: place } },
  )
}
