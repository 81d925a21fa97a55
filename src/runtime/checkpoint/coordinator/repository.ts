import { isWeirError, messageOf, WeirError } from '../../../core/errors.ts'
import { encodeManifest } from '../manifest/format.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import { encodeOwner } from '../protocol/job-owner.ts'
import {
  type CompletionRecord,
  decideOutdated,
  lostManifests,
} from '../protocol/valid-checkpoints.ts'
import type { CheckpointStorage, StoredFile } from '../storage/checkpoint-storage.ts'
import {
  checkpointFolder,
  classifyPath,
  completedPath,
  epochPath,
  manifestPath,
  releasedPath,
  restoredPath,
  sharedFolder,
} from '../storage/paths.ts'
import { type Claimant, followOwner } from './claimant.ts'
import {
  evidenceOf,
  fileExists,
  jobFilesOf,
  loadJobFolder,
  type RepositoryContent,
  type WarningListener,
} from './job-folder.ts'

const NOTHING = new Uint8Array(0)

/** Options of a claim. */
export interface ClaimOptions {
  /** @default none: no owner is asked, and the claim names none */
  readonly claimant?: Claimant | undefined
  /** Receives a warning where an owner that may run is followed. */
  readonly warn?: WarningListener
}

/** One job's checkpoints in storage, as the coordinator of one generation sees them. */
export class CheckpointRepository {
  readonly jobId: string
  /** This coordinator's generation, counted from 1. */
  readonly generation: number
  private readonly storage: CheckpointStorage
  /** Completion records that may exist, by checkpoint. */
  private readonly completions = new Map<number, CompletionRecord[]>()

  private constructor(storage: CheckpointStorage, jobId: string, generation: number) {
    this.storage = storage
    this.jobId = jobId
    this.generation = generation
  }

  /**
   * Claims the next generation, which fences every older coordinator. The claims of an older one may be
   * lost: its files must not be overwritten all the same. Throws JOB_ALREADY_RUNNING if a process that runs has the
   * job (`followOwner`).
   */
  static async claim(
    storage: CheckpointStorage,
    jobId: string,
    { claimant, warn = () => {} }: ClaimOptions = {},
  ): Promise<CheckpointRepository> {
    const { claims, highestGeneration } = jobFilesOf(jobId, await storage.list(jobId))
    const content = claimant === undefined ? NOTHING : encodeOwner(claimant.owner)
    for (let generation = Math.max(0, ...claims) + 1; ; generation++) {
      // Also of a claim that came first: of two starts at the same moment only one gets the job.
      if (claimant !== undefined) {
        await followOwner({ storage, jobId }, generation - 1, claimant, warn)
      }
      const outcome = await storage.createExclusive(epochPath(jobId, generation), content)
      if (outcome === 'created' && generation > highestGeneration) {
        return new CheckpointRepository(storage, jobId, generation)
      }
    }
  }

  /** Reads the job's checkpoints; see `loadJobFolder`. */
  async load(warn: WarningListener): Promise<RepositoryContent> {
    const content = await loadJobFolder(this.storage, this, warn)
    for (const record of content.completions) this.addCompletion(record)
    return content
  }

  /**
   * Deletes claims and records that no later decision needs. A failure is reported: they are empty
   * files, and the next start tries again.
   */
  async removeOutdated(
    counting: readonly CheckpointManifest[],
    warn: WarningListener,
  ): Promise<void> {
    const { jobId, generation: present } = this
    try {
      const files = jobFilesOf(jobId, await this.storage.list(jobId))
      const { claims, released, records } = files
      const outdated = decideOutdated({ present, claims, released, records, counting })
      for (const generation of outdated.claims) {
        await this.storage.delete(epochPath(jobId, generation))
      }
      for (const generation of outdated.released) {
        await this.storage.delete(releasedPath(jobId, generation))
      }
      for (const record of outdated.records) await this.storage.delete(restoredPath(jobId, record))
      const stored = new Set(files.ids)
      const lost = lostManifests({ completions: files.completions, stored, counting })
      for (const record of files.completions) {
        if (stored.has(record.checkpointId) || lost.includes(record)) continue
        await this.storage.delete(completedPath(jobId, record))
      }
    } catch (cause) {
      const message = `old files of job ${jobId} were not deleted; the next start tries again: ${messageOf(cause)}`
      warn(new WeirError('STORAGE_FAILED', message, { cause }))
    }
  }

  /** Says that this process does not run the job any more, though it lives on. */
  async release(): Promise<void> {
    await this.storage.createExclusive(releasedPath(this.jobId, this.generation), NOTHING)
  }

  /**
   * Deletes the record of an earlier attempt of this coordinator that restored the same checkpoint. A
   * failure is ignored: the file is empty, and a later start removes it.
   */
  async removeRecord(attempt: number, checkpointId: number): Promise<void> {
    const record = { generation: this.generation, attempt, checkpointId }
    await this.storage.delete(restoredPath(this.jobId, record)).catch(() => undefined)
  }

  /** Records what an attempt restores, before it restores anything. */
  async recordRestore(attempt: number, checkpointId: number, origin: string): Promise<void> {
    const record = { generation: this.generation, attempt, checkpointId }
    await this.assertNotFenced()
    const path = restoredPath(this.jobId, record)
    await this.storage.createExclusive(path, new TextEncoder().encode(origin))
    await this.assertNotFenced()
  }

  /**
   * Makes a checkpoint durable. After it returns the checkpoint may be announced. When it throws, the
   * manifest and the record may exist all the same and must be removed (`remove`). `confirm` throws when the checkpoint must not count
   * any more. Throws COORDINATOR_FENCED, STORAGE_FAILED.
   */
  async publish(
    manifest: CheckpointManifest,
    confirm: () => void = () => undefined,
  ): Promise<void> {
    await this.assertNotFenced()
    const path = manifestPath(checkpointFolder(this.jobId, manifest.checkpointId))
    const outcome = await this.storage.createExclusive(path, encodeManifest(manifest))
    if (outcome === 'already-exists') {
      throw new WeirError('STORAGE_FAILED', `${path} was written by another coordinator`)
    }
    await this.recordCompletion(manifest)
    // Last: from here to the commits nothing waits for the storage.
    confirm()
  }

  /** Records that a checkpoint completed, and that no newer coordinator may have overlooked it. */
  private async recordCompletion(manifest: CompletionRecord): Promise<void> {
    const { generation, attempt, checkpointId } = manifest
    const record = { generation, attempt, checkpointId }
    this.addCompletion(record)
    const path = completedPath(this.jobId, record)
    await this.storage.createExclusive(path, NOTHING)
    try {
      await this.assertNotFenced()
    } catch (error) {
      // The newer coordinator may have deleted the manifest already; the record would report its loss.
      if (isWeirError(error, 'COORDINATOR_FENCED')) {
        await this.storage.delete(path).catch(() => undefined)
      }
      throw error
    }
  }

  private addCompletion(record: CompletionRecord): void {
    const others = this.completions.get(record.checkpointId) ?? []
    this.completions.set(record.checkpointId, [...others, record])
  }

  /**
   * Throws COORDINATOR_FENCED when a newer generation was claimed. Claims are deleted oldest first, so
   * if the next claim was deleted then this coordinator's own claim is gone, too; it is read last.
   */
  async assertNotFenced(): Promise<void> {
    const newer = this.generation + 1
    if (!(await fileExists(this.storage, epochPath(this.jobId, newer)))) {
      if (await fileExists(this.storage, epochPath(this.jobId, this.generation))) return
    }
    throw new WeirError(
      'COORDINATOR_FENCED',
      `another process took over job ${this.jobId} (generation ${newer}): it was started with the same checkpoint folder; if that was not meant, end it and start this one again, or give each a folder (--data-dir)`,
      { details: { generation: this.generation } },
    )
  }

  /** Removes a checkpoint's completion record, then its own folder; its segments stay. */
  async remove(checkpointId: number): Promise<void> {
    await this.removeCompletions(checkpointId)
    await this.storage.delete(checkpointFolder(this.jobId, checkpointId))
  }

  /** Forces the folder: a record that comes back after a power cut would report the checkpoint as lost. */
  private async removeCompletions(checkpointId: number): Promise<void> {
    const records = this.completions.get(checkpointId)
    if (records === undefined) return
    for (const record of records) await this.storage.delete(completedPath(this.jobId, record))
    await this.storage.ensureDurable(epochPath(this.jobId, this.generation))
    this.completions.delete(checkpointId)
  }

  /** What to remove so that a damaged checkpoint counts as never taken. */
  evidenceOf(checkpointId: number): readonly string[] {
    return evidenceOf(this.jobId, checkpointId, this.completions.get(checkpointId) ?? [])
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
}
