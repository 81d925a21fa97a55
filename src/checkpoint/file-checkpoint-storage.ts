import type { FileHandle } from 'node:fs/promises'
import { link, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf, WeirError } from '../core/errors.ts'
import { checkStoragePath } from './checkpoint-paths.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from './checkpoint-storage.ts'

/** Unfinished files lie here, below the root and so on the same file system. */
const TEMPORARY_FOLDER = '.tmp'

/**
 * Checkpoint storage in a folder of the local file system (or of one mounted by all processes).
 * A file is written under a temporary name, synced, renamed, and its folder synced, so that a crash
 * at any point leaves the whole file or none.
 */
export class FileCheckpointStorage implements CheckpointStorage {
  private readonly root: string
  private counter = 0
  private closed = false

  /** `root` is a path or a `file://` URL; the folder is made when the first file is written. */
  constructor(root: string) {
    this.root = resolve(root.startsWith('file:') ? fileURLToPath(root) : root)
  }

  async createWriter(path: string): Promise<StorageWriter> {
    const target = this.locate(path)
    return attemptTo(`write ${path}`, path, async () => {
      await this.makeFolder(dirname(target))
      const { handle, name } = await this.createTemporary()
      return new FileStorageWriter(handle, name, target, path)
    })
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const target = this.locate(path)
    return attemptTo(`create ${path}`, path, async () => {
      await this.makeFolder(dirname(target))
      const { handle, name } = await this.createTemporary()
      try {
        await writeFully(handle, bytes).finally(() => handle.close())
        // A hard link fails when the name is taken, atomically and with the content complete.
        await link(name, target)
        await syncFolder(dirname(target))
        return 'created'
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return 'already-exists'
        throw error
      } finally {
        await unlink(name)
      }
    })
  }

  async read(path: string, start = 0, length?: number, into?: Uint8Array): Promise<Uint8Array> {
    const target = this.locate(path)
    return attemptTo(`read ${path}`, path, async () => {
      const handle = await open(target, 'r')
      try {
        const wanted = length ?? Math.max(0, (await handle.stat()).size - start)
        return await readFully(handle, start, wanted, into)
      } finally {
        await handle.close()
      }
    })
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const target = this.locate(folder)
    const found: StoredFile[] = []
    await attemptTo(`list ${folder}`, folder, () => collectFiles(target, folder, found))
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  async delete(path: string): Promise<void> {
    const target = this.locate(path)
    await attemptTo(`delete ${path}`, path, () => rm(target, { recursive: true, force: true }))
  }

  async close(): Promise<void> {
    this.closed = true
  }

  private locate(path: string): string {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the checkpoint storage is closed')
    return join(this.root, checkStoragePath(path))
  }

  /** A name left by a process that died under the same id is skipped. */
  private async createTemporary(): Promise<{ handle: FileHandle; name: string }> {
    const folder = join(this.root, TEMPORARY_FOLDER)
    await mkdir(folder, { recursive: true })
    for (;;) {
      const name = join(folder, `${process.pid}-${performance.timeOrigin}-${this.counter++}`)
      try {
        return { handle: await open(name, 'wx'), name }
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Makes a folder durable with every missing parent. */
  private async makeFolder(folder: string): Promise<void> {
    const firstMade = await mkdir(folder, { recursive: true })
    if (firstMade === undefined) return
    const last = dirname(firstMade)
    for (let parent = dirname(folder); ; parent = dirname(parent)) {
      await syncFolder(parent)
      if (parent === last) return
    }
  }
}

class FileStorageWriter implements StorageWriter {
  private readonly handle: FileHandle
  private readonly temporary: string
  private readonly target: string
  private readonly path: string
  private open = true

  constructor(handle: FileHandle, temporary: string, target: string, path: string) {
    this.handle = handle
    this.temporary = temporary
    this.target = target
    this.path = path
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.requireOpen()
    await attemptTo(`write ${this.path}`, this.path, () => writeAll(this.handle, bytes))
  }

  async commit(): Promise<void> {
    this.requireOpen()
    this.open = false
    await attemptTo(`commit ${this.path}`, this.path, async () => {
      try {
        await this.handle.sync().finally(() => this.handle.close())
        await rename(this.temporary, this.target)
      } catch (error) {
        await rm(this.temporary, { force: true })
        throw error
      }
      await syncFolder(dirname(this.target))
    })
  }

  async abort(): Promise<void> {
    if (!this.open) return
    this.open = false
    await attemptTo(`abort ${this.path}`, this.path, async () => {
      await this.handle.close()
      await rm(this.temporary, { force: true })
    })
  }

  private requireOpen(): void {
    if (!this.open) {
      throw new WeirError('ILLEGAL_STATE', `${this.path} was committed or aborted already`)
    }
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await handle.write(bytes, written, bytes.length - written)).bytesWritten
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  await writeAll(handle, bytes)
  await handle.sync()
}

async function readFully(
  handle: FileHandle,
  start: number,
  length: number,
  into: Uint8Array = Buffer.allocUnsafeSlow(length),
): Promise<Uint8Array> {
  let read = 0
  while (read < length) {
    const { bytesRead } = await handle.read(into, read, length - read, start + read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return new Uint8Array(into.buffer, into.byteOffset, read)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** What disappears while it is listed is left out. */
async function collectFiles(folder: string, path: string, found: StoredFile[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ifMissing([]))
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue
    const inner = join(folder, entry.name)
    if (entry.isDirectory()) await collectFiles(inner, `${path}/${entry.name}`, found)
    else {
      const stats = await stat(inner).catch(ifMissing(undefined))
      if (stats !== undefined) found.push({ path: `${path}/${entry.name}`, bytes: stats.size })
    }
  }
}

function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === 'ENOENT') return value
    throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

async function attemptTo<T>(what: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    if (codeOf(cause) === 'ENOENT') {
      throw new WeirError('CHECKPOINT_NOT_FOUND', `${path} is not in checkpoint storage`, { cause })
    }
    throw new WeirError(
      'STORAGE_FAILED',
      `could not ${what} in checkpoint storage: ${messageOf(cause)}`,
      { cause, details: { path } },
    )
  }
}
