import { randomUUID } from 'node:crypto'
import { type Clock, sleep, systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { readFileSync } from '../../files/durable-files.ts'
import { systemCodeOf } from '../../files/file-system.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'

/** Time after which a lock was left by a process that ended: a change takes milliseconds. */
const ABANDONED_MS = 10_000
/** Longest wait for other changes. */
const LIMIT_MS = 30_000
const RETRY_MS = 10

/**
 * Runs `change` while no other process changes the file: `<file>.lock` exists meanwhile. A lock that was
 * left behind is removed after ten seconds. Throws DEADLINE_EXCEEDED when others change the file all the time.
 */
export async function withFileLock<T>(
  file: string,
  change: () => T,
  clock: Clock = systemClock,
): Promise<T> {
  const path = `${file}.lock`
  const own = randomUUID()
  const sinceMs = clock.monotonicMs()
  while (!take(path, own)) {
    if (clock.monotonicMs() - sinceMs > LIMIT_MS) throw locked(file, path)
    removeIfAbandoned(path, clock.nowMs())
    await sleep(clock, RETRY_MS)
  }
  try {
    return change()
  } finally {
    remove(path, own)
  }
}

/** Creates the lock; false when it exists. */
function take(path: string, own: string): boolean {
  // Linked into place whole, so that no one reads a lock without its owner.
  const temporary = `${path}.${own}`
  const opened = nodeFileSystem.openSync(temporary, 'new')
  try {
    opened.writeSync([new TextEncoder().encode(own)], 0)
  } finally {
    opened.closeSync()
  }
  try {
    nodeFileSystem.linkSync(temporary, path)
    return true
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    nodeFileSystem.removeSync(temporary)
  }
}

function removeIfAbandoned(path: string, nowMs: number): void {
  const owner = ownerOf(path)
  const status = owner === undefined ? undefined : nodeFileSystem.statSync(path)
  if (owner === undefined || status === undefined) return
  if (nowMs - status.modifiedMs > ABANDONED_MS) remove(path, owner)
}

/**
 * Removes the lock if it belongs to the owner. It is moved away first, so that only one process decides; the
 * lock of another owner is put back.
 */
function remove(path: string, owner: string): void {
  const moved = `${path}.${randomUUID()}`
  try {
    nodeFileSystem.renameSync(path, moved)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return
    throw error
  }
  try {
    if (ownerOf(moved) !== owner) nodeFileSystem.linkSync(moved, path)
  } catch {
    // A third process has taken the lock meanwhile.
  } finally {
    nodeFileSystem.removeSync(moved)
  }
}

function ownerOf(path: string): string | undefined {
  try {
    return new TextDecoder().decode(readFileSync(nodeFileSystem, path))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function locked(file: string, path: string): WeirError {
  const message = `other commands change ${file} all the time; try again; if there are none, remove ${path}`
  return new WeirError('DEADLINE_EXCEEDED', message)
}
