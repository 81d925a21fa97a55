import { randomBytes, randomUUID } from 'node:crypto'
import type { HeadObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import type { OutageListener } from '../../core/lifetime/outage.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import { type S3Address, s3HostOf } from './address.ts'
import { type S3Attempt, S3Attempts } from './attempts.ts'
import { readBody } from './body.ts'
import { Deadline } from './deadline.ts'
import { failureOf } from './failure.ts'
import { loadS3Sdk, openS3Client, type S3Credentials, type S3Sdk } from './sdk.ts'

/** Options of an `S3BucketClient`. */
export interface S3BucketClientOptions {
  /** How long failed requests are repeated, ms. @default 30000 */
  readonly retryForMs?: number
  /** Longest silence of the server, in ms. @default the address's, or 20000 */
  readonly timeoutMs?: number
  readonly clock?: Clock
  /** Called while the server does not answer, with growing pauses, and when it answers again. */
  readonly onOutage?: OutageListener | undefined
  /** Source of jitter. @default one with a random seed */
  readonly random?: Random
  /** Credentials. @default those that the library finds: environment, shared files, web identity, the machine's role */
  readonly credentials?: S3Credentials
}

/** An object of a listing. */
export interface S3Object {
  readonly key: string
  readonly bytes: number
}

/** A part of an upload, as the server knows it. */
export interface S3Part {
  /** From 1. */
  readonly number: number
  readonly etag: string
}

/** An upload that is not complete. */
export interface S3Upload {
  readonly key: string
  readonly id: string
  /** When it began, ms since 1970 by the server's clock. */
  readonly beganMs: number
}

/** Outcome of a write that must not overwrite. */
export type S3CreateOutcome = 'created' | 'already-exists'

/** Most keys that one request deletes. */
const DELETED_AT_ONCE = 1000
/** Name of the metadata that says which request wrote an object: `x-amz-meta-weir-write`. */
const WRITE_NAME = 'weir-write'

type SendOptions = { readonly abortSignal: AbortSignal }
type Send<T> = (library: {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly options: SendOptions
  readonly deadline: Deadline
}) => Promise<T>

/**
 * Client of a bucket of S3, over the library of AWS, which is loaded at the first request. Requests are repeated after
 * temporary failures, each with a deadline. Methods throw FILE_NOT_FOUND, INVALID_ARGUMENT for a bucket that is not there
 * or is elsewhere, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED, and UNSUPPORTED where the library is not installed.
 */
export class S3BucketClient {
  private readonly address: S3Address
  private readonly clock: Clock
  private readonly timeoutMs: number
  private readonly credentials: S3Credentials | undefined
  private readonly attempts: S3Attempts
  private library: Promise<{ readonly sdk: S3Sdk; readonly client: S3Client }> | undefined

  /** Sends no request yet. */
  constructor(address: S3Address, options: S3BucketClientOptions = {}) {
    const { clock = systemClock, onOutage } = options
    this.address = address
    this.clock = clock
    this.timeoutMs = options.timeoutMs ?? address.timeoutMs ?? 20_000
    this.credentials = options.credentials
    this.attempts = new S3Attempts({
      bucket: address.bucket,
      // Without an endpoint the library decides, also by the environment.
      server: address.endpoint === undefined ? `the bucket ${address.bucket}` : s3HostOf(address),
      clock,
      random: options.random ?? seededRandom(randomBytes(4).readUInt32LE()),
      retryForMs: options.retryForMs ?? 30_000,
      onOutage,
    })
  }

  /** Time by the server's clock, as far as the library has seen that it differs, ms since 1970. */
  async serverMs(): Promise<number> {
    const { client } = await this.loaded()
    return this.clock.nowMs() + client.config.systemClockOffset
  }

  /** Writes an object as a whole, and replaces one of that key. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.run(`write ${key}`, key, bytes.length, async ({ sdk, client, options }) => {
      const input = { Bucket: this.address.bucket, Key: key, Body: bytes }
      await client.send(new sdk.PutObjectCommand(input), options)
    })
  }

  /**
   * Writes an object unless there is one of that key: a conditional write, which one of several callers wins. After a
   * lost answer, the metadata of the object say whose it is.
   */
  async create(key: string, bytes: Uint8Array): Promise<S3CreateOutcome> {
    const write = randomUUID()
    const send: Send<S3CreateOutcome> = async ({ sdk, client, options }) => {
      const input = { Bucket: this.address.bucket, Key: key, Body: bytes, IfNoneMatch: '*' }
      const Metadata = { [WRITE_NAME]: write }
      try {
        await client.send(new sdk.PutObjectCommand({ ...input, Metadata }), options)
        return 'created'
      } catch (error) {
        if (failureOf(error).status !== 412) throw error
        return 'already-exists'
      }
    }
    return await this.run(
      `create ${key}`,
      key,
      bytes.length,
      send,
      async ({ doubtful }, outcome) =>
        doubtful && outcome === 'already-exists' && (await this.isWrittenBy(key, write))
          ? 'created'
          : outcome,
    )
  }

  /** Bytes of an object; undefined when there is none. */
  async bytesOf(key: string): Promise<number | undefined> {
    return (await this.head(key))?.ContentLength
  }

  /**
   * Reads `length` bytes from `start`, by default up to the end; fewer when the object ends before. `into`, of at least
   * `length` bytes, takes them.
   */
  async read(key: string, start = 0, length?: number, into?: Uint8Array): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0)
    const isPart = start > 0 || length !== undefined
    const range = `bytes=${start}-${length === undefined ? '' : start + length - 1}`
    const where = { Bucket: this.address.bucket, Key: key, ...(isPart ? { Range: range } : {}) }
    return await this.run(`read ${key}`, key, 0, async ({ sdk, client, options, deadline }) => {
      try {
        const answer = await client.send(new sdk.GetObjectCommand(where), options)
        const { ContentLength: bytes, ContentRange, Body } = answer
        const most = length ?? Number.POSITIVE_INFINITY
        deadline.allow(bytes ?? length ?? 0)
        if (ContentRange === undefined && (start > 0 || (bytes ?? 0) > most)) {
          destroyBody(Body)
          throw new WeirError(
            'UNSUPPORTED',
            `the server of ${key} ignores the range of a read; Weir needs a server of S3 that reads by range`,
          )
        }
        return await readBody(Body, { bytes, most }, into)
      } catch (error) {
        const { status, code } = failureOf(error)
        // The object ends before `start`, or is empty.
        if (status === 416 || code === 'InvalidRange') return new Uint8Array(0)
        throw error
      }
    })
  }

  /** All objects whose keys begin with `prefix`, by key. */
  async list(prefix: string): Promise<S3Object[]> {
    const found: S3Object[] = []
    let token: string | undefined
    do {
      const from = token
      const page = await this.run(`list ${prefix}`, prefix, 0, ({ sdk, client, options }) => {
        const page = from === undefined ? {} : { ContinuationToken: from }
        const input = { Bucket: this.address.bucket, Prefix: prefix, ...page }
        return client.send(new sdk.ListObjectsV2Command(input), options)
      })
      for (const { Key, Size } of page.Contents ?? []) {
        if (Key !== undefined) found.push({ key: Key, bytes: Size ?? 0 })
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined
    } while (token !== undefined)
    return found
  }

  /** Deletes an object; a missing one is ignored. */
  async delete(key: string): Promise<void> {
    await this.run(`delete ${key}`, key, 0, async ({ sdk, client, options }) => {
      const input = { Bucket: this.address.bucket, Key: key }
      await client.send(new sdk.DeleteObjectCommand(input), options)
    })
  }

  /** Deletes objects, in their order, up to 1,000 with one request. Missing ones are ignored. */
  async deleteAll(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += DELETED_AT_ONCE) {
      const some = keys.slice(at, at + DELETED_AT_ONCE)
      const what = `delete ${some.length} objects from ${some[0]} on`
      await this.run(what, some[0]!, 0, async ({ sdk, client, options }) => {
        const Delete = { Objects: some.map((Key) => ({ Key })), Quiet: true }
        const input = { Bucket: this.address.bucket, Delete }
        const { Errors = [] } = await client.send(new sdk.DeleteObjectsCommand(input), options)
        const [first] = Errors.filter(({ Code }) => Code !== 'NoSuchKey')
        if (first === undefined) return
        const message = `${first.Key ?? some[0]}: ${first.Message ?? first.Code}`
        const httpStatusCode = first.Code === 'AccessDenied' ? 403 : 500
        throw Object.assign(new Error(message), {
          name: first.Code ?? 'InternalError',
          $metadata: { httpStatusCode },
        })
      })
    }
  }

  /** Begins an object that comes in parts. `write` says who wrote it, for `completeUpload`. */
  async beginUpload(key: string, write: string): Promise<string> {
    return await this.run(`begin ${key}`, key, 0, async ({ sdk, client, options }) => {
      const Metadata = { [WRITE_NAME]: write }
      const input = { Bucket: this.address.bucket, Key: key, Metadata }
      const { UploadId } = await client.send(new sdk.CreateMultipartUploadCommand(input), options)
      if (UploadId !== undefined) return UploadId
      throw new WeirError('CONNECTOR_FAILED', `S3 began an upload of ${key} without an id`)
    })
  }

  /** Sends a part. `wanted`: throws what it throws before each attempt. */
  async sendPart(
    upload: Pick<S3Upload, 'key' | 'id'>,
    number: number,
    bytes: Uint8Array,
    requireWanted: () => void,
  ): Promise<S3Part> {
    const { key, id } = upload
    const what = `write part ${number} of ${key}`
    return await this.run(what, key, bytes.length, async ({ sdk, client, options }) => {
      requireWanted()
      const place = { Bucket: this.address.bucket, Key: key, UploadId: id, PartNumber: number }
      const command = new sdk.UploadPartCommand({ ...place, Body: bytes })
      const { ETag } = await client.send(command, options)
      if (ETag !== undefined) return { number, etag: ETag }
      throw new WeirError('CONNECTOR_FAILED', `S3 took part ${number} of ${key} without an ETag`)
    })
  }

  /** Makes an object of its parts, and replaces one of that key. */
  async completeUpload(
    { key, id }: Pick<S3Upload, 'key' | 'id'>,
    write: string,
    parts: readonly S3Part[],
  ): Promise<void> {
    const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }))
    const input = { Bucket: this.address.bucket, Key: key, UploadId: id }
    await this.attempts.repeat(`complete ${key}`, key, async ({ doubtful }) => {
      try {
        await this.once(Parts.length, ({ sdk, client, options }) => {
          const command = new sdk.CompleteMultipartUploadCommand({
            ...input,
            MultipartUpload: { Parts },
          })
          return client.send(command, options)
        })
      } catch (error) {
        // The upload is gone when an earlier attempt, whose answer was lost, has completed it.
        const isGone = doubtful && failureOf(error).code === 'NoSuchUpload'
        if (!isGone || !(await this.isWrittenBy(key, write))) throw error
      }
    })
  }

  /** Removes an unfinished upload and its parts; a missing one is ignored. */
  async abortUpload({ key, id }: Pick<S3Upload, 'key' | 'id'>): Promise<void> {
    const input = { Bucket: this.address.bucket, Key: key, UploadId: id }
    await this.run(`remove the unfinished upload of ${key}`, key, 0, async (library) => {
      try {
        const command = new library.sdk.AbortMultipartUploadCommand(input)
        await library.client.send(command, library.options)
      } catch (error) {
        if (failureOf(error).code !== 'NoSuchUpload') throw error
      }
    })
  }

  /** The unfinished uploads of keys that begin with `prefix`. */
  async uploads(prefix: string): Promise<S3Upload[]> {
    const found: S3Upload[] = []
    let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
    while (marker !== undefined) {
      const from: { KeyMarker?: string; UploadIdMarker?: string } = marker
      const what = `list the unfinished uploads of ${prefix}`
      const page = await this.run(what, prefix, 0, ({ sdk, client, options }) => {
        const input = { Bucket: this.address.bucket, Prefix: prefix, ...from }
        return client.send(new sdk.ListMultipartUploadsCommand(input), options)
      })
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Key === undefined || UploadId === undefined || Initiated === undefined) continue
        // Some servers ignore the prefix.
        if (Key.startsWith(prefix)) found.push({ key: Key, id: UploadId, beganMs: +Initiated })
      }
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
      marker =
        page.IsTruncated === true && KeyMarker !== undefined
          ? { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
          : undefined
    }
    return found
  }

  /** Closes all connections. */
  close(): void {
    void this.library?.then(
      ({ client }) => client.destroy(),
      () => undefined,
    )
  }

  /** Loads the library. Throws UNSUPPORTED where it is not installed. */
  async loaded(): Promise<{ readonly sdk: S3Sdk; readonly client: S3Client }> {
    const { address, timeoutMs, credentials } = this
    this.library ??= loadS3Sdk().then(async (sdk) => ({
      sdk,
      client: await openS3Client(sdk, address, { timeoutMs, credentials }),
    }))
    return await this.library
  }

  private async isWrittenBy(key: string, write: string): Promise<boolean> {
    return (await this.head(key))?.Metadata?.[WRITE_NAME] === write
  }

  private async head(key: string): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.run(`look at ${key}`, key, 0, ({ sdk, client, options }) => {
        const input = { Bucket: this.address.bucket, Key: key }
        return client.send(new sdk.HeadObjectCommand(input), options)
      })
    } catch (error) {
      if (isWeirError(error, 'FILE_NOT_FOUND')) return undefined
      throw error
    }
  }

  /** Sends a request with retries. `bytes` is what it sends; `settle` changes the outcome of an attempt. */
  private async run<T>(
    what: string,
    key: string,
    bytes: number,
    send: Send<T>,
    settle: (attempt: S3Attempt, outcome: T) => Promise<T> = async (_, outcome) => outcome,
  ): Promise<T> {
    return await this.attempts.repeat(what, key, async (attempt) =>
      settle(attempt, await this.once(bytes, send)),
    )
  }

  /** Sends a request once, within its deadline. */
  private async once<T>(bytes: number, send: Send<T>): Promise<T> {
    const library = await this.loaded()
    const deadline = new Deadline(this.clock, this.timeoutMs, bytes)
    try {
      const options = { abortSignal: deadline.signal }
      return await deadline.limit(send({ ...library, options, deadline }))
    } finally {
      deadline.end()
    }
  }
}

function destroyBody(body: unknown): void {
  if (typeof body === 'object' && body !== null && 'destroy' in body) {
    const { destroy } = body
    if (typeof destroy === 'function') destroy.call(body)
  }
}
