import { type FSWatcher, watch } from 'node:fs'

/**
 * Watches files or folders through the operating system, so that nothing has to be read while nothing
 * changes. It reports the changes that processes of this machine make. Network file systems do not
 * report all changes, so the user of a watch must also look at the files from time to time.
 */
export class FileWatch {
  private readonly watchers: FSWatcher[] = []
  private refused = false

  /** Whether changes are reported. */
  get isOpen(): boolean {
    return this.watchers.length > 0
  }

  /**
   * Begins to call `onChange`. Has no effect when the watch is open, or when the system refused one
   * before. Changes made before this returns may not be reported: look at the files once after it.
   */
  open(paths: readonly string[], onChange: () => void): void {
    if (this.isOpen || this.refused) return
    try {
      for (const path of paths) this.watchers.push(this.watchOne(path, onChange))
    } catch {
      // Too many watches, or a file system without watches.
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

  /** Ends the calls; `open` can begin them again. */
  close(): void {
    for (const watcher of this.watchers.splice(0)) watcher.close()
  }
}
