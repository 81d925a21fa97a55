import { randomUUID } from 'node:crypto'
import { isWeirError, messageOf, WeirError } from '../core/errors.ts'
import { parseWebHdfsUrl } from '../webhdfs/webhdfs-address.ts'
import {
  type RenameOutcome,
  WebHdfsClient,
  type WebHdfsClientOptions,
} from '../webhdfs/webhdfs-client.ts'
import { WebHdfsFileWriter } from '../webhdfs/webhdfs-file-writer.ts'
import { checkStoragePath } from './checkpoint-paths.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from './checkpoint-storage.ts'
import { HdfsStorageWriter } from './hdfs-storage-writer.ts'

/** Unfinished files lie here, below the root, for a rename stays within a file system. */
const TEMPORARY_FOLDER = '.tmp'

/** Age at which an unfinished file counts as left behind by a process that died. */
const LEFTOVER_AGE_MS = 24 * 3600 * 1000

/** How `HdfsCheckpointStorage` works. */
export interface HdfsStorageOptions extends WebHdfsClientOptions {
  /**
   * Bytes that a writer keeps. A file that fits is sent as a whole at `commit`, and again should
   * that fail; a longer one streams and fails with its connection. @default 4194304
   */
  readonly bufferBytes?: number
}

/**
 * Checkpoint storage in HDFS, over WebHDFS. A file is written under a temporary name, its length
 * compared with what was sent, and renamed: readers see a whole file or none. `createExclusive` is a
 * rename that does not overwrite, which the NameNode grants to one caller only; see
 * docs/decisions/0003-hdfs.md for why it is not a CREATE.
 */
export class HdfsCheckpointStorage implements CheckpointStorage {
  private readonly root: string
  private readonly client: WebHdfsClient
  private readonly bufferBytes: number | undefined
  private closed = false
  private sweep: Promise<void> | undefined

  /** `url` as `parseWebHdfsUrl` reads it; nothing is asked of the cluster yet. */
  constructor(url: string, options: HdfsStorageOptions = {}) {
    const address = parseWebHdfsUrl(url)
    this.root = address.path === '/' ? '' : address.path
    this.client = new WebHdfsClient(address, options)
    this.bufferBytes = options.bufferBytes
  }

  async createWriter(path: string): Promise<StorageWriter> {
    const target = this.locate(path)
    const temporary = this.temporaryName()
    const file = new WebHdfsFileWriter(this.client, temporary, this.bufferBytes)
    return new HdfsStorageWriter(path, file, async (bytes) => {
      await this.publish(temporary, target, { overwrite: true, bytes })
    })
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const target = this.locate(path)
    return await onStorage(`create ${path}`, path, async () => {
      // Spares the upload where the name is long taken; who wins a race is decided below.
      if ((await this.client.status(target)) !== undefined) return 'already-exists'
      const temporary = this.temporaryName()
      const file = new WebHdfsFileWriter(this.client, temporary)
      await file.write(bytes)
      await file.finish()
      const options = { overwrite: false, bytes: bytes.length }
      if ((await this.publish(temporary, target, options)) === 'renamed') return 'created'
      await this.client.delete(temporary)
      return 'already-exists'
    })
  }

  async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    const target = this.locate(path)
    return await onStorage(`read ${path}`, path, () => this.client.read(target, start, length))
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const target = this.locate(folder)
    const found: StoredFile[] = []
    await onStorage(`list ${folder}`, folder, () => this.collect(target, folder, found))
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  async delete(path: string): Promise<void> {
    const target = this.locate(path)
    await onStorage(`delete ${path}`, path, () => this.client.delete(target))
  }

  async close(): Promise<void> {
    this.closed = true
    this.client.close()
  }

  private locate(path: string): string {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the checkpoint storage is closed')
    return `${this.root}/${checkStoragePath(path)}`
  }

  private temporaryName(): string {
    this.sweep ??= this.removeLeftovers().catch(() => undefined)
    return `${this.root}/${TEMPORARY_FOLDER}/${randomUUID()}`
  }

  /** Moves a finished file to its name, in a folder that may be missing. */
  private async publish(
    temporary: string,
    target: string,
    options: { readonly overwrite: boolean; readonly bytes: number },
  ): Promise<RenameOutcome> {
    await this.client.makeFolder(target.slice(0, target.lastIndexOf('/')) || '/')
    return await this.client.rename(temporary, target, options)
  }

  /** What disappears while it is listed is left out. */
  private async collect(folder: string, path: string, found: StoredFile[]): Promise<void> {
    const entries = (await this.client.list(folder)) ?? []
    await Promise.all(
      entries.map(async ({ name, isFolder, bytes }) => {
        if (name === '' || name.startsWith('.')) return
        if (isFolder) await this.collect(`${folder}/${name}`, `${path}/${name}`, found)
        else found.push({ path: `${path}/${name}`, bytes })
      }),
    )
  }

  /** By the NameNode's clock, which is that of the files: the newest one tells its time. */
  private async removeLeftovers(): Promise<void> {
    const folder = `${this.root}/${TEMPORARY_FOLDER}`
    const files = (await this.client.list(folder)) ?? []
    const newest = Math.max(...files.map((file) => file.modifiedMs))
    for (const { name, modifiedMs } of files) {
      if (modifiedMs < newest - LEFTOVER_AGE_MS) await this.client.delete(`${folder}/${name}`)
    }
  }
}

/** Runs `action` with errors as the port tells them. */
async function onStorage<T>(what: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (isWeirError(cause, 'FILE_NOT_FOUND')) {
      throw new WeirError('CHECKPOINT_NOT_FOUND', `${path} is not in checkpoint storage`, { cause })
    }
    if (isWeirError(cause, 'ILLEGAL_STATE')) throw cause
    const message = `could not ${what} in checkpoint storage: ${messageOf(cause)}`
    throw new WeirError('STORAGE_FAILED', message, { cause, details: { path } })
  }
}
