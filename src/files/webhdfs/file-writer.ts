import { WeirError } from '../../core/errors.ts'
import type { WebHdfsClient } from './client.ts'
import type { WebHdfsUpload } from './upload.ts'

/** Size of the blocks in which written pieces are gathered. */
const BLOCK_BYTES = 1 << 20

/** Default of the bytes that a writer keeps. */
const BUFFER_BYTES = 4 << 20

/**
 * Writes one file to HDFS. Up to `bufferBytes` are kept, so that a small file can be sent again when
 * its DataNode fails. A larger file is streamed, and at most one block of it is kept. Readers may see
 * the file before it is complete, so write it under a temporary name and rename it. Methods throw as
 * those of `WebHdfsClient`.
 */
export class WebHdfsFileWriter {
  private readonly client: WebHdfsClient
  private readonly path: string
  private readonly bufferBytes: number
  /** Full blocks that were not sent. */
  private blocks: Uint8Array[] = []
  private block = new Uint8Array(0)
  private used = 0
  private written = 0
  private upload: WebHdfsUpload | undefined
  private sent = false

  /** Sends nothing yet. */
  constructor(client: WebHdfsClient, path: string, bufferBytes = BUFFER_BYTES) {
    this.client = client
    this.path = path
    this.bufferBytes = bufferBytes
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.written
  }

  /** Appends a copy of a piece. Resolves when the writer can take more. */
  async write(piece: Uint8Array): Promise<void> {
    this.gather(piece)
    if (this.upload === undefined && this.blocks.length * BLOCK_BYTES < this.bufferBytes) return
    await this.stream()
  }

  /** Sends the rest. Resolves when HDFS has the file in its full length. */
  async finish(): Promise<void> {
    try {
      await this.sendRest()
    } finally {
      this.release()
    }
    const status = await this.client.status(this.path)
    if (status?.bytes === this.written) return
    throw new WeirError(
      'CONNECTOR_FAILED',
      `HDFS has ${status?.bytes ?? 'none'} of the ${this.written} bytes that were sent for ${this.path}`,
    )
  }

  /** Ends the upload and deletes the file. If the deletion fails, a part stays under the path. */
  async discard(): Promise<void> {
    this.release()
    this.upload?.abort()
    if (this.sent) await this.client.delete(this.path).catch(() => undefined)
  }

  private gather(piece: Uint8Array): void {
    this.written += piece.length
    for (let at = 0; at < piece.length; ) {
      if (this.used === this.block.length) this.makeRoom(piece.length - at)
      const taken = piece.subarray(at, at + this.block.length - this.used)
      this.block.set(taken, this.used)
      this.used += taken.length
      at += taken.length
    }
  }

  /** The first block starts small and grows, because most files of a checkpoint are small. */
  private makeRoom(wanted: number): void {
    if (this.block.length === BLOCK_BYTES) {
      this.blocks.push(this.block)
      this.block = new Uint8Array(BLOCK_BYTES)
      this.used = 0
      return
    }
    const size = Math.min(BLOCK_BYTES, Math.max(4096, 2 * this.used, this.used + wanted))
    const grown = new Uint8Array(size)
    grown.set(this.block)
    this.block = grown
  }

  /** Sends the full blocks. */
  private async stream(): Promise<void> {
    this.sent = true
    this.upload ??= await this.client.openUpload(this.path)
    const blocks = this.blocks
    this.blocks = []
    for (const block of blocks) await this.upload.write(block)
  }

  private async sendRest(): Promise<void> {
    const last = this.block.subarray(0, this.used)
    this.sent = true
    if (this.upload === undefined) {
      const whole = this.blocks.length === 0 ? last : Buffer.concat([...this.blocks, last])
      await this.client.writeFile(this.path, whole)
      return
    }
    await this.stream()
    await this.upload.write(last)
    await this.upload.finish()
  }

  private release(): void {
    this.blocks = []
    this.block = new Uint8Array(0)
    this.used = 0
  }
}
