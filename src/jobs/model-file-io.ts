import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { WeirError } from '../core/errors.ts'
import {
  ModelFileDecoder,
  ModelFileEncoder,
  type ModelFileHeader,
  type ModelFileRow,
} from '../models/model-file.ts'
import type { PublishableRow } from './publish-model.ts'

const PIECE_BYTES = 1 << 16

/** Writes a model file: beside its name first, so that it is whole or absent. */
export async function writeModelFile(
  path: string,
  header: ModelFileHeader,
  rows: Iterable<ModelFileRow> | AsyncIterable<ModelFileRow>,
): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    await pipeline(
      Readable.from(pieces(header, rows), { objectMode: false }),
      createWriteStream(temporary),
    )
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
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

/** A model file that is being read. */
export interface OpenModelFile {
  readonly header: ModelFileHeader & Readonly<Record<string, unknown>>
  /** The rows, once; the end of the file is checked after the last. */
  rows(): AsyncGenerator<ModelFileRow>
}

/**
 * Opens a model file. Throws FILE_NOT_FOUND, MALFORMED_DATA, UNSUPPORTED_VERSION; `rows` throws
 * CHECKSUM_MISMATCH.
 */
export async function openModelFile(path: string): Promise<OpenModelFile> {
  const decoder = new ModelFileDecoder()
  const chunks = createReadStream(path)[Symbol.asyncIterator]()
  let first: ModelFileRow[] = []
  while (decoder.header === undefined) {
    const next = await chunks.next().catch((cause: unknown) => {
      throw new WeirError('FILE_NOT_FOUND', `cannot read the model file ${path}`, { cause })
    })
    if (next.done === true) throw new WeirError('MALFORMED_DATA', `${path} is no model file`)
    first = decoder.push(next.value as Uint8Array)
  }
  return {
    header: decoder.header,
    async *rows() {
      yield* first
      first = []
      for (;;) {
        const next = await chunks.next()
        if (next.done === true) break
        yield* decoder.push(next.value as Uint8Array)
      }
      decoder.end()
    },
  }
}

/** The rows of a model file as `publishModel` takes them, once. */
export async function* publishableRows(file: OpenModelFile): AsyncGenerator<PublishableRow> {
  for await (const { key, vector, ratings } of file.rows()) {
    const kind = key.endsWith('-U') ? ('U' as const) : ('I' as const)
    yield { id: key.slice(0, -2), kind, vector, ratings }
  }
}
