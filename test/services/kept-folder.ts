import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE } from './maven-classpath.ts'

/** A folder that takes a service seconds to make, kept for later ones: each of them gets a copy. */
export class KeptFolder {
  private readonly folder: string

  /** `what`: whatever decides the content. */
  constructor(what: string, cache = CACHE) {
    const digest = createHash('sha256').update(what).digest('hex').slice(0, 16)
    this.folder = join(cache, `${digest}.kept`)
  }

  get exists(): boolean {
    return existsSync(this.folder)
  }

  /** Keeps a copy of a folder, unless another process has kept one meanwhile. */
  async keep(made: string): Promise<void> {
    const copy = `${this.folder}-${randomUUID()}`
    await cp(made, copy, { recursive: true })
    await rename(copy, this.folder).catch(() => rm(copy, { recursive: true, force: true }))
  }

  /** Replaces a folder by a copy. */
  async give(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true })
    await cp(this.folder, folder, { recursive: true })
  }
}
