import { asWeirError, type WeirError } from '../../../core/errors.ts'
import type { Random } from '../../../core/random.ts'
import { writeSavepoint } from '../manifest/write-savepoint.ts'
import { assembleOperators } from '../protocol/assemble.ts'
import type { Barrier, CheckpointAck, CheckpointManifest } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { checkStoragePath, compactedPath, savepointFolder } from '../storage/paths.ts'
import { CheckpointCompactor } from './compactor.ts'
import { requireCommittable } from './errors.ts'
import { CheckpointGarbage, filesOf } from './garbage.ts'
import type { RepositoryContent } from './job-folder.ts'
import { CheckpointLineage, type RestoreFrom } from './lineage.ts'
import type { ResolvedCoordinatorOptions } from './options.ts'
import { CheckpointRepository } from './repository.ts'

/** A checkpoint that every task has acknowledged. */
export interface AcknowledgedCheckpoint {
  readonly barrier: Barrier
  readonly attempt: number
  readonly acks: readonly CheckpointAck[]
}

/**
 * The durable checkpoints of one job: publishes new ones, chooses what is restored, keeps as many as
 * are retained, and merges, copies and deletes their files.
 */
export class DurableCheckpoints {
  readonly savepoints: SavepointCopies
  /** Highest checkpoint id that any file had when the job's folder was taken over. */
  readonly highestId: number
  private readonly options: ResolvedCoordinatorOptions
  private readonly repository: CheckpointRepository
  private readonly garbage: CheckpointGarbage
  private readonly compactor: CheckpointCompactor
  private readonly lineage: CheckpointLineage
  private compactions = 0

  private constructor(
    options: ResolvedCoordinatorOptions,
    repository: CheckpointRepository,
    content: RepositoryContent,
  ) {
    const { storage, random, jobId, listener } = options
    const warn = (warning: WeirError): void => listener.warning?.(warning)
    const garbage = new CheckpointGarbage(repository, warn, content)
    this.options = options
    this.repository = repository
    this.garbage = garbage
    this.highestId = content.highestId
    this.savepoints = new SavepointCopies({ storage, garbage, random, jobId })
    this.lineage = new CheckpointLineage({ storage, repository, garbage, content })
    this.compactor = new CheckpointCompactor({
      storage,
      policy: options.compaction,
      garbage,
      warn,
      nextPath: () => compactedPath(jobId, repository.generation, ++this.compactions),
    })
  }

  /** Takes over the job's folder, which fences older coordinators, and finds its checkpoints. */
  static async open(options: ResolvedCoordinatorOptions): Promise<DurableCheckpoints> {
    const { storage, jobId, claimant } = options
    const warn = (warning: WeirError): void => options.listener.warning?.(warning)
    const repository = await CheckpointRepository.claim(storage, jobId, { claimant, warn })
    const content = await repository.load(warn)
    return new DurableCheckpoints(options, repository, content)
  }

  /** Generation of this coordinator. */
  get generation(): number {
    return this.repository.generation
  }

  /** Completed checkpoints that are kept, oldest first. */
  get completed(): readonly CheckpointManifest[] {
    return this.lineage.completed
  }

  /** Id of the checkpoint that the running attempt builds on; 0 for none. */
  get baseId(): number {
    return this.lineage.base?.checkpointId ?? 0
  }

  /** Whether the next checkpoint must hold all state. */
  get needsFull(): boolean {
    return this.lineage.needsFull
  }

  /** See `CheckpointLineage`. */
  hasHistory(sinceMs: number): boolean {
    return this.lineage.hasHistory(sinceMs)
  }

  /** The last attempt that has chosen what to restore. */
  get restoredAttempt(): number {
    return this.lineage.restoredAttempt
  }

  /** Chooses what an attempt restores, makes the choice durable and deletes what nothing needs then. */
  async restore(
    attempt: number,
    from: RestoreFrom | undefined,
  ): Promise<CheckpointManifest | undefined> {
    const manifest = await this.lineage.chooseRestore(attempt, from)
    await this.lineage.sweep()
    if (attempt === 1) await this.lineage.removeOutdated((warning) => this.warn(warning))
    return manifest
  }

  /**
   * Looks for damage in the checkpoint that the last attempt restored, and goes back to the one before
   * it if there is any, with a warning. Returns whether it did. Throws as `replaceDamagedBase`.
   */
  async fallBackFromDamage(): Promise<boolean> {
    const warning = await this.lineage.replaceDamagedBase()
    if (warning !== undefined) this.warn(warning)
    return warning !== undefined
  }

  private warn(warning: WeirError): void {
    this.options.listener.warning?.(warning)
  }

  /**
   * Makes a checkpoint durable. Throws COORDINATOR_FENCED, STORAGE_FAILED, ILLEGAL_STATE, and TRANSACTION_ABORTED
   * when its sinks can no longer commit what they have prepared.
   */
  async publish({ barrier, attempt, acks }: AcknowledgedCheckpoint): Promise<CheckpointManifest> {
    const { garbage, compactor, lineage } = this
    const { checkpointId } = barrier
    const requireInTime = (): void => requireCommittable(acks, this.options.clock)
    requireInTime()
    const compactions = [...compactor.finished]
    const { operators, unusedOutputs } = assembleOperators({
      acks,
      previous: lineage.base,
      compactions,
    })
    const { jobId, jobName, clock } = this.options
    const manifest: CheckpointManifest = {
      jobId,
      jobName,
      attempt,
      generation: this.generation,
      checkpointId,
      kind: 'checkpoint',
      triggeredAtMs: barrier.timestampMs,
      completedAtMs: clock.nowMs(),
      operators,
    }
    // A call that fails may have written the manifest all the same.
    garbage.markForDeletion(checkpointId)
    // The storage may have been away, or the process frozen, while the manifest and its record were written.
    await this.repository.publish(manifest, requireInTime)
    garbage.unmark(checkpointId)
    compactor.settle(compactions)
    garbage.track(unusedOutputs)
    lineage.add(manifest, barrier.full)
    return manifest
  }

  /** Deletes what the retained checkpoints do not need, and considers a compaction. */
  async tidy(): Promise<void> {
    await this.lineage.collect(this.options.retained)
    if (this.lineage.base !== undefined) this.compactor.consider(this.lineage.base)
  }

  /** Says that the process of the claim does not run the job any more. */
  async release(): Promise<void> {
    if (this.options.claimant === undefined) return
    // Without it the next start waits for the end of this process, or asks for --take-over.
    await this.repository
      .release()
      .catch((cause) => this.warn(asWeirError(cause, 'STORAGE_FAILED')))
  }

  /** Ends the compaction that runs and waits for savepoint copies. */
  async close(): Promise<void> {
    await this.compactor.close()
    await this.savepoints.idle()
  }
}

/** Options of the copies. */
interface SavepointCopiesOptions {
  readonly storage: CheckpointStorage
  readonly garbage: CheckpointGarbage
  readonly random: Random
  readonly jobId: string
}

/** Copies completed checkpoints to savepoint folders; keeps their segments until the copy is done. */
class SavepointCopies {
  private readonly options: SavepointCopiesOptions
  private readonly running = new Set<Promise<void>>()

  constructor(options: SavepointCopiesOptions) {
    this.options = options
  }

  /** A new folder's path below `parent`. Throws INVALID_ARGUMENT. */
  newFolder(parent: string): string {
    const { random, jobId } = this.options
    const name = Array.from({ length: 12 }, () => random.below(16).toString(16)).join('')
    return checkStoragePath(savepointFolder(parent, jobId, name))
  }

  /** Copies a checkpoint to `folder`; begins at once, before its segments can be deleted. */
  async copy(manifest: CheckpointManifest, folder: string): Promise<void> {
    const { storage, garbage } = this.options
    const pin = filesOf(manifest)
    garbage.pin(pin)
    const work = writeSavepoint(storage, manifest, folder)
    const settled = work.catch(() => {})
    this.running.add(settled)
    try {
      await work
    } finally {
      garbage.unpin(pin)
      this.running.delete(settled)
    }
  }

  /** Resolves when no copy runs. */
  async idle(): Promise<void> {
    await Promise.all(this.running)
  }
}
