import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import type { OutageListener } from '../../core/lifetime/outage.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import type { WebHdfsAddress } from './address.ts'
import { refusalOf, WebHdfsAttemptError } from './failure.ts'
import type { HttpAnswer } from './http-exchange.ts'
import { NameNodePool } from './name-node-pool.ts'
import { notWebHdfs, type Operation, readJson, WebHdfsTransport } from './transport.ts'
import { WebHdfsUpload } from './upload.ts'

/** Options of a `WebHdfsClient`. */
export interface WebHdfsClientOptions {
  /** How long failed requests are repeated, ms. @default 30000 */
  readonly retryForMs?: number
  /** Longest silence of a NameNode or DataNode, in ms. @default the address's, or 20000 */
  readonly timeoutMs?: number
  readonly clock?: Clock
  /** Called while the cluster does not answer, with growing pauses, and when it answers again. */
  readonly onOutage?: OutageListener | undefined
  /** Source of jitter. @default one with a random seed */
  readonly random?: Random
}

/** Longest answer of a DataNode that refuses a read, in bytes. */
const LONGEST_REFUSAL = 64 * 1024

/** A file or folder. */
export interface HdfsFileStatus {
  /** Name within the listed folder; empty when the file itself was requested. */
  readonly name: string
  readonly isFolder: boolean
  /** Length of a file, 0 for a folder. */
  readonly bytes: number
  /** When the file was last closed, or created: ms since 1970 by the NameNode's clock. */
  readonly modifiedMs: number
}

/** Result of a rename. */
export type RenameOutcome =
  | 'renamed'
  /** A file or folder of the new name exists and was not changed. */
  | 'target-exists'

/**
 * Client of WebHDFS: files of a Hadoop cluster over HTTP. Paths are absolute. It repeats requests
 * after temporary failures, and follows a fail-over to the other NameNode. Methods throw FILE_NOT_FOUND, FILE_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED.
 */
export class WebHdfsClient {
  private readonly address: WebHdfsAddress
  private readonly transport: WebHdfsTransport
  private readonly pool: NameNodePool

  constructor(address: WebHdfsAddress, options: WebHdfsClientOptions = {}) {
    const { clock = systemClock } = options
    const random = options.random ?? seededRandom(randomBytes(4).readUInt32LE())
    this.address = address
    const timeoutMs = options.timeoutMs ?? address.timeoutMs ?? 20_000
    this.transport = new WebHdfsTransport(address, timeoutMs)
    const retryForMs = options.retryForMs ?? 30_000
    const { onOutage } = options
    this.pool = new NameNodePool(address.nameNodes, { clock, random, retryForMs, onOutage })
  }

  /** Status of a file or folder; undefined when there is none. */
  async status(path: string): Promise<HdfsFileStatus | undefined> {
    return await ifExists(async () => {
      const answer = await this.run('look at', { method: 'GET', op: 'GETFILESTATUS', path })
      return statusIn(answer, readJson(answer, 'FileStatus'))
    })
  }

  /** Files and folders directly in a folder, in no order; undefined when there is no such folder. */
  async list(path: string): Promise<readonly HdfsFileStatus[] | undefined> {
    return await ifExists(async () => {
      const answer = await this.run('list', { method: 'GET', op: 'LISTSTATUS', path })
      const { FileStatus } = (readJson(answer, 'FileStatuses') ?? {}) as { FileStatus?: unknown }
      if (!Array.isArray(FileStatus)) throw notWebHdfs(answer)
      return FileStatus.map((raw: unknown) => statusIn(answer, raw))
    })
  }

  /** Creates a folder with all its parents, if it does not exist. */
  async makeFolder(path: string): Promise<void> {
    await this.run('make the folder', { method: 'PUT', op: 'MKDIRS', path })
  }

  /** Deletes a file, or a folder with its content; a missing one is ignored. */
  async delete(path: string): Promise<void> {
    const parameters = { recursive: 'true' }
    await this.run('delete', { method: 'DELETE', op: 'DELETE', path, parameters })
  }

  /**
   * Renames a file, atomically. `overwrite` replaces a file of the new name; without it, only one of
   * several callers gets the name. `bytes` is the file's length: after a lost answer, a file of that
   * length under the new name, and none under the old one, prove that the rename succeeded. Throws
   * FILE_NOT_FOUND for a missing source.
   */
  async rename(
    from: string,
    to: string,
    options: { readonly overwrite: boolean; readonly bytes: number },
  ): Promise<RenameOutcome> {
    const renameoptions = options.overwrite ? 'OVERWRITE' : 'NONE'
    const parameters = { destination: to, renameoptions }
    const operation = { method: 'PUT', op: 'RENAME', path: from, parameters } as const
    const target = { what: `rename ${from} to ${to}`, place: from }
    return await this.pool.attempt(target, async ({ nameNode, doubtful }) => {
      const answer = await this.transport.send(nameNode, operation)
      if (answer.status === 200 && !isFalse(answer)) return 'renamed'
      const failure = refusalOf('name-node', answer)
      // A gateway that ignores the option answers "false", without the reason.
      const exception = failure.kind === 'refused' ? failure.exception : ''
      if (exception === 'FileAlreadyExistsException') return 'target-exists'
      if (answer.status === 200 || (doubtful && exception === 'FileNotFoundException')) {
        const [source, renamed] = await Promise.all([this.status(from), this.status(to)])
        if (doubtful && source === undefined && renamed?.bytes === options.bytes) {
          return 'renamed'
        }
        if (source !== undefined && renamed !== undefined) return 'target-exists'
      }
      throw new WebHdfsAttemptError(failure)
    })
  }

  /**
   * Writes a whole file from memory and replaces one of that name. After a failure the whole file is
   * written again, so no reader may use the name yet. Missing folders are created.
   */
  async writeFile(path: string, bytes: Uint8Array): Promise<void> {
    await this.pool.attempt({ what: `write ${path}`, place: path }, async (attempt) => {
      const url = await this.transport.locateData(attempt, this.creationOf(path))
      await this.transport.sendData({ method: 'PUT', url, body: bytes }, 201)
    })
  }

  /**
   * Begins a file whose bytes stream to a DataNode, and replaces one of that name. After a failure the
   * search for a DataNode is repeated, but bytes are sent only once.
   */
  async openUpload(path: string): Promise<WebHdfsUpload> {
    // A standby redirects too, and then the upload would fail only after bytes were sent.
    if (this.pool.isPair) await this.status('/')
    return await this.pool.attempt({ what: `write ${path}`, place: path }, async (attempt) => {
      const { transport } = this
      const url = await transport.locateData(attempt, this.creationOf(path))
      return new WebHdfsUpload(path, await transport.openDataStream(url), transport)
    })
  }

  /**
   * Reads `length` bytes from `start`, by default up to the end; fewer when the file ends before. The
   * bytes are held in memory.
   */
  async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0)
    const parameters: Record<string, string> = { offset: String(start) }
    if (length !== undefined) parameters['length'] = String(length)
    const operation = { method: 'GET', op: 'OPEN', path, parameters } as const
    const target = { what: `read ${path}`, place: path }
    return await this.pool.attempt(target, async (attempt) => {
      try {
        const url = await this.transport.locateData(attempt, operation)
        const mostBytes = Math.max(length ?? Number.POSITIVE_INFINITY, LONGEST_REFUSAL)
        return (await this.transport.sendData({ method: 'GET', url, mostBytes }, 200)).body
      } catch (error) {
        if (start > 0 && isRefusal(error) && (await this.endsBefore(path, start))) {
          return new Uint8Array(0)
        }
        throw error
      }
    })
  }

  /** Closes all connections. */
  close(): void {
    this.transport.close()
  }

  /** Whether a file ends at `start` or before. WebHDFS rejects reads from there, like other errors. */
  private async endsBefore(path: string, start: number): Promise<boolean> {
    const status = await this.status(path)
    return status !== undefined && !status.isFolder && status.bytes <= start
  }

  private creationOf(path: string): Operation {
    const { replication } = this.address
    const parameters: Record<string, string> = { overwrite: 'true' }
    if (replication !== undefined) parameters['replication'] = String(replication)
    return { method: 'PUT', op: 'CREATE', path, parameters }
  }

  /** Runs an operation that the NameNode itself answers, with retries. `verb`: for messages. */
  private async run(verb: string, operation: Operation): Promise<HttpAnswer> {
    const { path } = operation
    const target = { what: `${verb} ${path}`, place: path }
    return await this.pool.attempt(target, async ({ nameNode }) => {
      const answer = await this.transport.send(nameNode, operation)
      if (answer.status === 200) return answer
      throw new WebHdfsAttemptError(refusalOf('name-node', answer))
    })
  }
}

interface RawStatus {
  readonly pathSuffix: string
  readonly type: string
  readonly length: number
  readonly modificationTime: number
}

function isStatus(raw: unknown): raw is RawStatus {
  const { pathSuffix, type, length, modificationTime } = (raw ?? {}) as Partial<RawStatus>
  return (
    typeof pathSuffix === 'string' &&
    typeof type === 'string' &&
    typeof length === 'number' &&
    typeof modificationTime === 'number'
  )
}

/** A status in an answer. Throws CONNECTOR_FAILED if it is none. */
function statusIn(answer: HttpAnswer, raw: unknown): HdfsFileStatus {
  if (!isStatus(raw)) throw notWebHdfs(answer)
  return {
    name: raw.pathSuffix,
    isFolder: raw.type === 'DIRECTORY',
    bytes: raw.length,
    modifiedMs: raw.modificationTime,
  }
}

function isFalse(answer: HttpAnswer): boolean {
  return answer.body.length > 0 && readJson(answer, 'boolean') === false
}

async function ifExists<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    if (isWeirError(error, 'FILE_NOT_FOUND')) return undefined
    throw error
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof WebHdfsAttemptError && error.failure.kind === 'refused'
}
