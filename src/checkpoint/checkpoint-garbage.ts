import { messageOf, WeirError } from '../core/errors.ts'
import { sharedFolder } from './checkpoint-paths.ts'
import type { CheckpointRepository, WarningListener } from './checkpoint-repository.ts'
import type { CheckpointManifest } from './protocol/checkpoint-types.ts'
import { decideRetention, referencedFiles } from './protocol/retention.ts'

/**
 * Knows which files of a job nobody needs any more and deletes them. Only segments that a manifest
 * once referred to (or that a compaction made) are deleted while the job runs: what tasks have
 * written for checkpoints to come is unknown here and so is safe. Failures to delete are reported
 * and tried again with the next checkpoint.
 */
export class CheckpointGarbage {
  private readonly repository: CheckpointRepository
  private readonly warn: WarningListener
  /** Segments of this job that were in a manifest, a compaction or an orphan, and may still exist. */
  private readonly known = new Set<string>()
  private readonly pins = new Set<ReadonlySet<string>>()
  /** Checkpoints that did not complete and whose manifest may exist all the same. */
  private readonly doomed: Set<number>

  constructor(repository: CheckpointRepository, warn: WarningListener, doomed: readonly number[]) {
    this.repository = repository
    this.warn = warn
    this.doomed = new Set(doomed)
  }

  /** Segments of this job's folder that are deleted once nothing refers to them. */
  know(paths: Iterable<string>): void {
    const folder = `${sharedFolder(this.repository.jobId)}/`
    for (const path of paths) if (path.startsWith(folder)) this.known.add(path)
  }

  /** Keeps files until `unpin` is called with the same set. */
  pin(paths: ReadonlySet<string>): void {
    this.pins.add(paths)
  }

  unpin(paths: ReadonlySet<string>): void {
    this.pins.delete(paths)
  }

  /** The checkpoint's manifest must go, if it exists. */
  doom(checkpointId: number): void {
    this.doomed.add(checkpointId)
  }

  /** The checkpoint completed after all. */
  undoom(checkpointId: number): void {
    this.doomed.delete(checkpointId)
  }

  /**
   * Deletes what the newest `retained` checkpoints do not need and returns the checkpoints that are
   * still there. Manifests go before their segments.
   */
  async collect(
    completed: readonly CheckpointManifest[],
    retained: number,
  ): Promise<CheckpointManifest[]> {
    for (const id of [...this.doomed]) {
      const removed = await this.tryTo(`remove checkpoint ${id}`, this.repository.remove(id))
      if (removed) this.doomed.delete(id)
    }
    // While a left-aside manifest may exist its files stay: deleting is never urgent.
    if (this.doomed.size > 0) return [...completed]
    const left = [...completed]
    const { subsumed } = decideRetention({
      completed,
      retained,
      knownFiles: [],
      pinned: new Set(),
    })
    for (const { checkpointId } of subsumed) {
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

  /** Deletes the segments that attempts before `attempt` left and no checkpoint refers to. */
  async sweep(completed: readonly CheckpointManifest[], attempt: number): Promise<void> {
    try {
      const files = await this.repository.segmentsBefore(attempt)
      this.know(files.map((file) => file.path))
      await this.deleteUnreferenced(completed)
    } catch (error) {
      this.report('sweep orphaned segments', error)
    }
  }

  private async deleteUnreferenced(completed: readonly CheckpointManifest[]): Promise<void> {
    const { unreferenced } = decideRetention({
      completed,
      retained: completed.length,
      knownFiles: this.known,
      pinned: new Set([...this.pins].flatMap((pin) => [...pin])),
    })
    for (const path of unreferenced) {
      if (await this.tryTo(`remove ${path}`, this.repository.removeFile(path))) {
        this.known.delete(path)
      }
    }
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
    const message = `could not ${what}, it is tried again later: ${messageOf(cause)}`
    this.warn(new WeirError('STORAGE_FAILED', message, { cause }))
  }
}

/** Every segment of one checkpoint. */
export function filesOf(manifest: CheckpointManifest): Set<string> {
  return referencedFiles([manifest])
}
