import { createHash } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Folder of downloaded services; git ignores `.weir`. */
const CACHE = resolve(import.meta.dirname, '../../../.weir/services')

/**
 * The classes of a class path as a JVM keeps them for the next ones (class data sharing), which then start with two
 * thirds of the processor time.
 */
export class ClassArchive {
  private readonly file: string

  constructor(classPath: string, folder = CACHE) {
    const digest = createHash('sha256').update(classPath).digest('hex').slice(0, 16)
    this.file = join(folder, `${digest}.jsa`)
  }

  get exists(): boolean {
    return existsSync(this.file)
  }

  /** Flags of a JVM that takes its classes from here; none where nothing is kept. */
  get readFlags(): readonly string[] {
    // A JVM of another version warns, on standard output by default, and reads all classes itself.
    const quiet = ['-Xlog:disable', '-Xlog:all=warning:stderr']
    return this.exists ? [`-XX:SharedArchiveFile=${this.file}`, ...quiet] : []
  }

  /** Flags of a JVM that keeps its classes when it ends by itself or on SIGTERM; `keep` makes them known. */
  get writeFlags(): readonly string[] {
    return [`-XX:ArchiveClassesAtExit=${this.unfinished}`]
  }

  /** Makes known what the JVM has kept. */
  keep(): void {
    if (existsSync(this.unfinished)) renameSync(this.unfinished, this.file)
  }

  private get unfinished(): string {
    return `${this.file}.${process.pid}`
  }
}
