import { type FileToRead, filesAt } from '../../connectors/file/list.ts'
import { openLineInput } from '../../connectors/file/open-folder.ts'
import { readLines } from '../../connectors/file/read-lines.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import type { AlsRowKind } from '../als/row-key.ts'
import { parseTextRow } from '../als/text-row.ts'
import { NPY_HEADER_BYTES, type NpyMatrix, npyRow, parseNpyHeader } from '../files/npy.ts'
import { MEAN_ID } from '../mean-id.ts'
import type { PublishableRow } from './model.ts'

/** Rows of a model in files. */
export interface RowFiles {
  /** Size of all files. */
  readonly bytes: number
  /** The rows; `onBytes` gets the number of bytes read so far. */
  rows(onBytes: (done: number) => void): AsyncIterable<PublishableRow>
}

const CHUNK_BYTES = 1 << 20

/**
 * Text rows, `<id>,U|I,f1;f2;...`, of files and folders at paths or `hdfs://` URLs. Rows with the id
 * `MEAN` are left out, because Weir computes the mean. Throws FILE_NOT_FOUND, EMPTY_DATASET.
 */
export async function textRowFiles(places: readonly string[]): Promise<RowFiles> {
  const files = (await Promise.all(places.map(filesAt))).flat()
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes === 0) throw new WeirError('EMPTY_DATASET', `${places.join(', ')} has no rows`)
  return { bytes, rows: (onBytes) => textRows(files, onBytes) }
}

async function* textRows(
  files: readonly FileToRead[],
  onBytes: (done: number) => void,
): AsyncGenerator<PublishableRow> {
  for await (const { id, kind, factors } of parsedLines(files, parseTextRow, onBytes)) {
    if (id !== MEAN_ID) yield { id, kind, vector: factors }
  }
}

/**
 * The lines of files, parsed one by one; empty lines are left out. Throws what `parse` throws, with the file.
 * `onBytes` gets the number of bytes read so far.
 */
export async function* parsedLines<T>(
  files: readonly FileToRead[],
  parse: (line: string, number: number) => T,
  onBytes: (done: number) => void,
): AsyncGenerator<T> {
  let done = 0
  for (const { place } of files) {
    let number = 0
    for await (const lines of readLines(place)) {
      for (const line of lines) {
        number += 1
        done += line.length + 1
        if (line !== '') yield parsed(place, () => parse(line, number))
      }
      onBytes(done)
    }
  }
}

function parsed<T>(place: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    throw isWeirError(cause) ? inFile(place, cause) : cause
  }
}

function inFile(place: string, cause: WeirError): WeirError {
  return new WeirError(cause.code, `${place}: ${cause.message}`, { cause, details: cause.details })
}

/** User or item rows as a NumPy matrix, with a file of ids, one a line. */
export interface NpySide {
  readonly kind: AlsRowKind
  readonly factors: string
  /** File of ids. @default the ids are 1, 2, 3 ... */
  readonly ids?: string
}

/** Rows of NumPy matrices at paths or `hdfs://` URLs. Throws FILE_NOT_FOUND. */
export async function npyRowFiles(sides: readonly NpySide[]): Promise<RowFiles> {
  const files = (await Promise.all(sides.map(({ factors }) => filesAt(factors)))).flat()
  return {
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    async *rows(onBytes) {
      let before = 0
      for (const side of sides) {
        let done = 0
        yield* npyRows(side, (bytes) => {
          done = bytes
          onBytes(before + bytes)
        })
        before += done
      }
    },
  }
}

async function* npyRows(
  { kind, factors, ids }: NpySide,
  onBytes: (done: number) => void,
): AsyncGenerator<PublishableRow> {
  const input = await openLineInput(factors)
  try {
    const head = Buffer.alloc(NPY_HEADER_BYTES)
    const matrix = headerOf(factors, head.subarray(0, await readFully(input, head, 0)))
    const names = ids === undefined ? undefined : await idsOf(ids, matrix.rows)
    const rowBytes = matrix.columns * matrix.width
    const chunk = Buffer.alloc(rowBytes * Math.max(1, Math.floor(CHUNK_BYTES / rowBytes)))
    for (let row = 0; row < matrix.rows; ) {
      const position = matrix.start + row * rowBytes
      const rows = Math.min(matrix.rows - row, chunk.length / rowBytes)
      const bytes = await readFully(input, chunk.subarray(0, rows * rowBytes), position)
      if (bytes < rows * rowBytes) {
        throw new WeirError('UNPARSABLE_RECORD', `${factors} ends before row ${row + rows}`)
      }
      for (let i = 0; i < rows; i++, row++) {
        yield { id: names?.[row] ?? String(row + 1), kind, vector: npyRow(matrix, chunk, i) }
      }
      onBytes(position + bytes)
    }
  } finally {
    await input.close()
  }
}

function headerOf(place: string, bytes: Uint8Array): NpyMatrix {
  try {
    return parseNpyHeader(bytes)
  } catch (cause) {
    throw isWeirError(cause) ? inFile(place, cause) : cause
  }
}

async function readFully(
  input: Awaited<ReturnType<typeof openLineInput>>,
  target: Uint8Array,
  position: number,
): Promise<number> {
  let done = 0
  while (done < target.length) {
    const bytes = await input.read(target.subarray(done), position + done)
    if (bytes === 0) break
    done += bytes
  }
  return done
}

async function idsOf(place: string, rows: number): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const lines of readLines(place)) for (const line of lines) ids.push(line)
  if (ids.length === rows) return ids
  const message = `${place} has ${ids.length} ids, but the factors have ${rows} rows`
  throw new WeirError('DIMENSION_MISMATCH', message)
}
