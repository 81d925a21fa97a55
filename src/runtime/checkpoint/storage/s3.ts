import { WeirError } from '../../../core/errors.ts'
import { parseS3Url } from '../../../files/s3/address.ts'
import { S3BucketClient, type S3BucketClientOptions } from '../../../files/s3/client.ts'
import { S3FileWriter } from '../../../files/s3/file-writer.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from './checkpoint-storage.ts'
import { checkStoragePath, isCheckpointFile, LEFTOVER_AGE_MS, MANIFEST_NAME } from './paths.ts'
import { missing, onStorage } from './remote-errors.ts'
import { RemoteStorageWriter } from './remote-writer.ts'
import { requireConditions } from './s3-conditions.ts'

/** Options of checkpoint storage in S3. */
export interface S3StorageOptions extends S3BucketClientOptions {
  /** Bytes from which a file goes in parts, and of a part. S3 takes parts from 5 MiB on. @default 8388608 */
  readonly partBytes?: number
}

/**
 * Checkpoint storage in a bucket of S3. An object is there when its write is complete, so no name is temporary and nothing
 * is renamed: a small file is one PUT, a longer one a multipart upload that `commit` completes. `createExclusive` is a
 * conditional write; a server that ignores the condition is refused before the first one. See
 * docs/decisions/connectors.md#s3.
 */
export class S3CheckpointStorage implements CheckpointStorage {
  /** What the keys begin with: empty, or ends with "/". */
  private readonly root: string
  private readonly client: S3BucketClient
  private readonly partBytes: number | undefined
  private closed = false
  private conditions: Promise<void> | undefined
  private sweep: Promise<void> | undefined

  /** `url` as `parseS3Url` reads it; no request is sent yet. */
  constructor(url: string, options: S3StorageOptions = {}) {
    const address = parseS3Url(url)
    this.root = address.prefix === '' ? '' : `${address.prefix}/`
    this.client = new S3BucketClient(address, options)
    this.partBytes = options.partBytes
  }

  /** Loads the library of AWS. Throws UNSUPPORTED with the command that installs it. */
  async load(): Promise<void> {
    await this.client.loaded()
  }

  async createWriter(path: string): Promise<StorageWriter> {
    const key = this.locate(path)
    this.sweep ??= this.removeLeftovers().catch(() => undefined)
    return new RemoteStorageWriter(path, new S3FileWriter(this.client, key, this.partBytes))
  }

  async createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const key = this.locate(path)
    return await onStorage(`create ${path}`, path, async () => {
      await this.requireConditions()
      return await this.client.create(key, bytes)
    })
  }

  /** An object is durable when its write is acknowledged. */
  async ensureDurable(path: string): Promise<void> {
    const key = this.locate(path)
    const bytes = await onStorage(`find ${path}`, path, () => this.client.bytesOf(key))
    if (bytes === undefined) throw missing(path)
  }

  async read(path: string, start = 0, length?: number, into?: Uint8Array): Promise<Uint8Array> {
    const key = this.locate(path)
    return await onStorage(`read ${path}`, path, () => this.client.read(key, start, length, into))
  }

  async list(folder: string): Promise<readonly StoredFile[]> {
    const prefix = folder === '' ? this.root : `${this.locate(folder)}/`
    const what = folder === '' ? 'list files' : `list ${folder}`
    const objects = await onStorage(what, folder, () => this.client.list(prefix))
    return objects
      .map(({ key, bytes }) => ({ path: key.slice(this.root.length), bytes }))
      .filter(({ path }) => isShown(path))
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /**
   * Deletes the object of that name and those below it, manifests first: if it ends in between, no manifest is left that
   * names missing files.
   */
  async delete(path: string): Promise<void> {
    const key = this.locate(path)
    await onStorage(`delete ${path}`, path, async () => {
      const [inner] = await Promise.all([this.client.list(`${key}/`), this.client.delete(key)])
      const keys = inner.map((object) => object.key)
      const isManifest = (each: string): boolean => each.endsWith(`/${MANIFEST_NAME}`)
      await this.client.deleteAll(keys.filter(isManifest))
      await this.client.deleteAll(keys.filter((each) => !isManifest(each)))
    })
  }

  async close(): Promise<void> {
    this.closed = true
    this.client.close()
  }

  private locate(path: string): string {
    if (this.closed) throw new WeirError('ILLEGAL_STATE', 'the checkpoint storage is closed')
    return `${this.root}${checkStoragePath(path)}`
  }

  /** Tries the server once; a try that failed for another reason is made again. */
  private async requireConditions(): Promise<void> {
    this.conditions ??= requireConditions(this.client, this.root)
    try {
      await this.conditions
    } catch (error) {
      this.conditions = undefined
      throw error
    }
  }

  /**
   * Removes old unfinished uploads below the root. In a bucket without a prefix others may write, too, so only uploads of
   * files are removed that checkpoints have.
   */
  private async removeLeftovers(): Promise<void> {
    const uploads = await this.client.uploads(this.root)
    const before = (await this.client.serverMs()) - LEFTOVER_AGE_MS
    for (const upload of uploads) {
      const isOurs = isCheckpointFile(upload.key.slice(this.root.length))
      if (isOurs && upload.beganMs < before) await this.client.abortUpload(upload)
    }
  }
}

/** Whether a key is a file of storage: programs that show buckets as folders make keys that end with "/". */
function isShown(path: string): boolean {
  return !path.split('/').some((part) => part === '' || part.startsWith('.'))
}
