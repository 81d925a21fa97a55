import { createWriteStream, type WriteStream } from 'node:fs'
import * as fsp from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { messageOf, WeirError } from '../../core/errors.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import type { LineFileInput, LineFileOutput, LineFolder } from './line-folder.ts'

/** A folder of this machine's file system. */
export class LocalLineFolder implements LineFolder {
  readonly place: string

  constructor(place: string) {
    this.place = place
  }

  async make(): Promise<void> {
    await fsp.mkdir(this.place, { recursive: true })
  }

  names(): Promise<readonly string[]> {
    return fsp.readdir(this.place)
  }

  begin(name: string): LineFileOutput {
    return new LocalLineOutput(join(this.place, name))
  }

  async rename(from: string, to: string): Promise<boolean> {
    try {
      await nodeFileSystem.rename(join(this.place, from), join(this.place, to))
      // A later checkpoint no longer lists the file, so a power cut must not take the name back.
      await nodeFileSystem.syncFolder(this.place)
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  async exists(name: string): Promise<boolean> {
    const access = fsp.access(join(this.place, name))
    return await access.then(
      () => true,
      () => false,
    )
  }

  async remove(name: string): Promise<void> {
    await fsp.rm(join(this.place, name), { force: true })
  }

  async close(): Promise<void> {}
}

class LocalLineOutput implements LineFileOutput {
  private readonly path: string
  private readonly stream: WriteStream
  private full = false
  /** Callers of `whenReady`. */
  private wakers: (() => void)[] = []
  private failure: WeirError | undefined

  constructor(path: string) {
    this.path = path
    this.stream = createWriteStream(path, { flush: true })
    this.stream.on('drain', () => this.wake())
    this.stream.on('error', (cause) => {
      this.failure = new WeirError('CONNECTOR_FAILED', messageOf(cause), { cause })
      this.wake()
    })
  }

  private wake(): void {
    this.full = false
    for (const wake of this.wakers.splice(0)) wake()
  }

  write(text: string): void {
    if (this.failure !== undefined) throw this.failure
    if (!this.stream.write(text)) this.full = true
  }

  ready(): boolean {
    return !this.full || this.failure !== undefined
  }

  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.wakers.push(resolve))
  }

  async finish(): Promise<void> {
    await this.abandon()
    if (this.failure !== undefined) throw this.failure
    await nodeFileSystem.syncFolder(dirname(this.path))
  }

  async abandon(): Promise<void> {
    // A stream that ends emits no `drain`: callers that wait go on with the next file.
    this.stream.end()
    this.wake()
    await finished(this.stream).catch(() => undefined)
  }
}

/** Opens a file of this machine for reading. */
export async function openLocalInput(path: string): Promise<LineFileInput> {
  const handle = await fsp.open(path)
  return {
    read: async (target, position) =>
      (await handle.read(target, 0, target.length, position)).bytesRead,
    close: () => handle.close(),
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
