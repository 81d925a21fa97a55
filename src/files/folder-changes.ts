import { WeirError } from '../core/errors.ts'
import type { FileSystem } from './file-system.ts'

/**
 * Changes of folders by several callers at the same time, each of which is forced. A failed sync may lose
 * the entries of every caller, although the next sync succeeds: so all changes that were not forced
 * when a sync failed fail with it.
 */
export class FolderChanges {
  private readonly files: FileSystem
  /** Failed syncs by folder. */
  private readonly failures = new Map<string, number>()

  constructor(files: FileSystem) {
    this.files = files
  }

  /** Runs `change`, which adds, renames or removes an entry of `folder`, and forces the folder. */
  async force<T>(folder: string, change: () => Promise<T>): Promise<T> {
    const failures = this.failuresOf(folder)
    const result = await change()
    try {
      await this.files.syncFolder(folder)
    } catch (error) {
      this.failures.set(folder, this.failuresOf(folder) + 1)
      throw error
    }
    if (this.failuresOf(folder) === failures) return result
    const message = `a sync of ${folder} failed at the same time, and may have lost this change too`
    throw new WeirError('STORAGE_FAILED', message, { details: { folder } })
  }

  private failuresOf(folder: string): number {
    return this.failures.get(folder) ?? 0
  }
}
