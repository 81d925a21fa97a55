import { messageOf, WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import { decideRetention, referencedFiles } from '../protocol/retention.ts'
import { classifyPath, sharedFolder } from '../storage/paths.ts'
import type { RepositoryContent, WarningListener } from './job-folder.ts'
import type { CheckpointRepository } from './repository.ts'

/**
 * Tracks the files of a job and deletes those that nothing needs any more. While the job runs only
 * segments are deleted that a manifest once referred to or that a compaction made: segments that
 * tasks have written for later checkpoints are not tracked here and so are safe. Failures to delete
 * are reported, and the deletion is tried again with the next checkpoint. What a damaged checkpoint
 * may refer to is never deleted.
 */
export class CheckpointGarbage {
  private readonly repository: CheckpointRepository
  private readonly warn: WarningListener
  /** Segments of this job that were in a manifest, a compaction or an orphan, and may still exist. */
  private readonly tracked = new Set<string>()
  private readonly pins = new Set<ReadonlySet<string>>()
  /** Checkpoints that did not complete but whose manifest may exist. */
  private readonly marked: Set<number>
  /** Manifests and segments of generations below this one stay. */
  private readonly protectedBelow: number

  constructor(
    repository: CheckpointRepository,
    warn: WarningListener,
    { leftovers, damaged, protectedBelow }: RepositoryContent,
  ) {
    this.repository = repository
    this.warn = warn
    this.marked = new Set(leftovers)
    this.protectedBelow = protectedBelow
    for (const { manifest } of damaged) if (manifest !== undefined) this.pin(filesOf(manifest))
  }

  /**
   * Tracks the segments among `paths` that are in this job's folder, to delete them once nothing refers
   * to them.
   */
  track(paths: Iterable<string>): void {
    const folder = `${sharedFolder(this.repository.jobId)}/`
    for (const path of paths) if (path.startsWith(folder)) this.tracked.add(path)
  }

  /** Keeps files until `unpin` is called with the same set. */
  pin(paths: ReadonlySet<string>): void {
    this.pins.add(paths)
  }

  unpin(paths: ReadonlySet<string>): void {
    this.pins.delete(paths)
  }

  /** The next collection deletes the checkpoint's manifest, if it exists. */
  markForDeletion(checkpointId: number): void {
    this.marked.add(checkpointId)
  }

  /** The checkpoint completed: its manifest stays. */
  unmark(checkpointId: number): void {
    this.marked.delete(checkpointId)
  }

  /**
   * Deletes what the newest `retained` checkpoints do not need and returns the checkpoints that still
   * exist. Manifests are deleted before their segments.
   */
  async collect(
    completed: readonly CheckpointManifest[],
    retained: number,
  ): Promise<CheckpointManifest[]> {
    for (const id of [...this.marked]) {
      const removed = await this.tryTo(`remove checkpoint ${id}`, this.repository.remove(id))
      if (removed) this.marked.delete(id)
    }
    // While a marked manifest may exist its files stay: deleting is never urgent.
    if (this.marked.size > 0) return [...completed]
    const left = [...completed]
    const { subsumed } = decideRetention({
      completed,
      retained,
      trackedFiles: [],
      pinned: new Set(),
    })
    for (const { checkpointId, generation } of subsumed) {
      if (generation < this.protectedBelow) continue
      const what = `remove checkpoint ${checkpointId}`
      if (!(await this.tryTo(what, this.repository.remove(checkpointId)))) return left
      left.splice(
        left.findIndex((manifest) => manifest.checkpointId === checkpointId),
        1,
      )
    }
    await this.deleteUnreferenced(left)
    return left
  }

  /**
   * Deletes the segments that attempts before `attempt` left and no checkpoint refers to. While a marked
   * manifest may exist the next collection does it: a look at that checkpoint finds it whole.
   */
  async sweep(completed: readonly CheckpointManifest[], attempt: number): Promise<void> {
    try {
      const files = await this.repository.segmentsBefore(attempt)
      this.track(files.map((file) => file.path))
      if (this.marked.size === 0) await this.deleteUnreferenced(completed)
    } catch (error) {
      this.report('sweep orphaned segments', error)
    }
  }

  private async deleteUnreferenced(completed: readonly CheckpointManifest[]): Promise<void> {
    const { unreferenced } = decideRetention({
      completed,
      retained: completed.length,
      trackedFiles: this.tracked,
      pinned: new Set([...this.pins].flatMap((pin) => [...pin])),
    })
    for (const path of unreferenced) {
      if (this.isProtected(path)) continue
      if (await this.tryTo(`remove ${path}`, this.repository.removeFile(path))) {
        this.tracked.delete(path)
      }
    }
  }

  private isProtected(path: string): boolean {
    const stored = classifyPath(this.repository.jobId, path)
    return stored.kind === 'segment' && stored.generation < this.protectedBelow
  }

  private async tryTo(what: string, action: Promise<void>): Promise<boolean> {
    try {
      await action
      return true
    } catch (error) {
      this.report(what, error)
      return false
    }
  }

  private report(what: string, cause: unknown): void {
    const message = `could not ${what}; it is tried again later: ${messageOf(cause)}`
    this.warn(new WeirError('STORAGE_FAILED', message, { cause }))
  }
}

/** Paths of all segments of one checkpoint. */
export function filesOf(manifest: CheckpointManifest): Set<string> {
  return referencedFiles([manifest])
}
