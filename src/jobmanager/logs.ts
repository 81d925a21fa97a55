import { closeSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { WeirError } from '../core/errors.ts'
import type { LogFile, Logs } from '../rest/port/cluster.ts'

/** Bytes of a log after which the next process of the job begins another file. */
const FULL_BYTES = 64 * 2 ** 20
/** Bytes that a reader gets at most: the last ones. */
const READ_BYTES = 2 ** 20

/** The log files of the JobManager and of the processes of its jobs, `<name>.log` in one folder. */
export class JobLogs {
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Opens the log of a job to append to it. The caller closes it. */
  openLog(name: string): number {
    const path = join(this.folder, `${name}.log`)
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size >= FULL_BYTES) renameSync(path, `${path}.1`)
    return openSync(path, 'a', 0o600)
  }

  /** Closes what `openLog` opened. */
  closeLog(log: number): void {
    closeSync(log)
  }

  /** The files of one log, for readers. */
  of(name: string): Logs {
    const { folder } = this
    const names = [`${name}.log`, `${name}.log.1`]
    return {
      list: async () => {
        const present = await readdir(folder)
        return await Promise.all(
          names.filter((file) => present.includes(file)).map((file) => describe(folder, file)),
        )
      },
      read: async (file) => {
        if (names.includes(file)) return await readEnd(join(folder, file))
        throw new WeirError('FILE_NOT_FOUND', `there is no log file "${file}"`)
      },
    }
  }
}

async function describe(folder: string, name: string): Promise<LogFile> {
  const { size, mtimeMs } = await stat(join(folder, name))
  return { name, bytes: size, modifiedMs: Math.round(mtimeMs) }
}

async function readEnd(path: string): Promise<string> {
  await using file = await open(path)
  const { size } = await file.stat()
  const start = Math.max(0, size - READ_BYTES)
  const { buffer, bytesRead } = await file.read({
    buffer: Buffer.alloc(size - start),
    position: start,
  })
  return buffer.toString('utf8', 0, bytesRead)
}
