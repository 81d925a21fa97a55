import { messageOf, WeirError } from '../../../core/errors.ts'
import type { WebHdfsFileWriter } from '../../../files/webhdfs/file-writer.ts'
import type { StorageWriter } from './checkpoint-storage.ts'

/** Writes one file of checkpoint storage under a temporary name and publishes it at `commit`. */
export class HdfsStorageWriter implements StorageWriter {
  private readonly path: string
  private readonly file: WebHdfsFileWriter
  private readonly publish: (bytes: number) => Promise<void>
  private open = true

  /** `path` is for messages; `publish` gives the finished file its name. */
  constructor(path: string, file: WebHdfsFileWriter, publish: (bytes: number) => Promise<void>) {
    this.path = path
    this.file = file
    this.publish = publish
  }

  async write(piece: Uint8Array): Promise<void> {
    this.requireOpen()
    await this.explaining('write', () => this.file.write(piece))
  }

  async commit(): Promise<void> {
    this.requireOpen()
    this.open = false
    await this.explaining('commit', async () => {
      try {
        await this.file.finish()
        await this.publish(this.file.bytes)
      } catch (error) {
        // Not awaited: a failing cluster may answer late, and the checkpoint has already failed.
        void this.file.discard()
        throw error
      }
    })
  }

  async abort(): Promise<void> {
    if (!this.open) return
    this.open = false
    await this.file.discard()
  }

  private requireOpen(): void {
    if (!this.open) {
      throw new WeirError('ILLEGAL_STATE', `${this.path} was committed or aborted already`)
    }
  }

  private async explaining(what: string, action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (cause) {
      const message = `could not ${what} ${this.path} in checkpoint storage: ${messageOf(cause)}`
      throw new WeirError('STORAGE_FAILED', message, { cause, details: { path: this.path } })
    }
  }
}
