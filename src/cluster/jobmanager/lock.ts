import { join } from 'node:path'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { readFileSync, replaceFileSync } from '../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../files/file-system.ts'
import { hasTitle } from './process/left-over.ts'

/** What a running JobManager says about itself in its folder. */
export interface JobManagerAddress {
  readonly pid: number
  /** `http://127.0.0.1:8081`; undefined while it starts. */
  readonly url: string | undefined
  /** When it took the folder, ms since 1970; undefined in the file of an earlier build. */
  readonly sinceMs: number | undefined
}

/** A JobManager in words: its process, since when it runs, and its address. */
export function jobManagerText({ pid, url, sinceMs }: JobManagerAddress): string {
  const since = sinceMs === undefined ? '' : `, since ${new Date(sinceMs).toISOString()}`
  return `a JobManager (process ${pid}${since}${url === undefined ? '' : `, at ${url}`})`
}

/** Title of the process of a JobManager, as `ps` shows it. */
export const JOB_MANAGER_TITLE = 'weir jobmanager'

const FILE = 'jobmanager.json'
/** Attempts to take a folder that other processes take or leave at the same time. */
const ATTEMPTS = 20

/** The process that takes a folder, and when, in ms since 1970. */
export interface LockOwner {
  readonly pid: number
  readonly sinceMs: number
}

/**
 * The file of a JobManager's folder that names its process: a second JobManager must not run the same jobs.
 */
export class JobManagerLock implements Disposable {
  private readonly files: FileSystem
  private readonly folder: string
  private readonly pid: number
  private readonly sinceMs: number

  private constructor(files: FileSystem, folder: string, { pid, sinceMs }: LockOwner) {
    this.files = files
    this.folder = folder
    this.pid = pid
    this.sinceMs = sinceMs
  }

  /** Takes the folder for a process. Throws ILLEGAL_STATE if another JobManager runs there. */
  static take(files: FileSystem, folder: string, owner: LockOwner): JobManagerLock {
    files.makeFolderSync(folder)
    const lock = new JobManagerLock(files, folder, owner)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const running = runningJobManager(files, folder)
      if (running !== undefined) {
        throw new WeirError(
          'ILLEGAL_STATE',
          `${jobManagerText(running)} runs in ${folder} already; stop it with "weir cluster stop", or give another --data-dir`,
        )
      }
      if (lock.create()) return lock
      lock.removeLeftOver()
    }
    throw new WeirError('ILLEGAL_STATE', `another JobManager starts in ${folder}; try again`)
  }

  /** Links a whole file into place, so that no other process reads a part of it; false if there is one. */
  private create(): boolean {
    const { files, path } = this
    const temporary = `${path}.${this.pid}.tmp`
    replaceFileSync(files, temporary, this.bytes(undefined))
    try {
      files.linkSync(temporary, path)
      return true
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error
      return false
    } finally {
      files.removeSync(temporary)
    }
  }

  /**
   * Removes the file of a JobManager that has ended. It is moved away first, so that of two processes only
   * one removes it; a file that another JobManager has linked meanwhile goes back.
   */
  private removeLeftOver(): void {
    const { files, folder, path } = this
    const moved = `${FILE}.${this.pid}.old`
    try {
      files.renameSync(path, join(folder, moved))
      if (runningJobManager(files, folder, moved) !== undefined) {
        files.linkSync(join(folder, moved), path)
      }
    } catch (error) {
      if (!['ENOENT', 'EEXIST'].includes(systemCodeOf(error) ?? '')) throw error
    } finally {
      files.removeSync(join(folder, moved))
    }
  }

  private get path(): string {
    return join(this.folder, FILE)
  }

  /** Publishes the address of the REST interface. */
  write(url: string | undefined): void {
    replaceFileSync(this.files, this.path, this.bytes(url))
  }

  private bytes(url: string | undefined): Uint8Array {
    const { pid, sinceMs } = this
    const address: JobManagerAddress = { pid, url, sinceMs }
    return new TextEncoder().encode(`${JSON.stringify(address)}\n`)
  }

  [Symbol.dispose](): void {
    this.files.removeSync(this.path)
  }
}

/** The JobManager that runs in a folder; undefined if none does. */
export function runningJobManager(
  files: FileSystem,
  folder: string,
  name = FILE,
): JobManagerAddress | undefined {
  const address = addressIn(files, join(folder, name))
  return address !== undefined && hasTitle(address.pid, JOB_MANAGER_TITLE) ? address : undefined
}

function addressIn(files: FileSystem, path: string): JobManagerAddress | undefined {
  try {
    const bytes = readFileSync(files, path)
    return JSON.parse(new TextDecoder().decode(bytes)) as JobManagerAddress
  } catch (error) {
    // No file, or one that a crash left half written: no JobManager has finished its start.
    if (error instanceof SyntaxError || systemCodeOf(error) === 'ENOENT') return undefined
    if (isWeirError(error, 'FILE_NOT_FOUND')) return undefined
    throw error
  }
}
