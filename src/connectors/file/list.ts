import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'
import { parseFilesUrl } from '../../core/storage-url.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import { WebHdfsClient } from '../../files/webhdfs/client.ts'

/** A file to read. */
export interface FileToRead {
  /** A path or an `hdfs://` URL. */
  readonly place: string
  readonly bytes: number
}

/**
 * The files at a place, a path or an `hdfs://` URL: the file itself, or the files directly in the
 * folder, sorted by name. Names that begin with a dot or an underscore are skipped, as in Hadoop.
 * Throws FILE_NOT_FOUND, and INVALID_ARGUMENT for a folder with another folder in it.
 */
export async function filesAt(place: string): Promise<readonly FileToRead[]> {
  const parsed = parseFilesUrl(place)
  const files = parsed.kind === 'hdfs' ? await hdfsFiles(parsed.url) : await localFiles(parsed.path)
  return files.toSorted((a, b) => (a.place < b.place ? -1 : 1))
}

/**
 * All files at a place: the file itself, or those of the folder and of the folders in it, hidden ones, too. A place where
 * nothing is counts as a file, whose reading fails. Throws errors of HDFS.
 */
export async function filesBelow(place: string): Promise<readonly string[]> {
  const parsed = parseFilesUrl(place)
  if (parsed.kind === 'hdfs') return await hdfsFilesBelow(parsed.url)
  const found = await stat(parsed.path).catch(() => undefined)
  if (found?.isDirectory() !== true) return [place]
  const entries = await readdir(parsed.path, { recursive: true, withFileTypes: true })
  return entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
}

async function hdfsFilesBelow(url: string): Promise<readonly string[]> {
  const address = parseWebHdfsUrl(url)
  const client = new WebHdfsClient(address)
  try {
    if ((await client.status(address.path))?.isFolder !== true) return [url]
    const files: string[] = []
    const folders = [{ path: address.path, place: url }]
    for (const { path, place } of folders) {
      for (const { name, isFolder } of (await client.list(path)) ?? []) {
        const inside = placeIn(place, name)
        if (isFolder) folders.push({ path: `${path.replace(/\/$/, '')}/${name}`, place: inside })
        else files.push(inside)
      }
    }
    return files
  } finally {
    client.close()
  }
}

/** The place of a file or a folder in its folder, a path or an `hdfs://` URL. */
export function placeInFolder(folder: string, name: string): string {
  const parsed = parseFilesUrl(folder)
  return parsed.kind === 'hdfs' ? placeIn(parsed.url, name) : join(parsed.path, name)
}

/** The URL of a file or a folder in that of its folder, with the same settings. */
function placeIn(url: string, name: string): string {
  const [before = '', settings = ''] = url.split('?', 2)
  const query = settings === '' ? '' : `?${settings}`
  return `${before.replace(/\/+$/, '')}/${encodeURIComponent(name)}${query}`
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
  refuseSubfolders(
    path,
    entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])),
  )
  const names = entries.filter((entry) => entry.isFile() && isShown(entry.name))
  return await Promise.all(
    names.map(async ({ name }) => {
      const file = join(path, name)
      return { place: file, bytes: (await stat(file)).size }
    }),
  )
}

async function hdfsFiles(url: string): Promise<FileToRead[]> {
  const address = parseWebHdfsUrl(url)
  const { path } = address
  const client = new WebHdfsClient(address)
  try {
    const status = await client.status(path)
    if (status === undefined) throw notFound(url)
    if (!status.isFolder) return [{ place: url, bytes: status.bytes }]
    const entries = (await client.list(path)) ?? []
    refuseSubfolders(
      url,
      entries.flatMap(({ name, isFolder }) => (isFolder ? [name] : [])),
    )
    return entries
      .filter(({ name, isFolder }) => !isFolder && isShown(name))
      .map(({ name, bytes }) => ({ place: placeIn(url, name), bytes }))
  } finally {
    client.close()
  }
}

/** Throws for folders in a folder: reading a part of the data without a word would train on that part. */
function refuseSubfolders(place: string, names: readonly string[]): void {
  const shown = names.filter(isShown)
  if (shown.length === 0) return
  const [first] = shown
  const more = shown.length === 1 ? '' : ` and ${shown.length - 1} more`
  const message = `${place} has the folder "${first}"${more}, and folders in a folder are not read; name the folder that has the files, or move them into one`
  throw new WeirError('INVALID_ARGUMENT', message, { details: { place } })
}

function notFound(place: string, cause?: unknown): WeirError {
  return new WeirError('FILE_NOT_FOUND', `there is no file or folder at ${place}`, { cause })
}

/** A place without the settings of an `hdfs://` URL: what identifies the file. */
export function withoutSettings(place: string): string {
  return place.startsWith('hdfs://') ? place.replace(/\?.*$/, '') : place
}
