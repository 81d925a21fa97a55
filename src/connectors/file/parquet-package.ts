import zlib from 'node:zlib'
import type { AsyncBuffer, Compressors } from 'hyparquet'
import { messageOf, WeirError } from '../../core/errors.ts'
import { lz4Module } from '../../wire/batch/compression-modules.ts'
import { readByLibrary } from './foreign-formats.ts'
import type { LineFileInput } from './line-folder.ts'
import { PARSERS } from './parquet-columns.ts'

const LENGTH_BYTES = 4

/** What unpacks pages; the library itself has Snappy. */
const COMPRESSORS: Compressors = {
  GZIP: (packed, bytes) => zlib.gunzipSync(packed, limit(bytes)),
  BROTLI: (packed, bytes) => zlib.brotliDecompressSync(packed, limit(bytes)),
  ZSTD: (packed, bytes) => zlib.zstdDecompressSync(packed, limit(bytes)),
  LZ4_RAW: (packed, bytes) => {
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32LE(bytes)
    return lz4Module().uncompressSync(Buffer.concat([length, packed]))
  },
}
/** Ways to pack pages that are read. */
export const CODECS: readonly string[] = ['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)]

/** A page that unpacks to more than it says is damaged. */
const limit = (bytes: number): { readonly maxOutputLength: number } => ({
  maxOutputLength: Math.max(1, bytes),
})

/** How rows are read, for the library: row groups as a whole, and values as texts. */
export const SCAN = {
  compressors: COMPRESSORS,
  parsers: PARSERS,
  geoparquet: false,
  useOffsetIndex: false,
} as const

/** A file that the library can read; one piece at a time, as inputs need it. Throws for what is outside of the file. */
export function bufferOf(input: LineFileInput, size: number): AsyncBuffer {
  let before: Promise<unknown> = Promise.resolve()
  return {
    byteLength: size,
    slice(start, end = size) {
      const read = before.then(() => bytesOf(input, start, Math.min(end, size)))
      before = read.catch(() => undefined)
      return read
    },
  }
}

async function bytesOf(input: LineFileInput, start: number, end: number): Promise<ArrayBuffer> {
  if (!(start >= 0 && start <= end)) throw new Error(`it names the bytes ${start} to ${end}`)
  const bytes = new Uint8Array(end - start)
  for (let at = 0; at < bytes.length; ) {
    const read = await input.read(bytes.subarray(at), start + at)
    if (read === 0) throw new Error(`it ends at byte ${start + at}`)
    at += read
  }
  return bytes.buffer
}

/** The result of `read`; what the library throws means that the file is damaged. */
export function whole<T>(place: string, read: () => Promise<T>): Promise<T> {
  return readByLibrary(
    place,
    read,
    (reason) =>
      `${place} is a Parquet file that is damaged or cut off: ${reason}; get it again, or test it with: duckdb -c "SELECT count(*) FROM '${place}'"`,
  )
}

/** The library. Throws UNSUPPORTED with the command that installs it. */
export async function loadParquet(place: string): Promise<typeof import('hyparquet')> {
  try {
    return await import('hyparquet')
  } catch (cause) {
    const message = `${place} is a Parquet file, and Parquet files need the package hyparquet: run \`npm install hyparquet\` (${messageOf(cause)})`
    throw new WeirError('UNSUPPORTED', message, { cause, details: { path: place } })
  }
}
