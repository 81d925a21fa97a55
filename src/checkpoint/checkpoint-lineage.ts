import { requireArgument } from '../core/errors.ts'
import { type CheckpointGarbage, filesOf } from './checkpoint-garbage.ts'
import type { CheckpointRepository, RepositoryContent } from './checkpoint-repository.ts'
import type { CheckpointStorage } from './checkpoint-storage.ts'
import type { CheckpointManifest } from './protocol/checkpoint-types.ts'
import { readManifest } from './read-manifest.ts'

/** What a lineage needs. */
export interface LineageOptions {
  readonly storage: CheckpointStorage
  readonly repository: CheckpointRepository
  readonly garbage: CheckpointGarbage
  readonly content: RepositoryContent
}

/** The line of checkpoints that a job's history goes through, and what the next one builds on. */
export class CheckpointLineage {
  /** Completed checkpoints that still exist, oldest first. */
  completed: readonly CheckpointManifest[]
  /** What the running attempt builds on: its last completed checkpoint, or what it restored. */
  base: CheckpointManifest | undefined
  private readonly options: LineageOptions
  /** Folder of the savepoint that the base is; empty when the base is a checkpoint of this job. */
  private foreignFolder = ''
  private lastAttempt = 0

  constructor(options: LineageOptions) {
    this.options = options
    this.completed = options.content.completed
    this.base = this.completed.at(-1)
    for (const manifest of this.completed) options.garbage.know(filesOf(manifest))
  }

  /** Whether the next checkpoint must hold all state, for the base's files belong to somebody else. */
  get needsFull(): boolean {
    return this.foreignFolder !== ''
  }

  /** The attempt that may be started: the last one that asked what to restore. */
  get restoredAttempt(): number {
    return this.lastAttempt
  }

  /** Chooses what an attempt goes on from and makes the choice durable. */
  async goOn(attempt: number, from: string | undefined): Promise<CheckpointManifest | undefined> {
    requireArgument(
      attempt > this.lastAttempt,
      `attempt ${attempt} must come after ${this.lastAttempt}`,
    )
    const { storage, repository, content } = this.options
    const folder = from ?? (this.base === undefined ? content.origin : undefined)
    const manifest = folder === undefined ? this.base : await readManifest(storage, folder)
    const foreign = folder ?? this.foreignFolder
    const kept = foreign === '' ? (manifest?.checkpointId ?? 0) : 0
    await repository.recordRestore(attempt, kept, foreign)
    this.lastAttempt = attempt
    this.base = manifest
    this.foreignFolder = foreign
    if (foreign !== '') this.leaveCompleted()
    return manifest
  }

  /** A checkpoint is durable. */
  add(manifest: CheckpointManifest, full: boolean): void {
    this.completed = [...this.completed, manifest]
    this.base = manifest
    if (full) this.foreignFolder = ''
    this.options.garbage.know(filesOf(manifest))
  }

  /** Deletes what `retained` checkpoints do not need. */
  async collect(retained: number): Promise<void> {
    this.completed = await this.options.garbage.collect(this.completed, retained)
  }

  /** Deletes what earlier attempts left and nothing refers to. */
  async sweep(): Promise<void> {
    const needed = this.base === undefined ? this.completed : [...this.completed, this.base]
    await this.options.garbage.sweep(needed, this.lastAttempt)
  }

  private leaveCompleted(): void {
    for (const { checkpointId } of this.completed) this.options.garbage.doom(checkpointId)
    this.completed = []
  }
}
