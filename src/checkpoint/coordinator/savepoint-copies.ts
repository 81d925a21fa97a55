import type { Random } from '../../core/random.ts'
import { writeSavepoint } from '../manifest/write-savepoint.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { checkStoragePath, savepointFolder } from '../storage/paths.ts'
import { type CheckpointGarbage, filesOf } from './garbage.ts'

/** Options of the copies. */
export interface SavepointCopiesOptions {
  readonly storage: CheckpointStorage
  readonly garbage: CheckpointGarbage
  readonly random: Random
  readonly jobId: string
}

/** Copies completed checkpoints to savepoint folders; keeps their segments until the copy is done. */
export class SavepointCopies {
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
