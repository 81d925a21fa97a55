import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Folder of Linux whose files are in memory. */
const MEMORY = '/dev/shm'

/** Least bytes that must be free there: a container may have 64 MiB. */
const LEAST_BYTES = 2 ** 30

/**
 * Where unit tests make their folders: in memory where Linux has room for it, so that a forced write takes no time;
 * else, or with TMPDIR, the folder of the system. Tests of real disks are system tests.
 */
export function temporaryFolder(memory: string = MEMORY, leastBytes: number = LEAST_BYTES): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir()
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize < leastBytes ? tmpdir() : memory
  } catch {
    return tmpdir()
  }
}
