import { createReadStream } from 'node:fs'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { publishFile } from '../../files/durable-files.ts'
import type { FileSystem } from '../../files/file-system.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { idOfKey, kindOfKey } from '../als/row-key.ts'
import {
  ModelFileDecoder,
  ModelFileEncoder,
  type ModelFileHeader,
  type ModelFileRow,
} from '../files/model-file.ts'
import type { PublishableRow } from './model.ts'

const PIECE_BYTES = 1 << 16

/**
 * Writes a model file. It is written under another name, forced to the disk and renamed, so that the
 * file is complete or missing, even after a power failure.
 */
export async function writeModelFile(
  path: string,
  header: ModelFileHeader,
  rows: Iterable<ModelFileRow> | AsyncIterable<ModelFileRow>,
  files: FileSystem = nodeFileSystem,
): Promise<void> {
  const file = await files.open(`${path}.tmp`, 'replace')
  try {
    let written = 0
    for await (const piece of pieces(header, rows)) {
      await file.write([piece], written)
      written += piece.length
    }
  } catch (error) {
    await file.close()
    await files.remove(file.path)
    throw error
  }
  await publishFile(files, file, path)
}

async function* pieces(
  header: ModelFileHeader,
  rows: Iterable<ModelFileRow> | AsyncIterable<ModelFileRow>,
): AsyncGenerator<Uint8Array> {
  const encoder = new ModelFileEncoder(header)
  let waiting: Uint8Array[] = [encoder.header(header)]
  let bytes = 0
  for await (const row of rows) {
    const piece = encoder.row(row)
    waiting.push(piece)
    bytes += piece.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  yield Buffer.concat([...waiting, encoder.end()])
}

/** An open model file. */
export interface OpenModelFile {
  readonly header: ModelFileHeader & Readonly<Record<string, unknown>>
  /** The rows; can be called once. Checks the end of the file after the last row. */
  rows(): AsyncGenerator<ModelFileRow>
}

/**
 * Opens a model file. Throws FILE_NOT_FOUND, MALFORMED_DATA, UNSUPPORTED_VERSION; `rows` throws
 * CHECKSUM_MISMATCH and MALFORMED_DATA. Every message names the file.
 */
export async function openModelFile(path: string): Promise<OpenModelFile> {
  const decoder = new ModelFileDecoder()
  const chunks = createReadStream(path)[Symbol.asyncIterator]()
  let position = 0
  let first: ModelFileRow[] = []
  const push = (bytes: Uint8Array): ModelFileRow[] => {
    const from = position
    position += bytes.length
    return naming(path, from, () => decoder.push(bytes))
  }
  while (decoder.header === undefined) {
    const next = await chunks.next().catch((cause: unknown) => {
      throw new WeirError('FILE_NOT_FOUND', `cannot read the model file ${path}`, { cause })
    })
    if (next.done === true) {
      throw new WeirError('MALFORMED_DATA', `${path} is no model file, or ends in its header`)
    }
    first = push(next.value as Uint8Array)
  }
  return {
    header: decoder.header,
    async *rows() {
      yield* first
      first = []
      for (;;) {
        const next = await chunks.next()
        if (next.done === true) break
        yield* push(next.value as Uint8Array)
      }
      naming(path, position, () => decoder.end())
    },
  }
}

/** Runs `action` on the bytes from `position` on, with errors that name the file and what to do. */
function naming<T>(path: string, position: number, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (!isWeirError(cause)) throw cause
    const message = `${path}, read from byte ${position} on: ${cause.message}; use a copy of the file, or export the version again`
    throw new WeirError(cause.code, message, { cause, details: { file: path, position } })
  }
}

/** The rows of a model file for `publishModel`; can be called once. */
export async function* publishableRows(file: OpenModelFile): AsyncGenerator<PublishableRow> {
  for await (const { key, vector, ratings, memory } of file.rows()) {
    // A block of weights has a key of the same form as the rows of users and items.
    const kind = key.endsWith('-W') ? 'W' : kindOfKey(key)
    yield { id: idOfKey(key), kind, vector, ratings, memory }
  }
}
