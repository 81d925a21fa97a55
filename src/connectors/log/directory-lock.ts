import * as fs from 'node:fs'
import { join } from 'node:path'
import { WeirError } from '../../core/errors.ts'

/**
 * `.lock`: which thread of which process writes the directory, JSON. A process is named by its id
 * and, where the system tells it, its start time, because ids are used again.
 */
export interface LockOwner {
  readonly pid: number
  readonly processStart: string
  readonly threadId: number
}

/** What an attempt to take the lock found. */
export type LockResult =
  | { readonly kind: 'taken' }
  /** Another thread of this process, or this one, writes. */
  | { readonly kind: 'thread'; readonly threadId: number }

const LOCK_FILE = '.lock'
const ATTEMPTS = 20

/**
 * Takes the lock for `threadId` of this process; a lock whose process has ended is replaced. Throws
 * LOG_LOCKED when another living process holds it.
 */
export function takeLock(directory: string, threadId: number): LockResult {
  const path = join(directory, LOCK_FILE)
  const mine: LockOwner = { pid: process.pid, processStart: startOf(process.pid), threadId }
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (createLock(path, mine)) return { kind: 'taken' }
    const owner = readLock(path)
    if (owner === undefined) continue
    if (owner.pid === mine.pid && owner.processStart === mine.processStart) {
      return { kind: 'thread', threadId: owner.threadId }
    }
    if (isAlive(owner)) throw locked(directory, owner)
    removeLock(path, owner)
  }
  throw new WeirError('LOG_LOCKED', `${path} cannot be taken; several processes fight for it`)
}

/** Removes the lock of a thread of this process that has ended, or gives up the own. */
export function releaseLock(directory: string, threadId: number): void {
  const mine: LockOwner = { pid: process.pid, processStart: startOf(process.pid), threadId }
  removeLock(join(directory, LOCK_FILE), mine)
}

/** Writes the lock whole and links it into place, which fails when there is one. */
function createLock(path: string, owner: LockOwner): boolean {
  const temporary = `${path}.${owner.pid}.${owner.threadId}.tmp`
  fs.writeFileSync(temporary, JSON.stringify(owner))
  try {
    fs.linkSync(temporary, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new WeirError('CONNECTOR_FAILED', `cannot create ${path}`, { cause: error })
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

function readLock(path: string): LockOwner | undefined {
  try {
    return JSON.parse(fs.readFileSync(path, 'utf8')) as LockOwner
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new WeirError(
      'MALFORMED_DATA',
      `${path} is broken; remove it if no process writes here`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Removes the lock if it is still `owner`'s. It is moved away first: whoever moves it decides, and
 * puts back what turns out to be somebody else's.
 */
function removeLock(path: string, owner: LockOwner): void {
  const moved = `${path}.${process.pid}.${owner.threadId}.old`
  try {
    fs.renameSync(path, moved)
  } catch {
    return
  }
  const found = readLock(moved)
  if (found !== undefined && !isSame(found, owner)) {
    try {
      fs.linkSync(moved, path)
    } catch {
      // A third one holds the lock by now; that it was taken twice is told by its next check.
    }
  }
  fs.rmSync(moved, { force: true })
}

function isSame(a: LockOwner, b: LockOwner): boolean {
  return a.pid === b.pid && a.processStart === b.processStart && a.threadId === b.threadId
}

function isAlive(owner: LockOwner): boolean {
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return owner.processStart === '' || startOf(owner.pid) === owner.processStart
}

/** Start time of a process in clock ticks since boot (Linux), else empty. */
function startOf(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the command in parentheses and may hold blanks.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}

function locked(directory: string, owner: LockOwner): WeirError {
  const message = `process ${owner.pid} writes to ${directory}; end it or use another directory`
  return new WeirError('LOG_LOCKED', message, { details: { pid: owner.pid } })
}
