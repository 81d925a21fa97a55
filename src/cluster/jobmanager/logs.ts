import { closeSync, mkdirSync, openSync } from 'node:fs'
import { copyFile, open, readdir, rename, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { LogFile, Logs } from '../rest/port/cluster.ts'

/** Bytes of a log that is full: what it holds becomes an older file. */
const FULL_BYTES = 16 * 2 ** 20
/** Older files of a log: with the present one, a log takes 80 MiB and what a job writes between two looks. */
const OLDER_FILES = 4
/** Time between two looks at the sizes of the logs, ms. */
const LOOK_EVERY_MS = 1_000
/** Bytes that a reader gets at most: the last ones. */
const READ_BYTES = 2 ** 20

/**
 * The log files of the JobManager and of the processes of its jobs in one folder: `<name>.log`, and older ones with a
 * number behind it, `.1` the newest. They have a size and a number.
 */
export class JobLogs {
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Opens the log of a job to append to it. The caller closes it. */
  openLog(name: string): number {
    return openSync(join(this.folder, `${name}.log`), 'a', 0o600)
  }

  /** Keeps every log within its size from now on, until the returned function is called. */
  keepWithinSize(clock: Clock): Cancel {
    let cancel: Cancel = () => {}
    let isOver = false
    const look = (): void => {
      cancel = clock.after(LOOK_EVERY_MS, () => {
        // A log that cannot be shortened now is tried again.
        void this.shorten()
          .catch(() => undefined)
          .finally(() => {
            if (!isOver) look()
          })
      })
    }
    look()
    return () => {
      isOver = true
      cancel()
    }
  }

  /** Makes an older file of each log that is full. */
  async shorten(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith('.log')) continue
      const path = join(this.folder, name)
      if ((await stat(path)).size >= FULL_BYTES) await makeOlder(path)
    }
  }

  /** Closes what `openLog` opened. */
  closeLog(log: number): void {
    closeSync(log)
  }

  /** The files of one log, for readers. */
  of(name: string): Logs {
    const { folder } = this
    const names = [`${name}.log`, ...olderNames(`${name}.log`)]
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

/** The names of the older files of a log, newest first. */
function olderNames(name: string): string[] {
  return Array.from({ length: OLDER_FILES }, (_, i) => `${name}.${i + 1}`)
}

/**
 * Moves what a log holds to an older file. The file stays the same one, because the process that writes has it open;
 * it appends, so its next line is the first one. Lines that come between the copy and the cut are lost.
 */
async function makeOlder(path: string): Promise<void> {
  const older = olderNames(path)
  for (let i = older.length - 1; i > 0; i--) {
    await rename(older[i - 1]!, older[i]!).catch(() => undefined)
  }
  await copyFile(path, older[0]!)
  await truncate(path)
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
