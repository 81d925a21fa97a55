import { dirname, join, resolve } from 'node:path'
import { threadId } from 'node:worker_threads'
import { asWeirError, WeirError } from '../../../core/errors.ts'
import { readFully, renameForced } from '../../../files/durable-files.ts'
import { DurableFolders } from '../../../files/durable-folders.ts'
import { type FileSystem, type OpenFile, systemCodeOf } from '../../../files/file-system.ts'
import { FolderChanges } from '../../../files/folder-changes.ts'
import { nodeFileSystem } from '../../../files/node-file-system.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from './checkpoint-storage.ts'
import { checkStoragePath, joinPath, LEFTOVER_AGE_MS, TEMPORARY_FOLDER } from './paths.ts'

/** Temporary files of this thread, in whichever of its storages: several of one folder may be open. */
let temporaryFiles = 0

/**
 * Checkpoint storage in a folder of the local file system (or of one mounted by all processes).
 * A file is written under a temporary name, synced and renamed, and its folder synced, so that a crash
 * at any time leaves the complete file or none.
 */
export class FileCheckpointStorage implements CheckpointStorage {
  private readonly root: string
  private readonly files: FileSystem
  private readonly folders: DurableFolders
  private readonly changes: FolderChanges
  private closed = false
  private sweep: Promise<void> | undefined

  /** `root` is a path; the folder is made when the first file is written. */
  constructor(root: string, files: FileSystem = nodeFileSystem) {
    this.root = resolve(root)
    this.files = files
    this.changes = new FolderChanges(files)
    this.folders = new DurableFolders(files, this.root, this.changes)
  }

  async createWriter(path: string): Promise<StorageWriter> {
    const target = this.locate(path)
    return attemptTo(`write ${path}`, path, async () => {
      await this.folders.make(dirname(target))
      const file = await this.createTemporary()
      const { files, changes } = this
      return new FileStorageWriter({ files, changes, file, target, path })
    })
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const target = this.locate(path)
    return attemptTo(`create ${path}`, path, async () => {
      await this.folders.make(dirname(target))
      const file = await this.createTemporary()
      try {
        await file.write([bytes], 0)
        await file.datasync().finally(() => file.close())
        return await this.linkOnce(file.path, target)
      } finally {
        await this.files.remove(file.path)
      }
    })
  }

  /** Links a complete file to its name; a hard link is atomic and fails if the name exists. */
  private async linkOnce(from: string, target: string): Promise<CreateOutcome> {
    let linked = false
    try {
      await this.changes.force(dirname(target), async () => {
        await this.files.link(from, target)
        linked = true
      })
      return 'created'
    } catch (error) {
      // The name may be lost at a power cut: no process must find it and rely on it.
      if (linked) await this.files.remove(target)
      else if (systemCodeOf(error) === 'EEXIST') return 'already-exists'
      throw error
    }
  }

  async ensureDurable(path: string): Promise<void> {
    const target = this.locate(path)
    await attemptTo(`force ${path}`, path, async () => {
      const file = await this.files.open(target, 'read')
      await file.datasync().finally(() => file.close())
      await this.changes.force(dirname(target), async () => {})
      await this.folders.make(dirname(target))
    })
  }

  async read(path: string, start = 0, length?: number, into?: Uint8Array): Promise<Uint8Array> {
    const target = this.locate(path)
    return attemptTo(`read ${path}`, path, async () => {
      const file = await this.files.open(target, 'read')
      try {
        const wanted = length ?? Math.max(0, file.sizeSync() - start)
        const buffer = into ?? Buffer.allocUnsafeSlow(wanted)
        const read = await readFully(file, buffer, start, wanted)
        return new Uint8Array(buffer.buffer, buffer.byteOffset, read)
      } finally {
        await file.close()
      }
    })
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const target = folder === '' ? this.root : this.locate(folder)
    const found: StoredFile[] = []
    await attemptTo(`list ${folder}`, folder, () => this.collect(target, folder, found))
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  async delete(path: string): Promise<void> {
    const target = this.locate(path)
    await attemptTo(`delete ${path}`, path, async () => {
      const isFolder = (await this.files.stat(target))?.isFolder === true
      if (isFolder) await this.deleteFolder(target)
      else await this.files.remove(target)
    })
  }

  /**
   * Deletes a folder in one step: a manifest must not come back after a power cut when the segments that
   * it names are deleted.
   */
  private async deleteFolder(target: string): Promise<void> {
    const temporary = join(this.root, TEMPORARY_FOLDER)
    await this.files.makeFolder(temporary)
    const moved = join(temporary, this.newName())
    await this.changes.force(dirname(target), () => this.files.rename(target, moved))
    await this.files.removeTree(moved)
  }

  private newName(): string {
    return `${process.pid}-${performance.timeOrigin}-${threadId}-${temporaryFiles++}`
  }

  async close(): Promise<void> {
    this.closed = true
  }

  private locate(path: string): string {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the checkpoint storage is closed')
    return join(this.root, checkStoragePath(path))
  }

  /** Skips names that another process with the same id has left. */
  private async createTemporary(): Promise<OpenFile> {
    const folder = join(this.root, TEMPORARY_FOLDER)
    await this.files.makeFolder(folder)
    for (;;) {
      const name = join(folder, this.newName())
      try {
        const file = await this.files.open(name, 'new')
        this.sweep ??= this.removeLeftovers(folder, name).catch(() => undefined)
        return file
      } catch (error) {
        if (systemCodeOf(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Removes old unfinished files; their age is relative to the file `newest`, which was made just now. */
  private async removeLeftovers(folder: string, newest: string): Promise<void> {
    const nowMs = (await this.files.stat(newest))?.modifiedMs ?? 0
    for (const { name } of await this.files.list(folder)) {
      const path = join(folder, name)
      const modifiedMs = (await this.files.stat(path))?.modifiedMs ?? nowMs
      if (modifiedMs < nowMs - LEFTOVER_AGE_MS) await this.files.removeTree(path)
    }
  }

  /** Leaves out files that disappear while they are listed. */
  private async collect(folder: string, path: string, found: StoredFile[]): Promise<void> {
    const entries = await this.files.list(folder).catch(ifMissing([]))
    for (const { name, isFolder } of entries) {
      if (name.startsWith('.')) continue
      const inner = join(folder, name)
      const innerPath = joinPath(path, name)
      if (isFolder) await this.collect(inner, innerPath, found)
      else {
        const status = await this.files.stat(inner)
        if (status !== undefined) found.push({ path: innerPath, bytes: status.size })
      }
    }
  }
}

interface FileStorageWriterOptions {
  readonly files: FileSystem
  readonly changes: FolderChanges
  /** The unfinished file. */
  readonly file: OpenFile
  /** Name of the file after `commit`. */
  readonly target: string
  /** Path of storage, for messages. */
  readonly path: string
}

class FileStorageWriter implements StorageWriter {
  private readonly files: FileSystem
  private readonly changes: FolderChanges
  private readonly file: OpenFile
  private readonly target: string
  private readonly path: string
  private written = 0
  private open = true

  constructor({ files, changes, file, target, path }: FileStorageWriterOptions) {
    this.files = files
    this.changes = changes
    this.file = file
    this.target = target
    this.path = path
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.requireOpen()
    await attemptTo(`write ${this.path}`, this.path, async () => {
      await this.file.write([bytes], this.written)
      this.written += bytes.length
    })
  }

  async commit(): Promise<void> {
    this.requireOpen()
    this.open = false
    await attemptTo(`commit ${this.path}`, this.path, () =>
      this.changes.force(dirname(this.target), () =>
        renameForced(this.files, this.file, this.target),
      ),
    )
  }

  async abort(): Promise<void> {
    if (!this.open) return
    this.open = false
    await attemptTo(`abort ${this.path}`, this.path, async () => {
      await this.file.close()
      await this.files.remove(this.file.path)
    })
  }

  private requireOpen(): void {
    if (!this.open) {
      throw new WeirError('ILLEGAL_STATE', `${this.path} was committed or aborted already`)
    }
  }
}

function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (systemCodeOf(error) === 'ENOENT') return value
    throw error
  }
}

async function attemptTo<T>(what: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (cause instanceof WeirError) throw cause
    if (systemCodeOf(cause) === 'ENOENT' && /^(read|force) /.test(what)) {
      throw new WeirError('CHECKPOINT_NOT_FOUND', `${path} is not in checkpoint storage`, { cause })
    }
    const error = asWeirError(cause, 'STORAGE_FAILED', `could not ${what} in checkpoint storage`)
    throw new WeirError(error.code, error.message, { cause, details: { path } })
  }
}
