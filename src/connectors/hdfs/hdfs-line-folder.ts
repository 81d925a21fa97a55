import { WeirError } from '../../core/errors.ts'
import { parseWebHdfsUrl } from '../../webhdfs/webhdfs-address.ts'
import { WebHdfsClient } from '../../webhdfs/webhdfs-client.ts'
import { WebHdfsFileWriter } from '../../webhdfs/webhdfs-file-writer.ts'
import type { LineFileInput, LineFileOutput, LineFolder } from '../file/line-folder.ts'

/** Text gathered before it is encoded and handed on, in UTF-16 units. */
const PIECE_LENGTH = 64 * 1024

/** Bytes that may wait for the network until `ready()` turns false. */
const WAITING_BYTES = 4 << 20

/** Bytes asked for at once: a request takes about 10 ms however little it brings. */
const READ_AHEAD_BYTES = 4 << 20

/** A folder of HDFS, given as an `hdfs://` URL. */
export class HdfsLineFolder implements LineFolder {
  readonly place: string
  private readonly client: WebHdfsClient
  private readonly path: string

  /** Throws INVALID_ARGUMENT for a malformed URL. */
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
  private waiting = 0
  private tail = Promise.resolve()
  private failure: unknown
  private wakers: (() => void)[] = []

  constructor(writer: WebHdfsFileWriter) {
    this.writer = writer
  }

  write(text: string): void {
    if (this.failure !== undefined) throw this.failure
    this.text += text
    if (this.text.length >= PIECE_LENGTH) this.handOn()
  }

  ready(): boolean {
    return this.waiting < WAITING_BYTES || this.failure !== undefined
  }

  whenReady(): Promise<void> {
    if (this.ready()) return Promise.resolve()
    return new Promise((resolve) => this.wakers.push(resolve))
  }

  async finish(): Promise<void> {
    this.handOn()
    await this.tail
    if (this.failure !== undefined) throw this.failure
    await this.writer.finish()
  }

  async abandon(): Promise<void> {
    this.failure ??= new WeirError('ILLEGAL_STATE', 'the file was abandoned')
    await this.tail
    await this.writer.discard()
  }

  private handOn(): void {
    const piece = encoder.encode(this.text)
    this.text = ''
    this.waiting += piece.length
    this.tail = this.tail.then(() => this.store(piece))
  }

  private async store(piece: Uint8Array): Promise<void> {
    try {
      if (this.failure === undefined) await this.writer.write(piece)
    } catch (error) {
      this.failure = error
    }
    this.waiting -= piece.length
    if (this.ready()) for (const wake of this.wakers.splice(0)) wake()
  }
}

/** Opens a file of HDFS, given as an `hdfs://` URL, for reading, some megabytes ahead. */
export async function openHdfsInput(place: string): Promise<LineFileInput> {
  const address = parseWebHdfsUrl(place)
  const client = new WebHdfsClient(address)
  const status = await client.status(address.path)
  if (status === undefined || status.isFolder) {
    client.close()
    const message = `${address.path} is no file of HDFS${status === undefined ? '' : ' but a folder'}`
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
    close: async () => client.close(),
  }
}
