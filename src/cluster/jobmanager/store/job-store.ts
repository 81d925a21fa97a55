import { join } from 'node:path'
import { asWeirError, type WeirError } from '../../../core/errors.ts'
import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import type { FileSystem } from '../../../files/file-system.ts'
import { decodeJob, encodeJob } from './format.ts'
import type { JobRecord } from './job-record.ts'

/** Ended jobs that are kept, so that their pages can be looked at. */
const ENDED_KEPT = 100
const FILE = /^[0-9a-f]{32}\.job$/

/** Jobs of a store, and the files of it that cannot be read. */
export interface StoredJobs {
  readonly records: readonly JobRecord[]
  readonly damaged: readonly WeirError[]
}

/** The jobs of a JobManager on disk, one file each. Every write is durable when it returns. */
export class JobStore {
  private readonly files: FileSystem
  private readonly folder: string
  private readonly ended: JobRecord[] = []

  constructor(files: FileSystem, folder: string) {
    this.files = files
    this.folder = folder
  }

  /** Reads all jobs, oldest first; creates the folder if it is missing. */
  async open(): Promise<StoredJobs> {
    await this.files.makeFolder(this.folder)
    const names = (await this.files.list(this.folder)).map(({ name }) => name)
    const records: JobRecord[] = []
    const damaged: WeirError[] = []
    for (const name of names.filter((candidate) => FILE.test(candidate))) {
      const path = join(this.folder, name)
      try {
        records.push(decodeJob(readFileSync(this.files, path), path))
      } catch (error) {
        damaged.push(asWeirError(error, 'MALFORMED_DATA'))
      }
    }
    records.sort((a, b) => a.submittedMs - b.submittedMs)
    this.ended.push(...records.filter(({ hasEnded }) => hasEnded))
    return { records, damaged }
  }

  /** Writes a job. Throws DISK_FULL, PERMISSION_DENIED. */
  put(record: JobRecord): void {
    try {
      replaceFileSync(this.files, this.pathOf(record), encodeJob(record))
    } catch (error) {
      throw asWeirError(error, 'STORAGE_FAILED', `job ${record.id} cannot be stored`)
    }
    if (record.hasEnded && !this.ended.some(({ id }) => id === record.id)) this.ended.push(record)
  }

  /** Deletes the oldest ended jobs beyond the kept ones; returns their ids. */
  async dropOld(): Promise<readonly string[]> {
    const dropped = this.ended.splice(0, Math.max(0, this.ended.length - ENDED_KEPT))
    for (const record of dropped) await this.files.remove(this.pathOf(record))
    return dropped.map(({ id }) => id)
  }

  private pathOf({ id }: JobRecord): string {
    return join(this.folder, `${id}.job`)
  }
}
