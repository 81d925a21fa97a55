import { isHdfsUrl } from '../../webhdfs/webhdfs-address.ts'
import { HdfsLineFolder, openHdfsInput } from '../hdfs/hdfs-line-folder.ts'
import type { LineFileInput, LineFolder } from './line-folder.ts'
import { LocalLineFolder, openLocalInput } from './local-line-folder.ts'

const PIECE_BYTES = 256 * 1024

/** A folder at a path of this machine or an `hdfs://` URL; nothing is asked of it yet. */
export function openLineFolder(place: string): LineFolder {
  return isHdfsUrl(place) ? new HdfsLineFolder(place) : new LocalLineFolder(place)
}

/** Opens a file at a path of this machine or an `hdfs://` URL. */
export function openLineInput(place: string): Promise<LineFileInput> {
  return isHdfsUrl(place) ? openHdfsInput(place) : openLocalInput(place)
}

/** The bytes of a file at a path or an `hdfs://` URL; a piece holds until the next one is asked for. */
export async function* readPieces(place: string): AsyncGenerator<Uint8Array> {
  const input = await openLineInput(place)
  try {
    const piece = new Uint8Array(PIECE_BYTES)
    for (let position = 0; ; ) {
      const bytes = await input.read(piece, position)
      if (bytes === 0) return
      position += bytes
      yield piece.subarray(0, bytes)
    }
  } finally {
    await input.close()
  }
}

/** A file's folder and its name within: `hdfs://n:9870/a/b?user.name=u` is `b` in `hdfs://n:9870/a?user.name=u`. */
export function splitPlace(place: string): { readonly folder: string; readonly name: string } {
  const query = isHdfsUrl(place) ? (/\?.*$/.exec(place)?.[0] ?? '') : ''
  const path = place.slice(0, place.length - query.length)
  const slash = path.lastIndexOf('/')
  const folder = slash < 0 ? '.' : path.slice(0, slash) || '/'
  return { folder: `${folder}${query}`, name: path.slice(slash + 1) }
}
