import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { isHdfsUrl, parseWebHdfsUrl } from '../../webhdfs/webhdfs-address.ts'
import { WebHdfsClient } from '../../webhdfs/webhdfs-client.ts'

/** A file to read, and how long it is. */
export interface FileToRead {
  /** A path or an `hdfs://` URL. */
  readonly place: string
  readonly bytes: number
}

/**
 * The files at a place, a path or an `hdfs://` URL: the one that it names, or those directly in the
 * folder that it names, in the order of their names. Names that begin with a dot or an underscore are
 * left out, as Hadoop does. Throws FILE_NOT_FOUND.
 */
export async function filesAt(place: string): Promise<readonly FileToRead[]> {
  const files = isHdfsUrl(place) ? await hdfsFiles(place) : await localFiles(place)
  return files.toSorted((a, b) => (a.place < b.place ? -1 : 1))
}

const isShown = (name: string): boolean => !/^[._]/.test(name)

async function localFiles(path: string): Promise<FileToRead[]> {
  let found: Awaited<ReturnType<typeof stat>>
  try {
    found = await stat(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw notFound(path, cause)
  }
  if (!found.isDirectory()) return [{ place: path, bytes: found.size }]
  const entries = await readdir(path, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && isShown(entry.name))
  return await Promise.all(
    names.map(async ({ name }) => {
      const file = join(path, name)
      return { place: file, bytes: (await stat(file)).size }
    }),
  )
}

async function hdfsFiles(url: string): Promise<FileToRead[]> {
  const { path } = parseWebHdfsUrl(url)
  const client = new WebHdfsClient(parseWebHdfsUrl(url))
  try {
    const status = await client.status(path)
    if (status === undefined) throw notFound(url)
    if (!status.isFolder) return [{ place: url, bytes: status.bytes }]
    const [before = '', settings = ''] = url.split('?', 2)
    const folder = before.replace(/\/+$/, '')
    const query = settings === '' ? '' : `?${settings}`
    const entries = (await client.list(path)) ?? []
    return entries
      .filter(({ name, isFolder }) => !isFolder && isShown(name))
      .map(({ name, bytes }) => ({
        place: `${folder}/${encodeURIComponent(name)}${query}`,
        bytes,
      }))
  } finally {
    client.close()
  }
}

function notFound(place: string, cause?: unknown): WeirError {
  return new WeirError('FILE_NOT_FOUND', `there is nothing at ${place}`, { cause })
}
