import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { type Finding, problem } from './finding.ts'
import { freeSpaceFinding, fsyncFinding } from './verdicts.ts'

const SYNCS = 20
const BLOCK_BYTES = 4096

/** Checks free space and the time of an fsync in a folder; creates it if it is missing, and leaves no file. */
export async function checkDisk(folder: string, clock: Clock): Promise<readonly Finding[]> {
  try {
    await nodeFileSystem.makeFolder(folder)
    const { bavail, bsize } = await statfs(folder)
    const syncMs = await syncTimes(join(folder, `doctor-${randomUUID()}`), clock)
    return [freeSpaceFinding(folder, bavail * bsize), fsyncFinding(medianOf(syncMs))]
  } catch (error) {
    const { message } = asWeirError(error, 'PERMISSION_DENIED', `${folder} cannot be used`)
    return [problem('disk', message, 'give a --data-dir that this user may write')]
  }
}

/** Times of single writes that are forced to the disk, ms. */
async function syncTimes(path: string, clock: Clock): Promise<readonly number[]> {
  const file = await nodeFileSystem.open(path, 'new')
  const block = new Uint8Array(BLOCK_BYTES)
  const times: number[] = []
  try {
    for (let i = 0; i < SYNCS; i++) {
      const startMs = clock.monotonicMs()
      await file.write([block], i * BLOCK_BYTES)
      await file.datasync()
      times.push(clock.monotonicMs() - startMs)
    }
  } finally {
    await file.close()
    await nodeFileSystem.remove(path)
  }
  return times
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}
