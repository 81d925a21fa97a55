import { type FSWatcher, watch } from 'node:fs'

/**
 * Tells of changes of files or folders, made by whatever process of this machine, through the
 * operating system: nothing is looked at while nothing changes. File systems of other machines do not
 * tell of all changes, so its user looks itself from time to time.
 */
export class FileWatch {
  private readonly watchers: FSWatcher[] = []
  private refused = false

  /** Whether changes are told. */
  get isOpen(): boolean {
    return this.watchers.length > 0
  }

  /**
   * Begins to call `onChange`, unless it did or this system once refused to. What changed before this
   * returned may not be told: look once after it.
   */
  open(paths: readonly string[], onChange: () => void): void {
    if (this.isOpen || this.refused) return
    try {
      for (const path of paths) this.watchers.push(this.watchOne(path, onChange))
    } catch {
      // Too many watches, or none on this file system: looking goes on.
      this.refuse()
    }
  }

  private watchOne(path: string, onChange: () => void): FSWatcher {
    const watcher = watch(path, { persistent: false }, onChange)
    watcher.on('error', () => this.refuse())
    return watcher
  }

  private refuse(): void {
    this.refused = true
    this.close()
  }

  /** Ends the calls; `open` begins them again. */
  close(): void {
    for (const watcher of this.watchers.splice(0)) watcher.close()
  }
}
