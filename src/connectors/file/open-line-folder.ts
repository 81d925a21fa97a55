import { isHdfsUrl } from '../../webhdfs/webhdfs-address.ts'
import { HdfsLineFolder, openHdfsInput } from '../hdfs/hdfs-line-folder.ts'
import type { LineFileInput, LineFolder } from './line-folder.ts'
import { LocalLineFolder, openLocalInput } from './local-line-folder.ts'

/** A folder at a path of this machine or an `hdfs://` URL; nothing is asked of it yet. */
export function openLineFolder(place: string): LineFolder {
  return isHdfsUrl(place) ? new HdfsLineFolder(place) : new LocalLineFolder(place)
}

/** Opens a file at a path of this machine or an `hdfs://` URL. */
export function openLineInput(place: string): Promise<LineFileInput> {
  return isHdfsUrl(place) ? openHdfsInput(place) : openLocalInput(place)
}

/** A file's folder and its name within: `hdfs://n:9870/a/b?user.name=u` is `b` in `hdfs://n:9870/a?user.name=u`. */
export function splitPlace(place: string): { readonly folder: string; readonly name: string } {
  const query = isHdfsUrl(place) ? (/\?.*$/.exec(place)?.[0] ?? '') : ''
  const path = place.slice(0, place.length - query.length)
  const slash = path.lastIndexOf('/')
  const folder = slash < 0 ? '.' : path.slice(0, slash) || '/'
  return { folder: `${folder}${query}`, name: path.slice(slash + 1) }
}
