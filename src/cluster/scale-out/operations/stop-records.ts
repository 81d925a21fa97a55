import { createHash } from 'node:crypto'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import type { CheckpointStorage } from '../../../runtime/checkpoint/storage/checkpoint-storage.ts'
import { loadStorage } from '../../../runtime/checkpoint/storage/load.ts'
import { placeInStorage } from '../../rest/job/savepoint-place.ts'

const FOLDER = 'scale-out-stopped'
const ID = /^[0-9a-f]{16}$/

/** How a job was ended by a command. */
export type StopKind = 'stopped' | 'cancelled'

/** The note that a job was ended by a command, so that a supervisor which starts its processes again does not run it. */
export interface StopRecord {
  readonly how: StopKind
  /** Time of the command, ms since 1970. */
  readonly atMs: number
  /** Place of the record, which starts the job again: `--restore-from`. */
  readonly place: string
}

/** The stop records of a job, in its checkpoint storage. Methods throw STORAGE_FAILED, and MALFORMED_DATA for a damaged one. */
export class StopRecords {
  private readonly directory: string
  private readonly applicationId: string
  private readonly folder: string

  /** `directory`: root of the checkpoint storage. */
  constructor(directory: string, applicationId: string) {
    this.directory = directory
    this.applicationId = applicationId
    this.folder = `${FOLDER}/${createHash('md5').update(applicationId).digest('hex')}`
  }

  /** Notes that the job was ended. `id`: 16 hex digits that no other record has. */
  async write(how: StopKind, { id, nowMs }: { readonly id: string; readonly nowMs: number }) {
    const record = { applicationId: this.applicationId, how, atMs: nowMs }
    await this.with((storage) =>
      storage.createExclusive(`${this.folder}/${id}`, Buffer.from(JSON.stringify(record))),
    )
    return { how, atMs: nowMs, place: this.placeOf(id) }
  }

  /** The newest record; undefined for a job that may run. */
  async newest(): Promise<StopRecord | undefined> {
    return await this.with(async (storage) => {
      const records: StopRecord[] = []
      for (const { path } of await storage.list(this.folder)) {
        const record = await this.read(storage, path)
        if (record !== undefined) records.push(record)
      }
      return records.toSorted((a, b) => b.atMs - a.atMs)[0]
    })
  }

  /**
   * Lets a stopped job run again. `place`: that of one of its records. Returns the record that still holds: none after
   * it, nor where another process has done it before. Throws INVALID_ARGUMENT for a place that is no record of this job.
   */
  async release(place: string): Promise<StopRecord | undefined> {
    const id = this.idOf(place)
    const newest = await this.newest()
    if (newest === undefined) return undefined
    return await this.with(async (storage) => {
      const isKnown = (await storage.list(this.folder)).some(({ path }) => path.endsWith(`/${id}`))
      if (!isKnown) return newest
      await storage.delete(this.folder)
      return undefined
    })
  }

  private idOf(place: string): string {
    const [path = ''] = place.split('?')
    const id = path.split('/').at(-1)!
    if (ID.test(id) && path.endsWith(`${this.folder}/${id}`)) return id
    throw new WeirError(
      'INVALID_ARGUMENT',
      `--restore-from takes the place that "weir stop" or "weir cancel" left for "${this.applicationId}" with --scale-out, not ${place}: savepoints of jobs in one process do not fit`,
    )
  }

  private placeOf(id: string): string {
    return placeInStorage(`${this.folder}/${id}`, this.directory)
  }

  private async read(storage: CheckpointStorage, path: string): Promise<StopRecord | undefined> {
    const bytes = await storage.read(path).catch((error: unknown) => {
      // Another process lets the job run again.
      if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return undefined
      throw error
    })
    if (bytes === undefined) return undefined
    const record = parse(bytes)
    const id = path.split('/').at(-1)!
    if (record !== undefined) return { ...record, place: this.placeOf(id) }
    throw new WeirError(
      'MALFORMED_DATA',
      `${path} in the checkpoint folder is not a record of a stopped job: delete the file to let the job run`,
    )
  }

  private async with<T>(use: (storage: CheckpointStorage) => Promise<T>): Promise<T> {
    const storage = await loadStorage(this.directory)
    try {
      return await use(storage)
    } finally {
      await storage.close()
    }
  }
}

function parse(bytes: Uint8Array): Pick<StopRecord, 'how' | 'atMs'> | undefined {
  try {
    const { how, atMs } = JSON.parse(Buffer.from(bytes).toString()) as Partial<StopRecord>
    const isKnown = how === 'stopped' || how === 'cancelled'
    return isKnown && Number.isSafeInteger(atMs) ? { how, atMs: atMs! } : undefined
  } catch {
    return undefined
  }
}

/** What a process says that finds a record: since when the job does not run, and how it runs again. */
export function stoppedSentence(applicationId: string, { how, atMs, place }: StopRecord): string {
  const since = `${new Date(atMs).toISOString().slice(0, 19)}Z`
  return `job "${applicationId}" was ${how} by a command at ${since} and does not run; start it again with --restore-from ${place}`
}
