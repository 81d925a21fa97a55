import { requireArgument, WeirError } from '../../../core/errors.ts'
import { readManifest } from '../manifest/read.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { checkpointFolder, manifestPath } from '../storage/paths.ts'
import { damagedSegment, nothingWhole, passedOver } from './damage.ts'
import { type CheckpointGarbage, filesOf } from './garbage.ts'
import type { RepositoryContent, WarningListener } from './job-folder.ts'
import type { CheckpointRepository } from './repository.ts'

/**
 * A restore point that a user names: the folder of a checkpoint or savepoint, or n for the job's n-th
 * newest checkpoint, counted from 1.
 */
export type RestoreFrom = string | number

/** Options of a lineage. */
export interface LineageOptions {
  readonly storage: CheckpointStorage
  readonly repository: CheckpointRepository
  readonly garbage: CheckpointGarbage
  readonly content: RepositoryContent
}

/** The completed checkpoints of a job's history, and the one that the next checkpoint builds on. */
export class CheckpointLineage {
  /** Completed checkpoints that still exist, oldest first. */
  completed: readonly CheckpointManifest[]
  /** The checkpoint that the running attempt builds on: its last completed one, or what it restored. */
  base: CheckpointManifest | undefined
  private readonly options: LineageOptions
  /** Folder of the base if it is a savepoint or another job's checkpoint; otherwise empty. */
  private foreignFolder = ''
  private lastAttempt = 0
  private lastRecord: number | undefined

  constructor(options: LineageOptions) {
    this.options = options
    this.completed = options.content.completed
    this.base = this.completed.at(-1)
    for (const manifest of this.completed) options.garbage.track(filesOf(manifest))
  }

  /** Whether the next checkpoint must hold all state, because the base's files are not this job's. */
  get needsFull(): boolean {
    return this.foreignFolder !== ''
  }

  /**
   * Whether the job's folder had a checkpoint that completed at `sinceMs` or later (ms since 1970), or one that cannot be
   * read. With `sinceMs` 0 also whether it named a savepoint that the job restored, whose time is not known.
   */
  hasHistory(sinceMs: number): boolean {
    const { completed, damaged, origin } = this.options.content
    const manifests = [...completed, ...damaged.map(({ manifest }) => manifest)]
    const isRecent = manifests.some((manifest) => (manifest?.completedAtMs ?? sinceMs) >= sinceMs)
    return isRecent || (sinceMs === 0 && origin !== undefined)
  }

  /** The attempt that may be started: the last one that has chosen what to restore. */
  get restoredAttempt(): number {
    return this.lastAttempt
  }

  /**
   * Chooses what an attempt restores and makes the choice durable. Throws CHECKSUM_MISMATCH or
   * MALFORMED_DATA if the job has checkpoints and all of them are damaged, CHECKPOINT_NOT_FOUND.
   */
  async chooseRestore(
    attempt: number,
    from: RestoreFrom | undefined,
  ): Promise<CheckpointManifest | undefined> {
    requireArgument(
      attempt > this.lastAttempt,
      `attempt ${attempt} must come after ${this.lastAttempt}`,
    )
    const { storage, repository, content } = this.options
    const named = typeof from === 'string' ? from : undefined
    if (typeof from === 'number') this.goBackTo(from)
    if (named === undefined && this.base === undefined && content.damaged.length > 0) {
      throw nothingWhole(repository.jobId, content.damaged)
    }
    const folder = named ?? (this.base === undefined ? content.origin : undefined)
    const manifest = folder === undefined ? this.base : await readManifest(storage, folder)
    const foreign = folder ?? this.foreignFolder
    const restored = folder ?? this.folderOf(manifest)
    if (restored !== undefined) await storage.ensureDurable(manifestPath(restored))
    const kept = foreign === '' ? (manifest?.checkpointId ?? 0) : 0
    await repository.recordRestore(attempt, kept, foreign)
    if (this.lastRecord === kept) await repository.removeRecord(this.lastAttempt, kept)
    this.lastAttempt = attempt
    this.lastRecord = kept
    this.base = manifest
    this.foreignFolder = foreign
    if (foreign !== '') this.abandonCompleted()
    return manifest
  }

  /** Makes the n-th newest checkpoint the base; the files of newer ones stay until the process ends. */
  private goBackTo(n: number): void {
    const manifest = this.completed.at(-n)
    if (n < 1 || manifest === undefined) {
      const ids = this.completed.map(({ checkpointId }) => checkpointId).reverse()
      throw new WeirError(
        'CHECKPOINT_NOT_FOUND',
        `the job has no ${n}-th newest whole checkpoint; it has ${ids.length}${ids.length === 0 ? '' : ` (newest first: ${ids.join(', ')})`}`,
      )
    }
    for (const newer of this.completed.slice(this.completed.indexOf(manifest) + 1)) {
      this.options.garbage.pin(filesOf(newer))
    }
    this.completed = this.completed.slice(0, this.completed.indexOf(manifest) + 1)
    this.base = manifest
  }

  /**
   * Reads every byte of the checkpoint that the last attempt restored. If a segment is damaged, the one
   * before becomes the base, and the warning is returned; undefined if all are whole. Throws
   * CHECKSUM_MISMATCH or MALFORMED_DATA if there is none before, and STORAGE_FAILED.
   */
  async replaceDamagedBase(): Promise<WeirError | undefined> {
    const { base } = this
    if (base === undefined) return undefined
    const { storage, garbage, repository } = this.options
    const error = await damagedSegment(storage, base)
    if (error === undefined) return undefined
    const { checkpointId } = base
    const evidence = repository.evidenceOf(checkpointId)
    const damaged = { checkpointId, error, manifest: base, evidence }
    const older = this.completed.filter((manifest) => manifest.checkpointId < checkpointId)
    if (this.foreignFolder !== '' || older.length === 0) {
      throw nothingWhole(repository.jobId, [damaged])
    }
    garbage.pin(filesOf(base))
    this.completed = older
    this.base = older.at(-1)
    return passedOver(damaged, this.base)
  }

  private folderOf(manifest: CheckpointManifest | undefined): string | undefined {
    if (manifest === undefined) return undefined
    return this.foreignFolder === ''
      ? checkpointFolder(this.options.repository.jobId, manifest.checkpointId)
      : this.foreignFolder
  }

  /** Adds a checkpoint that has become durable. */
  add(manifest: CheckpointManifest, full: boolean): void {
    this.completed = [...this.completed, manifest]
    this.base = manifest
    if (full) this.foreignFolder = ''
    this.options.garbage.track(filesOf(manifest))
  }

  /** Deletes what the newest `retained` checkpoints do not need. */
  async collect(retained: number): Promise<void> {
    this.completed = await this.options.garbage.collect(this.completed, retained)
  }

  /** Deletes segments of earlier attempts that nothing refers to. */
  async sweep(): Promise<void> {
    const needed = this.base === undefined ? this.completed : [...this.completed, this.base]
    await this.options.garbage.sweep(needed, this.lastAttempt)
  }

  /** Deletes claims and restore records that no later decision needs. */
  async removeOutdated(warn: WarningListener): Promise<void> {
    const { repository, content } = this.options
    if (content.damaged.length === 0) await repository.removeOutdated(this.completed, warn)
  }

  private abandonCompleted(): void {
    for (const { checkpointId } of this.completed)
      this.options.garbage.markForDeletion(checkpointId)
    this.completed = []
  }
}
