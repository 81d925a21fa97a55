import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readPieces } from '../../connectors/file/open-folder.ts'
import type { Person } from './person.ts'

/** Bytes of the end of a piece that are searched again with the next one: longer than an id with what is around it. */
const OVERLAP = 4096

/** The files at a path: itself, or all below a folder. An `hdfs://` URL is one file. */
export async function filesBelow(path: string): Promise<readonly string[]> {
  if (path.includes('://') || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return [path]
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
}

/**
 * How often a file names a person: as first field of a line or a record, as key of a row (`<id>-U`), or as `user=<id>`. Compressed text is
 * unpacked. Throws errors of the file system, and MALFORMED_DATA for formats that are not read.
 */
export async function tracesIn(file: string, person: Person): Promise<number> {
  const id = person.user.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  // After a separator it would be the id of an item, or a number.
  const line = `(?<![0-9A-Za-z_.,;|:\\t-])${id}"?(?=[,;\\t|:])`
  const key = `(?<![0-9A-Za-z_.-])${id}-U(?![0-9A-Za-z_])`
  const named = `\\buser["']?\\s*[=:]\\s*["']?${id}(?![0-9A-Za-z_.-])`
  const trace = new RegExp(`${line}|${key}|${named}`, 'g')
  let found = 0
  let rest = ''
  let isFirst = true
  for await (const piece of readPieces(file)) {
    const text = rest + Buffer.from(piece).toString('utf8')
    // What begins in the part that is kept is counted with the next piece.
    const end = text.length - OVERLAP
    for (const { index } of text.matchAll(trace)) {
      if (index < end && (isFirst || index > 0)) found++
    }
    rest = text.slice(Math.max(0, end - 1))
    isFirst = end <= 0 && isFirst
  }
  for (const { index } of rest.matchAll(trace)) if (isFirst || index > 0) found++
  return found
}
