import { lstatSync, mkdirSync, type Stats } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Writing for the group, and for all others. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * Path of a folder of this user in the machine's folder for temporary files. Every user can make a folder
 * there, also of this name: call `makeOwnFolder` before anything in it is read, written or deleted.
 */
export function ownTemporaryFolder(name: string): string {
  const uid = process.getuid?.()
  return join(tmpdir(), uid === undefined ? name : `${name}-${uid}`)
}

/**
 * Makes a folder that only this user can use, unless it exists. False if what has the name is no folder of
 * this user alone: another user could have put code or links into it. Systems without user ids have a folder
 * for temporary files for each user.
 */
export function makeOwnFolder(path: string): boolean {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return isOwn(lstatSync(path))
  } catch {
    return false
  }
}

function isOwn(found: Stats): boolean {
  const uid = process.getuid?.()
  if (!found.isDirectory()) return false
  return uid === undefined || (found.uid === uid && (found.mode & WRITABLE_BY_OTHERS) === 0)
}
