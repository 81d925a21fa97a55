import { randomUUID } from 'node:crypto'
import { WeirError } from '../../core/errors.ts'
import type { S3BucketClient, S3Part } from './client.ts'

/** Default of the bytes of a part; S3 takes parts from 5 MiB on, and all but the last are equal for servers that ask it. */
const PART_BYTES = 8 << 20
/** Parts on their way at a time: with the one that is filled, 32 MiB for each large file that is written. */
const PARTS_AT_ONCE = 3
/** Most parts of an object. */
const MOST_PARTS = 10_000
const FIRST_BYTES = 4096

/**
 * Writes one object to S3. Up to `partBytes` are kept and sent as a whole by `finish`; a longer file goes in parts, of
 * which each can be sent again. The object is there when `finish` resolves, and not before. Methods throw as those of
 * `S3BucketClient`.
 */
export class S3FileWriter {
  private readonly client: S3BucketClient
  private readonly key: string
  private readonly partBytes: number
  private readonly writeId = randomUUID()
  private buffer = new Uint8Array(0)
  private used = 0
  private written = 0
  private uploadId: string | undefined
  private readonly parts: Promise<S3Part>[] = []
  private readonly onTheirWay = new Set<Promise<S3Part>>()
  private failure: { readonly error: unknown } | undefined
  private discarded = false

  /** Sends nothing yet. */
  constructor(client: S3BucketClient, key: string, partBytes = PART_BYTES) {
    this.client = client
    this.key = key
    this.partBytes = partBytes
  }

  /** Bytes written so far. */
  get bytes(): number {
    return this.written
  }

  /** Appends a copy of a piece. Resolves when the writer can take more. */
  async write(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length; ) {
      if (this.used === this.partBytes) await this.sendPart()
      if (this.used === this.buffer.length) this.makeRoom(piece.length - at)
      const taken = piece.subarray(at, at + this.buffer.length - this.used)
      this.buffer.set(taken, this.used)
      this.used += taken.length
      this.written += taken.length
      at += taken.length
    }
  }

  /** Sends the rest. Resolves when S3 has the whole object. */
  async finish(): Promise<void> {
    if (this.uploadId === undefined) {
      const whole = this.buffer.subarray(0, this.used)
      this.buffer = new Uint8Array(0)
      await this.client.put(this.key, whole)
      return
    }
    await this.sendPart()
    const parts = await Promise.all(this.parts)
    const upload = { key: this.key, id: this.uploadId }
    await this.client.completeUpload(upload, this.writeId, parts)
  }

  /** Removes the parts that were sent. If that fails, they stay until a later process removes them. */
  async discard(): Promise<void> {
    this.discarded = true
    this.buffer = new Uint8Array(0)
    this.used = 0
    if (this.uploadId === undefined) return
    // A part that comes after the end of its upload stays.
    await Promise.allSettled(this.parts)
    const upload = { key: this.key, id: this.uploadId }
    await this.client.abortUpload(upload).catch(() => undefined)
  }

  /** Sends the buffer as a part; resolves when there is room for a further one. */
  private async sendPart(): Promise<void> {
    this.uploadId ??= await this.client.beginUpload(this.key, this.writeId)
    while (this.onTheirWay.size >= PARTS_AT_ONCE) await Promise.race(this.onTheirWay)
    if (this.failure !== undefined) throw this.failure.error
    const number = this.parts.length + 1
    if (number > MOST_PARTS) {
      const most = Math.floor((MOST_PARTS * this.partBytes) / 2 ** 30)
      throw new WeirError(
        'CONNECTOR_FAILED',
        `${this.key} is longer than ${most} GiB, the most that S3 takes in parts of ${this.partBytes} bytes; more slots make smaller files`,
      )
    }
    const bytes = this.buffer.subarray(0, this.used)
    this.buffer = new Uint8Array(this.partBytes)
    this.used = 0
    const part = this.client.sendPart({ key: this.key, id: this.uploadId }, number, bytes, () =>
      this.requireWanted(),
    )
    this.parts.push(part)
    this.onTheirWay.add(part)
    part.then(
      () => this.onTheirWay.delete(part),
      (error: unknown) => {
        this.onTheirWay.delete(part)
        this.failure ??= { error }
      },
    )
  }

  private requireWanted(): void {
    if (this.discarded) {
      throw new WeirError('ILLEGAL_STATE', `the upload of ${this.key} was aborted`)
    }
  }

  /** The buffer starts small and grows, because most files of a checkpoint are small. */
  private makeRoom(wanted: number): void {
    const size = Math.max(FIRST_BYTES, 2 * this.used, this.used + wanted)
    const grown = new Uint8Array(Math.min(this.partBytes, size))
    grown.set(this.buffer)
    this.buffer = grown
  }
}
