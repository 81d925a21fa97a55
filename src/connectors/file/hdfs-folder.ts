import { WeirError } from '../../core/errors.ts'
import { parseWebHdfsUrl } from '../../files/webhdfs/address.ts'
import { WebHdfsClient } from '../../files/webhdfs/client.ts'
import { WebHdfsFileWriter } from '../../files/webhdfs/file-writer.ts'
import type { LineFileInput, LineFileOutput, LineFolder } from './line-folder.ts'

/** Text that is gathered before it is encoded and sent, in UTF-16 units. */
const PIECE_LENGTH = 64 * 1024

/** `ready()` turns false when more bytes wait for the network. */
const WAITING_BYTES = 4 << 20

/** Bytes of one read request, which takes about 10 ms even for a few bytes. */
const READ_AHEAD_BYTES = 4 << 20

/** A folder of HDFS, given as an `hdfs://` URL. */
export class HdfsLineFolder implements LineFolder {
  readonly place: string
  private readonly client: WebHdfsClient
  private readonly path: string

  /** Parses the URL. Throws INVALID_ARGUMENT when it is malformed. */
  constructor(place: string) {
    const address = parseWebHdfsUrl(place)
    this.place = place
    this.path = address.path === '/' ? '' : address.path
    this.client = new WebHdfsClient(address)
  }

  async make(): Promise<void> {
    await this.client.makeFolder(this.path || '/')
  }

  async names(): Promise<readonly string[]> {
    return ((await this.client.list(this.path || '/')) ?? []).map(({ name }) => name)
  }

  begin(name: string): LineFileOutput {
    return new HdfsLineOutput(new WebHdfsFileWriter(this.client, this.locate(name)))
  }

  async rename(from: string, to: string): Promise<boolean> {
    const status = await this.client.status(this.locate(from))
    if (status === undefined) return false
    const options = { overwrite: true, bytes: status.bytes }
    await this.client.rename(this.locate(from), this.locate(to), options)
    return true
  }

  async exists(name: string): Promise<boolean> {
    return (await this.client.status(this.locate(name))) !== undefined
  }

  async remove(name: string): Promise<void> {
    await this.client.delete(this.locate(name))
  }

  async close(): Promise<void> {
    this.client.close()
  }

  private locate(name: string): string {
    return `${this.path}/${name}`
  }
}

const encoder = new TextEncoder()

class HdfsLineOutput implements LineFileOutput {
  private readonly writer: WebHdfsFileWriter
  private text = ''
  private waitingBytes = 0
  private tail = Promise.resolve()
  private failure: unknown
  private wakers: (() => void)[] = []

  constructor(writer: WebHdfsFileWriter) {
    this.writer = writer
  }

  write(text: string): void {
    if (this.failure !== undefined) throw this.failure
    this.text += text
    if (this.text.length >= PIECE_LENGTH) this.sendText()
  }

  ready(): boolean {
    return this.waitingBytes < WAITING_BYTES || this.failure !== undefined
  }

  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.wakers.push(resolve))
  }

  async finish(): Promise<void> {
    this.sendText()
    await this.tail
    if (this.failure !== undefined) throw this.failure
    await this.writer.finish()
  }

  async abandon(): Promise<void> {
    this.failure ??= new WeirError('ILLEGAL_STATE', 'the file was abandoned')
    await this.tail
    await this.writer.discard()
  }

  private sendText(): void {
    const piece = encoder.encode(this.text)
    this.text = ''
    this.waitingBytes += piece.length
    this.tail = this.tail.then(() => this.store(piece))
  }

  private async store(piece: Uint8Array): Promise<void> {
    try {
      if (this.failure === undefined) await this.writer.write(piece)
    } catch (error) {
      this.failure = error
    }
    this.waitingBytes -= piece.length
    if (this.ready()) for (const wake of this.wakers.splice(0)) wake()
  }
}

/** Opens a file of HDFS, given as an `hdfs://` URL, for reading; reads some megabytes ahead. */
export async function openHdfsInput(place: string): Promise<LineFileInput> {
  const address = parseWebHdfsUrl(place)
  const client = new WebHdfsClient(address)
  const status = await client.status(address.path)
  if (status === undefined || status.isFolder) {
    client.close()
    const message = `${address.path} is ${status === undefined ? 'not a file' : 'a folder, not a file,'} in HDFS`
    throw new WeirError('FILE_NOT_FOUND', message)
  }
  let start = 0
  let ahead: Uint8Array = new Uint8Array(0)
  return {
    async read(target, position) {
      if (position < start || position >= start + ahead.length) {
        if (position >= status.bytes) return 0
        const wanted = Math.max(target.length, READ_AHEAD_BYTES)
        ahead = await client.read(address.path, position, wanted)
        start = position
      }
      const from = position - start
      const taken = ahead.subarray(from, from + target.length)
      target.set(taken)
      return taken.length
    },
    size: () => Promise.resolve(status.bytes),
    close: async () => client.close(),
  }
}
