import { accessSync, constants, mkdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Folder of Linux whose files are in memory. */
const MEMORY = '/dev/shm'

/** Least bytes that must be free there: a container may have 64 MiB. */
const LEAST_BYTES = 2 ** 30

/** Where the unit tests of this run make their folders. */
export const FOLDER_OF_RUN = join(fastFolder(), `weir-${process.pid}`)

/**
 * The folder for the files of tests that are not of a disk: in memory where Linux has room for it, so that a forced write takes no time;
 * else, or with TMPDIR, that of the system. Tests of real disks use that of the system.
 */
export function fastFolder(memory: string = MEMORY, leastBytes: number = LEAST_BYTES): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir()
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize < leastBytes ? tmpdir() : memory
  } catch {
    return tmpdir()
  }
}

/** Global setup of the unit tests: makes their folder, and removes it with what native modules left there. */
export function setup(): () => void {
  mkdirSync(FOLDER_OF_RUN, { recursive: true })
  return () => rmSync(FOLDER_OF_RUN, { recursive: true, force: true })
}
