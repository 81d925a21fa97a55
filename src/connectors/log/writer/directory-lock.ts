import * as fs from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { asWeirError, WeirError } from '../../../core/errors.ts'
import {
  hasThisKernel,
  PROCESS_PLACE,
  processIdentity,
  processState,
} from '../../../files/running-process.ts'

/**
 * Content of `.lock`, JSON: the thread and process that write the directory. A process is identified
 * by its id and, where the system has it, its start time, because systems use ids again.
 */
export interface LockOwner {
  readonly pid: number
  readonly processStart: string
  readonly threadId: number
  /** Where the process id means something; missing in locks of earlier releases. */
  readonly host?: string
  readonly boot?: string
  readonly pidNamespace?: string
}

/** Result of an attempt to take the lock. */
export type LockResult =
  | { readonly kind: 'taken' }
  /** A thread of this process, perhaps this one, holds the lock. */
  | { readonly kind: 'thread'; readonly threadId: number }

const LOCK_FILE = '.lock'
const ATTEMPTS = 20

/**
 * Takes the lock for `threadId` of this process; a lock whose process has ended is replaced. Throws
 * LOG_LOCKED when another living process holds it, or when that cannot be known: in another container,
 * process ids have no meaning here. `isRefused`: the socket of the owner exists and nothing listens there,
 * which shows on the same kernel that the owner has ended.
 */
export function takeLock(directory: string, threadId: number, isRefused = false): LockResult {
  const path = join(directory, LOCK_FILE)
  const mine = lockOf(threadId)
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (createLock(path, mine)) return { kind: 'taken' }
    const text = readText(path)
    if (text === undefined) continue
    const owner = parseLock(text)
    if (owner !== undefined && isSame(owner, { ...mine, threadId: owner.threadId })) {
      return { kind: 'thread', threadId: owner.threadId }
    }
    if (owner === undefined) requireLeftOver(path, isRefused)
    else requireEnded(directory, owner, isRefused)
    removeLock(path, text)
  }
  throw new WeirError(
    'LOG_LOCKED',
    `${path} cannot be taken; several processes try at the same time`,
  )
}

function lockOf(threadId: number): LockOwner {
  const { pid, processStart } = processIdentity(process.pid)
  return { pid, processStart, threadId, ...HERE }
}

const HERE = PROCESS_PLACE

/** Throws LOG_LOCKED unless the owner of a lock has ended. */
function requireEnded(directory: string, owner: LockOwner, isRefused: boolean): void {
  const state = processState(owner)
  if (state === 'ended' || (state === 'elsewhere' && isRefused && hasThisKernel(owner))) return
  if (state !== 'elsewhere') throw locked(directory, owner)
  const { host = HERE.host } = owner
  const message = `the log in ${directory} is locked by process ${owner.pid} of host "${host}", in another container or machine, so that this process cannot know whether it has ended; if no process there uses the log, remove ${join(directory, LOCK_FILE)}`
  throw new WeirError('LOG_LOCKED', message, { details: { pid: owner.pid, host } })
}

/** Throws LOG_LOCKED unless a lock that cannot be read was left by a power cut. */
function requireLeftOver(path: string, isRefused: boolean): void {
  const changedMs = fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (isRefused || changedMs < Date.now() - uptime() * 1000) return
  throw new WeirError(
    'LOG_LOCKED',
    `${path} cannot be read, so that its owner is not known; remove it if no process uses the log`,
  )
}

/** Removes the lock of this thread, or of a thread of this process that has ended. */
export function releaseLock(directory: string, threadId: number): void {
  removeLock(join(directory, LOCK_FILE), JSON.stringify(lockOf(threadId)))
}

/** Writes the whole lock and links it into place, which fails when a lock exists. */
function createLock(path: string, owner: LockOwner): boolean {
  const temporary = `${path}.${owner.pid}.${owner.threadId}.tmp`
  try {
    // Forced, so that no power cut leaves an empty lock.
    const fd = fs.openSync(temporary, 'w', 0o600)
    try {
      fs.writeSync(fd, JSON.stringify(owner))
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    fs.linkSync(temporary, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new WeirError('CONNECTOR_FAILED', `cannot create ${path}`, { cause: error })
  } finally {
    fs.rmSync(temporary, { force: true })
  }
}

function readText(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw asWeirError(error, 'CONNECTOR_FAILED')
  }
}

/** The owner that a lock names; undefined when it is broken. */
function parseLock(text: string): LockOwner | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<LockOwner> | null
    const isWhole =
      Number.isInteger(parsed?.pid) &&
      typeof parsed?.processStart === 'string' &&
      Number.isInteger(parsed.threadId)
    return isWhole ? (parsed as LockOwner) : undefined
  } catch {
    return undefined
  }
}

/**
 * Removes the lock if it still holds `text`. The lock is moved away first, so that only one process
 * decides; it puts the lock back if that belongs to another owner.
 */
function removeLock(path: string, text: string): void {
  const moved = `${path}.${process.pid}.old`
  try {
    fs.renameSync(path, moved)
  } catch {
    return
  }
  const found = readText(moved)
  if (found !== undefined && found !== text) {
    try {
      fs.linkSync(moved, path)
    } catch {
      // A third process has taken the lock meanwhile.
    }
  }
  fs.rmSync(moved, { force: true })
}

function isSame(a: LockOwner, b: LockOwner): boolean {
  return (
    a.pid === b.pid &&
    a.processStart === b.processStart &&
    a.threadId === b.threadId &&
    (a.boot ?? b.boot) === b.boot &&
    (a.host ?? b.host) === b.host &&
    (a.pidNamespace ?? b.pidNamespace) === b.pidNamespace
  )
}

function locked(directory: string, owner: LockOwner): WeirError {
  const path = join(directory, LOCK_FILE)
  const message = `the log in ${directory} is locked by process ${owner.pid}, as ${path} says; stop that process or use another directory; if it does not use the log, remove ${path}`
  return new WeirError('LOG_LOCKED', message, { details: { pid: owner.pid } })
}
