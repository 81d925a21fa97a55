import { dirname } from 'node:path'
import type { FileSystem, OpenFile } from './file-system.ts'

/**
 * Forces a written file to the disk, closes it and gives it its name, so that after a crash at any point
 * the whole file is there or none. The temporary file is removed when that fails before the rename.
 */
export async function publishFile(
  files: FileSystem,
  file: OpenFile,
  target: string,
): Promise<void> {
  await renameForced(files, file, target)
  await files.syncFolder(dirname(target))
}

/** As `publishFile`, but the caller forces the folder. */
export async function renameForced(
  files: FileSystem,
  file: OpenFile,
  target: string,
): Promise<void> {
  try {
    await file.datasync().finally(() => file.close())
    await files.rename(file.path, target)
  } catch (error) {
    await files.remove(file.path).catch(() => undefined)
    throw error
  }
}

/** The synchronous form of `publishFile` for a small file: writes `bytes` beside `target` first. */
export function replaceFileSync(files: FileSystem, target: string, bytes: Uint8Array): void {
  const temporary = `${target}.tmp`
  const file = files.openSync(temporary, 'replace')
  try {
    file.writeSync([bytes], 0)
    file.datasyncSync()
  } finally {
    file.closeSync()
  }
  files.renameSync(temporary, target)
  files.syncFolderSync(dirname(target))
}

/** Reads `length` bytes into `buffer`; returns fewer only at the end of the file. */
export async function readFully(
  file: OpenFile,
  buffer: Uint8Array,
  position: number,
  length = buffer.length,
): Promise<number> {
  let read = 0
  while (read < length) {
    const got = await file.read(buffer.subarray(read, length), position + read)
    if (got === 0) break
    read += got
  }
  return read
}

/** All bytes of a file. Throws ENOENT when it is missing. */
export function readFileSync(files: FileSystem, path: string): Uint8Array<ArrayBuffer> {
  const file = files.openSync(path, 'read')
  try {
    const bytes = new Uint8Array(file.sizeSync())
    let read = 0
    while (read < bytes.length) {
      const got = file.readSync(bytes.subarray(read), read)
      if (got === 0) break
      read += got
    }
    return bytes.subarray(0, read)
  } finally {
    file.closeSync()
  }
}
