import { messageOf, WeirError } from '../../../core/errors.ts'
import type { StorageWriter } from './checkpoint-storage.ts'

/** A file on its way to a server. */
export interface RemoteFile {
  /** Appends a copy of a piece; resolves when it can take more. */
  write(piece: Uint8Array): Promise<void>
  /** Sends the rest; resolves when the server has all of it. */
  finish(): Promise<void>
  /** Removes what was sent. */
  discard(): Promise<void>
}

/** Writes one file of checkpoint storage on a server, and publishes it at `commit`. */
export class RemoteStorageWriter implements StorageWriter {
  private readonly path: string
  private readonly file: RemoteFile
  private readonly publish: () => Promise<void>
  private open = true

  /** `path` is for messages; `publish` gives the finished file its name, if it does not have that. */
  constructor(path: string, file: RemoteFile, publish: () => Promise<void> = async () => {}) {
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
        await this.publish()
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
