import { createHash, randomUUID } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../maven-classpath.ts'

/**
 * The classes of a program as a JVM keeps them for the next ones (class data sharing), which then start with two
 * thirds of the processor time.
 */
export class ClassArchive {
  private readonly file: string
  /** Where a JVM writes: each archive of a process has its own. */
  private readonly unfinished: string

  /** `what`: whatever decides which classes a JVM loads, as its class path. */
  constructor(what: string, folder = CACHE) {
    const digest = createHash('sha256').update(what).digest('hex').slice(0, 16)
    this.file = join(folder, `${digest}.jsa`)
    this.unfinished = `${this.file}.${process.pid}-${randomUUID()}`
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
}
