import { join } from 'node:path'
import { type FileSystem, systemCodeOf } from '../../../files/file-system.ts'
import { findStatus } from './partition-status.ts'
import { listSegments, logFileName } from './segment-files.ts'

const MARK = 'sync-failed'
const COPY_BYTES = 1024 * 1024

/** Whether a write, not a sync, failed because the disk has no room. */
export function isFullDisk(error: unknown): boolean {
  const code = systemCodeOf(error)
  const isWrite =
    error instanceof Error && 'syscall' in error && /^write/.test(String(error.syscall))
  return isWrite && (code === 'ENOSPC' || code === 'EDQUOT')
}

/**
 * Marks a partition's folder after a failed write or sync. The system may count bytes as written that are
 * only in its memory, so that a later sync would succeed without them. False where the disk takes no mark: the status then
 * says it, which is overwritten in place and needs no room.
 */
export function markFailedSync(files: FileSystem, path: string): boolean {
  try {
    files.openSync(join(path, MARK), 'change').closeSync()
    files.syncFolderSync(path)
    return true
  } catch {
    return false
  }
}

/**
 * Writes the active segment of a marked folder to a new file, so that all its bytes are forced again,
 * and removes the mark.
 */
export async function rewriteAfterFailedSync(files: FileSystem, path: string): Promise<void> {
  const mark = join(path, MARK)
  const isMarked = files.statSync(mark) !== undefined
  // The status loses its flag when the partition is opened, after this.
  if (!isMarked && findStatus(files, path)?.isSyncFailed !== true) return
  const base = listSegments(files, path).at(-1)
  if (base !== undefined) await rewrite(files, join(path, logFileName(base)))
  await files.syncFolder(path)
  if (isMarked) files.removeSync(mark)
}

async function rewrite(files: FileSystem, path: string): Promise<void> {
  const from = files.openSync(path, 'read')
  const to = files.openSync(`${path}.tmp`, 'replace')
  try {
    const buffer = new Uint8Array(COPY_BYTES)
    for (let position = 0; ; ) {
      const read = await from.read(buffer, position)
      if (read === 0) break
      await to.write([buffer.subarray(0, read)], position)
      position += read
    }
    await to.datasync()
  } catch (error) {
    // So that it does not take the room that the next attempt needs.
    files.removeSync(to.path)
    throw error
  } finally {
    from.closeSync()
    to.closeSync()
  }
  files.renameSync(`${path}.tmp`, path)
}
