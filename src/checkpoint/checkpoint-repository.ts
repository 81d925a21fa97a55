import { isWeirError, WeirError } from '../core/errors.ts'
import {
  checkpointFolder,
  classifyPath,
  epochPath,
  manifestPath,
  restoredPath,
  sharedFolder,
} from './checkpoint-paths.ts'
import type { CheckpointStorage, StoredFile } from './checkpoint-storage.ts'
import { encodeManifest } from './manifest-format.ts'
import type { CheckpointManifest } from './protocol/checkpoint-types.ts'
import { isValidManifest, type RestoreRecord } from './protocol/valid-checkpoints.ts'
import { readManifest } from './read-manifest.ts'

/** Tells of a checkpoint that lies in storage and cannot be used. */
export type WarningListener = (warning: WeirError) => void

/** What a coordinator found when it took over a job's folder. */
export interface RepositoryContent {
  /** Checkpoints that may be restored, oldest first. */
  readonly completed: readonly CheckpointManifest[]
  /** Checkpoints that may not (fenced, left aside, damaged): to be removed after the next restore. */
  readonly leftovers: readonly number[]
  /** Highest checkpoint id that any file has. */
  readonly highestId: number
  /** Folder of the foreign checkpoint that the job's last attempt went on from, if nothing since. */
  readonly origin: string | undefined
}

/** One job's checkpoints in storage, as the coordinator of one generation sees them. */
export class CheckpointRepository {
  readonly jobId: string
  /** This coordinator's generation, counted from 1. */
  readonly generation: number
  private readonly storage: CheckpointStorage

  private constructor(storage: CheckpointStorage, jobId: string, generation: number) {
    this.storage = storage
    this.jobId = jobId
    this.generation = generation
  }

  /** Claims the next generation, which fences every older coordinator. */
  static async claim(storage: CheckpointStorage, jobId: string): Promise<CheckpointRepository> {
    let generation = 1
    for (const { path } of await storage.list(jobId)) {
      const stored = classifyPath(jobId, path)
      if (stored.kind === 'epoch') generation = Math.max(generation, stored.generation + 1)
    }
    const nothing = new Uint8Array(0)
    while (
      (await storage.createExclusive(epochPath(jobId, generation), nothing)) === 'already-exists'
    ) {
      generation += 1
    }
    return new CheckpointRepository(storage, jobId, generation)
  }

  /**
   * Lists and reads what is there; must follow the claim. A damaged manifest is reported and left
   * out; a storage failure is thrown, for going on from an older checkpoint would be silently wrong.
   */
  async load(warn: WarningListener): Promise<RepositoryContent> {
    const files = await this.storage.list(this.jobId)
    const stored = files.map(({ path }) => ({ path, ...classifyPath(this.jobId, path) }))
    const records = stored.flatMap((file) => (file.kind === 'restored' ? [file.record] : []))
    const ids = stored.flatMap((file) => (file.kind === 'manifest' ? [file.checkpointId] : []))
    const completed: CheckpointManifest[] = []
    for (const id of ids.sort((a, b) => a - b)) {
      const manifest = await this.readOrWarn(id, warn)
      if (manifest !== undefined && isValidManifest(manifest, records)) completed.push(manifest)
    }
    const valid = new Set(completed.map((manifest) => manifest.checkpointId))
    return {
      completed,
      leftovers: ids.filter((id) => !valid.has(id)),
      highestId: Math.max(0, ...ids, ...records.map((record) => record.checkpointId)),
      origin: completed.length > 0 ? undefined : await this.lastOrigin(records),
    }
  }

  /** Records, before it restores anything, what an attempt goes on from. */
  async recordRestore(attempt: number, checkpointId: number, origin: string): Promise<void> {
    const record = { generation: this.generation, attempt, checkpointId }
    await this.assertNotFenced()
    const path = restoredPath(this.jobId, record)
    await this.storage.createExclusive(path, new TextEncoder().encode(origin))
    await this.assertNotFenced()
  }

  /**
   * Makes a checkpoint durable. When it returns, the checkpoint may be announced; when it throws,
   * the manifest may still be there and has to be removed. Throws COORDINATOR_FENCED, STORAGE_FAILED.
   */
  async publish(manifest: CheckpointManifest): Promise<void> {
    await this.assertNotFenced()
    const path = manifestPath(checkpointFolder(this.jobId, manifest.checkpointId))
    const outcome = await this.storage.createExclusive(path, encodeManifest(manifest))
    if (outcome === 'already-exists') {
      throw new WeirError('STORAGE_FAILED', `${path} was written by another coordinator`)
    }
    await this.assertNotFenced()
  }

  /** Throws COORDINATOR_FENCED when a newer generation was claimed. */
  async assertNotFenced(): Promise<void> {
    const newer = this.generation + 1
    try {
      await this.storage.read(epochPath(this.jobId, newer))
    } catch (error) {
      if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return
      throw error
    }
    throw new WeirError(
      'COORDINATOR_FENCED',
      `another process took over job ${this.jobId} (generation ${newer}); stop this one`,
      { details: { generation: this.generation } },
    )
  }

  /** Removes a checkpoint's own folder; its segments stay. */
  async remove(checkpointId: number): Promise<void> {
    await this.storage.delete(checkpointFolder(this.jobId, checkpointId))
  }

  /** Removes a segment. */
  async removeFile(path: string): Promise<void> {
    await this.storage.delete(path)
  }

  /** Segments left by attempts before `attempt` of this generation, or by older generations. */
  async segmentsBefore(attempt: number): Promise<readonly StoredFile[]> {
    const files = await this.storage.list(sharedFolder(this.jobId))
    return files.filter(({ path }) => {
      const stored = classifyPath(this.jobId, path)
      if (stored.kind !== 'segment') return false
      const { generation } = stored
      return (
        generation < this.generation || (generation === this.generation && stored.attempt < attempt)
      )
    })
  }

  private async readOrWarn(
    checkpointId: number,
    warn: WarningListener,
  ): Promise<CheckpointManifest | undefined> {
    const folder = checkpointFolder(this.jobId, checkpointId)
    try {
      return await readManifest(this.storage, folder)
    } catch (error) {
      // An older coordinator may have removed it since it was listed.
      if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return undefined
      if (!isWeirError(error, 'CHECKSUM_MISMATCH') && !isWeirError(error, 'MALFORMED_DATA')) {
        throw error
      }
      const message = `checkpoint ${folder} is damaged and passed over: ${error.message}`
      warn(new WeirError(error.code, message, { cause: error, details: { checkpointId } }))
      return undefined
    }
  }

  private async lastOrigin(records: readonly RestoreRecord[]): Promise<string | undefined> {
    const last = [...records].sort(
      (a, b) => b.generation - a.generation || b.attempt - a.attempt,
    )[0]
    if (last === undefined) return undefined
    const bytes = await this.storage.read(restoredPath(this.jobId, last))
    return bytes.length === 0 ? undefined : new TextDecoder().decode(bytes)
  }
}
