import { parseStorageUrl } from '../../core/storage-url.ts'
import { decoded } from './decoded.ts'
import { HdfsLineFolder, openHdfsInput } from './hdfs-folder.ts'
import type { LineFileInput, LineFolder } from './line-folder.ts'
import { LocalLineFolder, openLocalInput } from './local-folder.ts'

const PIECE_BYTES = 256 * 1024

/** A folder at a path or URL. Sends no request yet. Throws as `parseStorageUrl`. */
export function openLineFolder(place: string): LineFolder {
  const parsed = parseStorageUrl(place)
  return parsed.kind === 'hdfs' ? new HdfsLineFolder(parsed.url) : new LocalLineFolder(parsed.path)
}

/** Opens a file at a path or URL. Throws as `parseStorageUrl`. */
export async function openLineInput(place: string): Promise<LineFileInput> {
  const parsed = parseStorageUrl(place)
  return await (parsed.kind === 'hdfs' ? openHdfsInput(parsed.url) : openLocalInput(parsed.path))
}

/**
 * The bytes of a text file at a path or URL, unpacked and as UTF-8 (`decoded`). A piece is valid until the next one is
 * read. `onRead` gets the bytes of the file that are read so far, and the piece as it is stored. Throws MALFORMED_DATA
 * for a file that is damaged or cut off, or that has no lines of text.
 */
export function readPieces(
  place: string,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  return decoded(readStored(place, onRead), place)
}

async function* readStored(
  place: string,
  onRead?: (bytes: number, piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const input = await openLineInput(place)
  try {
    const piece = new Uint8Array(PIECE_BYTES)
    for (let position = 0; ; ) {
      const bytes = await input.read(piece, position)
      if (bytes === 0) return
      position += bytes
      const read = piece.subarray(0, bytes)
      onRead?.(position, read)
      yield read
    }
  } finally {
    await input.close()
  }
}

/**
 * The folder and the name of a file: `hdfs://n:9870/a/b?user.name=u` is `b` in
 * `hdfs://n:9870/a?user.name=u`.
 */
export function splitPlace(place: string): { readonly folder: string; readonly name: string } {
  const parsed = parseStorageUrl(place)
  const whole = parsed.kind === 'hdfs' ? parsed.url : parsed.path
  const query = parsed.kind === 'hdfs' ? (/\?.*$/.exec(whole)?.[0] ?? '') : ''
  const path = whole.slice(0, whole.length - query.length)
  const slash = path.lastIndexOf('/')
  const folder = slash < 0 ? '.' : path.slice(0, slash) || '/'
  return { folder: `${folder}${query}`, name: path.slice(slash + 1) }
}
