import { messageOf, WeirError } from '../core/errors.ts'
import type { WebHdfsClient } from '../webhdfs/webhdfs-client.ts'
import type { WebHdfsUpload } from '../webhdfs/webhdfs-upload.ts'
import type { StorageWriter } from './checkpoint-storage.ts'

/** What a writer of one file needs. */
export interface HdfsStorageWriterOptions {
  readonly client: WebHdfsClient
  /** Absolute name under which the bytes are sent. */
  readonly temporary: string
  /** Bytes kept before anything is sent. */
  readonly bufferBytes: number
  /** The file's path, for messages. */
  readonly path: string
  /** Checks the length of the temporary file and gives it its name. */
  readonly publish: (temporary: string, bytes: number) => Promise<void>
}

/** Pieces are gathered in blocks of so many bytes. */
const BLOCK_BYTES = 1 << 20

/**
 * Writes one file to HDFS. Up to `bufferBytes` are kept, so that a small file can be sent again when
 * its DataNode dies; beyond that the bytes stream, and at most one block is kept.
 */
export class HdfsStorageWriter implements StorageWriter {
  private readonly options: HdfsStorageWriterOptions
  /** Full blocks that were not sent. */
  private blocks: Uint8Array[] = []
  private block = new Uint8Array(0)
  private used = 0
  private bytes = 0
  private upload: WebHdfsUpload | undefined
  private sent = false
  private open = true

  constructor(options: HdfsStorageWriterOptions) {
    this.options = options
  }

  async write(piece: Uint8Array): Promise<void> {
    this.requireOpen()
    this.gather(piece)
    if (this.blocks.length * BLOCK_BYTES < this.options.bufferBytes && !this.upload) return
    await this.telling('write', () => this.stream())
  }

  async commit(): Promise<void> {
    this.requireOpen()
    this.open = false
    const { temporary, publish } = this.options
    await this.telling('commit', async () => {
      try {
        await this.sendRest()
        await publish(temporary, this.bytes)
      } catch (error) {
        // Not awaited: a cluster that fails may take its time, and the checkpoint has failed already.
        void this.discard()
        throw error
      } finally {
        this.release()
      }
    })
  }

  async abort(): Promise<void> {
    if (!this.open) return
    this.open = false
    this.release()
    await this.telling('abort', () => this.discard())
  }

  private gather(piece: Uint8Array): void {
    this.bytes += piece.length
    for (let at = 0; at < piece.length; ) {
      if (this.used === this.block.length) this.nextBlock(piece.length - at)
      const taken = piece.subarray(at, at + this.block.length - this.used)
      this.block.set(taken, this.used)
      this.used += taken.length
      at += taken.length
    }
  }

  /** The first block is small: most files of a checkpoint are. */
  private nextBlock(wanted: number): void {
    const first = this.blocks.length === 0 && this.block.length < BLOCK_BYTES && !this.upload
    if (first) {
      const grown = Math.min(BLOCK_BYTES, Math.max(4096, 2 * this.used, this.used + wanted))
      const block = new Uint8Array(grown)
      block.set(this.block.subarray(0, this.used))
      this.block = block
      return
    }
    this.blocks.push(this.block)
    this.block = new Uint8Array(BLOCK_BYTES)
    this.used = 0
  }

  /** Sends the full blocks. */
  private async stream(): Promise<void> {
    this.sent = true
    this.upload ??= await this.options.client.openUpload(this.options.temporary)
    const blocks = this.blocks
    this.blocks = []
    for (const block of blocks) await this.upload.write(block)
  }

  private async sendRest(): Promise<void> {
    const last = this.block.subarray(0, this.used)
    this.sent = true
    if (this.upload === undefined) {
      const whole = this.blocks.length === 0 ? last : Buffer.concat([...this.blocks, last])
      await this.options.client.writeFile(this.options.temporary, whole)
      return
    }
    await this.stream()
    await this.upload.write(last)
    await this.upload.finish()
  }

  /** Removes what may lie under the temporary name; what cannot be removed is swept up later. */
  private async discard(): Promise<void> {
    this.upload?.abort()
    const { client, temporary } = this.options
    if (this.sent) await client.delete(temporary).catch(() => undefined)
  }

  private release(): void {
    this.blocks = []
    this.block = new Uint8Array(0)
    this.used = 0
  }

  private requireOpen(): void {
    if (!this.open) {
      const { path } = this.options
      throw new WeirError('ILLEGAL_STATE', `${path} was committed or aborted already`)
    }
  }

  private async telling(what: string, action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (cause) {
      const { path } = this.options
      const message = `could not ${what} ${path} in checkpoint storage: ${messageOf(cause)}`
      throw new WeirError('STORAGE_FAILED', message, { cause, details: { path } })
    }
  }
}
