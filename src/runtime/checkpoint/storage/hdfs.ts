import { randomUUID } from 'node:crypto'
import { WeirError } from '../../../core/errors.ts'
import { parseWebHdfsUrl } from '../../../files/webhdfs/address.ts'
import {
  type RenameOutcome,
  WebHdfsClient,
  type WebHdfsClientOptions,
} from '../../../files/webhdfs/client.ts'
import { WebHdfsFileWriter } from '../../../files/webhdfs/file-writer.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from './checkpoint-storage.ts'
import { checkStoragePath, joinPath, LEFTOVER_AGE_MS, TEMPORARY_FOLDER } from './paths.ts'
import { missing, onStorage } from './remote-errors.ts'
import { RemoteStorageWriter } from './remote-writer.ts'

/** Options of checkpoint storage in HDFS. */
export interface HdfsStorageOptions extends WebHdfsClientOptions {
  /**
   * Bytes that a writer keeps. A file that fits is sent as a whole at `commit` and is sent again if
   * that fails; a longer file is streamed and fails with its connection. @default 4194304
   */
  readonly bufferBytes?: number
}

/**
 * Checkpoint storage in HDFS, over WebHDFS. A file is written under a temporary name, its length
 * compared with what was sent, and renamed: readers see a whole file or none. `createExclusive` is a
 * rename that does not overwrite, which the NameNode grants to one caller only; see
 * docs/decisions/connectors.md#hdfs for why it is not a CREATE.
 */
export class HdfsCheckpointStorage implements CheckpointStorage {
  private readonly root: string
  private readonly client: WebHdfsClient
  private readonly bufferBytes: number | undefined
  private closed = false
  private sweep: Promise<void> | undefined

  /** `url` as `parseWebHdfsUrl` reads it; no request is sent yet. */
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
    return new RemoteStorageWriter(path, file, async () => {
      await this.publish(temporary, target, { overwrite: true, bytes: file.bytes })
    })
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const target = this.locate(path)
    return await onStorage(`create ${path}`, path, async () => {
      // Avoids the upload if the name exists already; the rename below decides a race.
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

  /** A file is durable before it gets its name. */
  async ensureDurable(path: string): Promise<void> {
    const target = this.locate(path)
    const status = await onStorage(`find ${path}`, path, () => this.client.status(target))
    if (status === undefined) throw missing(path)
  }

  async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    const target = this.locate(path)
    return await onStorage(`read ${path}`, path, () => this.client.read(target, start, length))
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const target = folder === '' ? this.root : this.locate(folder)
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

  /** Leaves out files that disappear while they are listed. */
  private async collect(folder: string, path: string, found: StoredFile[]): Promise<void> {
    const entries = (await this.client.list(folder)) ?? []
    await Promise.all(
      entries.map(async ({ name, isFolder, bytes }) => {
        if (name === '' || name.startsWith('.')) return
        if (isFolder) await this.collect(`${folder}/${name}`, joinPath(path, name), found)
        else found.push({ path: joinPath(path, name), bytes })
      }),
    )
  }

  /**
   * Removes old unfinished files. Their age is relative to the newest one, because all have the
   * NameNode's time.
   */
  private async removeLeftovers(): Promise<void> {
    const folder = `${this.root}/${TEMPORARY_FOLDER}`
    const files = (await this.client.list(folder)) ?? []
    const newest = Math.max(...files.map((file) => file.modifiedMs))
    for (const { name, modifiedMs } of files) {
      if (modifiedMs < newest - LEFTOVER_AGE_MS) await this.client.delete(`${folder}/${name}`)
    }
  }
}
