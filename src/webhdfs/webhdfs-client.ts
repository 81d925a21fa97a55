import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { type Clock, systemClock } from '../core/clock.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import { type Random, seededRandom } from '../core/random.ts'
import {
  exchange,
  giveUp,
  type HttpAnswer,
  loadHttp,
  noAnswer,
  openRequest,
} from './http-exchange.ts'
import { type Attempt, NameNodePool } from './name-node-pool.ts'
import type { NameNodeAddress, WebHdfsAddress } from './webhdfs-address.ts'
import { refusalOf, WebHdfsAttemptError } from './webhdfs-failure.ts'
import { WebHdfsUpload } from './webhdfs-upload.ts'

/** How a client talks. */
export interface WebHdfsClientOptions {
  /** Failed requests are repeated for so long, in milliseconds. @default 30000 */
  readonly retryForMs?: number
  /** Longest silence of a NameNode or DataNode, in ms. @default the address's, or 20000 */
  readonly timeoutMs?: number
  readonly clock?: Clock
  /** Source of jitter. @default one with a seed of its own */
  readonly random?: Random
}

/** A file or folder. */
export interface HdfsFileStatus {
  /** Name within the folder that was listed; empty for a file that was asked for itself. */
  readonly name: string
  readonly isFolder: boolean
  /** Length of a file, 0 for a folder. */
  readonly bytes: number
  /** When a file was closed last, or made, in milliseconds since 1970 by the NameNode's clock. */
  readonly modifiedMs: number
}

/** What became of a rename. */
export type RenameOutcome =
  | 'renamed'
  /** There is a file or folder of the new name, which stays as it was. */
  | 'target-exists'

/** Connections kept to one server. */
const MAX_SOCKETS = 16

type Parameters = Readonly<Record<string, string>>

interface Operation {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly op: string
  readonly path: string
  readonly parameters?: Parameters
}

/**
 * A client of WebHDFS: files of a Hadoop cluster over HTTP. Paths are absolute. Repeats what failed
 * for a passing reason, follows a fail-over to the other NameNode, and sends bytes once only.
 * Methods throw FILE_NOT_FOUND, FILE_EXISTS, PERMISSION_DENIED, UNAUTHENTICATED, CONNECTOR_FAILED.
 */
export class WebHdfsClient {
  private readonly address: WebHdfsAddress
  private readonly agent = new (loadHttp().Agent)({ keepAlive: true, maxSockets: MAX_SOCKETS })
  private readonly timeoutMs: number
  private readonly pool: NameNodePool

  constructor(address: WebHdfsAddress, options: WebHdfsClientOptions = {}) {
    const { clock = systemClock } = options
    const random = options.random ?? seededRandom(randomBytes(4).readUInt32LE())
    this.address = address
    this.timeoutMs = options.timeoutMs ?? address.timeoutMs ?? 20_000
    const retryForMs = options.retryForMs ?? 30_000
    this.pool = new NameNodePool(address.nameNodes, { clock, random, retryForMs })
  }

  /** A file's or folder's status; undefined when there is none. */
  async status(path: string): Promise<HdfsFileStatus | undefined> {
    return await ifThere(async () => {
      const answer = await this.ask('look at', { method: 'GET', op: 'GETFILESTATUS', path })
      return toStatus(readJson(answer, 'FileStatus') as RawStatus)
    })
  }

  /** What lies directly in a folder, in no order; undefined when there is none. */
  async list(path: string): Promise<readonly HdfsFileStatus[] | undefined> {
    return await ifThere(async () => {
      const answer = await this.ask('list', { method: 'GET', op: 'LISTSTATUS', path })
      const { FileStatus } = readJson(answer, 'FileStatuses') as { FileStatus: RawStatus[] }
      return FileStatus.map(toStatus)
    })
  }

  /** Makes a folder with all its parents; one that exists is left. */
  async makeFolder(path: string): Promise<void> {
    await this.ask('make the folder', { method: 'PUT', op: 'MKDIRS', path })
  }

  /** Deletes a file or folder with all it holds; a missing one is ignored. */
  async delete(path: string): Promise<void> {
    const parameters = { recursive: 'true' }
    await this.ask('delete', { method: 'DELETE', op: 'DELETE', path, parameters })
  }

  /**
   * Gives a file another name, atomically. `overwrite` replaces a file of that name; without it the
   * name is given to one caller only. `bytes` is the file's length: should an answer get lost, a
   * file of that length under the new name, and none under the old, is the proof that it was done.
   * Throws FILE_NOT_FOUND for a missing source.
   */
  async rename(
    from: string,
    to: string,
    options: { readonly overwrite: boolean; readonly bytes: number },
  ): Promise<RenameOutcome> {
    const renameoptions = options.overwrite ? 'OVERWRITE' : 'NONE'
    const parameters = { destination: to, renameoptions }
    const operation = { method: 'PUT', op: 'RENAME', path: from, parameters } as const
    return await this.pool.attempt(`rename ${from} to ${to}`, from, async (facts) => {
      const answer = await this.send(facts.nameNode, operation)
      if (answer.status === 200 && !saysFalse(answer)) return 'renamed'
      const failure = refusalOf('name-node', answer.status, answer.body)
      // A gateway that ignores the option answers "false", which does not tell why.
      const exception = failure.kind === 'refused' ? failure.exception : ''
      if (exception === 'FileAlreadyExistsException') return 'target-exists'
      if (answer.status === 200 || (facts.doubtful && exception === 'FileNotFoundException')) {
        const [source, target] = await Promise.all([this.status(from), this.status(to)])
        if (facts.doubtful && source === undefined && target?.bytes === options.bytes) {
          return 'renamed'
        }
        if (source !== undefined && target !== undefined) return 'target-exists'
      }
      throw new WebHdfsAttemptError(failure)
    })
  }

  /**
   * Writes a whole file from memory, replacing one of that name: repeated as a whole when it fails,
   * so no reader may know the name yet. Missing folders are made.
   */
  async writeFile(path: string, bytes: Uint8Array): Promise<void> {
    await this.pool.attempt(`write ${path}`, path, async (facts) => {
      const url = await this.locateData(facts, this.creationOf(path))
      const request = { party: 'data-node', method: 'PUT', agent: this.agent } as const
      const answer = await exchange({ ...request, url, timeoutMs: this.timeoutMs, body: bytes })
      if (answer.status !== 201) {
        throw new WebHdfsAttemptError(refusalOf('data-node', answer.status, answer.body))
      }
    })
  }

  /**
   * Begins a file whose bytes stream to a DataNode, replacing one of that name. Finding a DataNode is
   * repeated when it fails, sending bytes is not.
   */
  async openUpload(path: string): Promise<WebHdfsUpload> {
    // A standby redirects as well, and the upload would fail only after bytes were sent.
    if (this.pool.isPair) await this.status('/')
    return await this.pool.attempt(`write ${path}`, path, async (facts) => {
      const url = await this.locateData(facts, this.creationOf(path))
      const { agent, timeoutMs } = this
      const options = { party: 'data-node', method: 'PUT', url, agent, timeoutMs } as const
      const outgoing = openRequest(options, undefined)
      outgoing.flushHeaders()
      outgoing.setTimeout(timeoutMs, () => giveUp(outgoing, agent, timeoutMs))
      try {
        const [socket] = (await once(outgoing, 'socket')) as [Socket]
        if (socket.connecting) await once(socket, 'connect')
      } catch (error) {
        throw noAnswer('data-node', outgoing, error)
      }
      outgoing.removeAllListeners('timeout').setTimeout(0)
      return new WebHdfsUpload(path, outgoing, agent, timeoutMs)
    })
  }

  /**
   * Reads `length` bytes from `start`, to the end without a length; fewer come back when the file
   * ends before. The bytes are held in memory.
   */
  async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    if (length === 0) return new Uint8Array(0)
    const parameters: Record<string, string> = { offset: String(start) }
    if (length !== undefined) parameters['length'] = String(length)
    const operation = { method: 'GET', op: 'OPEN', path, parameters } as const
    return await this.pool.attempt(`read ${path}`, path, async (facts) => {
      try {
        return await this.readOnce(facts, operation)
      } catch (error) {
        if (start > 0 && isRefusal(error) && (await this.endsBefore(path, start))) {
          return new Uint8Array(0)
        }
        throw error
      }
    })
  }

  /** Cuts the connections that are open. */
  close(): void {
    this.agent.destroy()
  }

  private async readOnce(facts: Attempt, operation: Operation): Promise<Uint8Array> {
    const url = await this.locateData(facts, operation)
    const request = { party: 'data-node', method: 'GET', agent: this.agent } as const
    const answer = await exchange({ ...request, url, timeoutMs: this.timeoutMs })
    if (answer.status === 200) return answer.body
    throw new WebHdfsAttemptError(refusalOf('data-node', answer.status, answer.body))
  }

  /** WebHDFS refuses to read from beyond the end, as it refuses much else. */
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

  /** Step one of reading and writing: the DataNode's URL, in the body or as a redirect. */
  private async locateData(facts: Attempt, operation: Operation): Promise<string> {
    const parameters: Record<string, string> = { ...operation.parameters, noredirect: 'true' }
    if (facts.avoid !== undefined) parameters['excludedatanodes'] = facts.avoid
    const answer = await this.send(facts.nameNode, { ...operation, parameters })
    const location =
      answer.status === 200 ? (readJson(answer, 'Location') as string) : answer.location
    if (location === undefined) {
      throw new WebHdfsAttemptError(refusalOf('name-node', answer.status, answer.body))
    }
    if (location.startsWith('http://')) return location
    throw new WeirError(
      'UNSUPPORTED',
      'this HDFS sends its clients to https; Weir speaks WebHDFS over http only',
      { details: { place: operation.path } },
    )
  }

  /** An operation that the NameNode answers itself, with retries. */
  private async ask(what: string, operation: Operation): Promise<HttpAnswer> {
    const { path } = operation
    return await this.pool.attempt(`${what} ${path}`, path, async ({ nameNode }) => {
      const answer = await this.send(nameNode, operation)
      if (answer.status === 200) return answer
      throw new WebHdfsAttemptError(refusalOf('name-node', answer.status, answer.body))
    })
  }

  private async send(nameNode: NameNodeAddress, operation: Operation): Promise<HttpAnswer> {
    const { method, op, path, parameters } = operation
    const query = new URLSearchParams({ op, ...parameters, ...(await this.identity()) })
    const host = nameNode.host.includes(':') ? `[${nameNode.host}]` : nameNode.host
    const url = `http://${host}:${nameNode.port}/webhdfs/v1${encodePath(path)}?${query}`
    const { agent, timeoutMs } = this
    return await exchange({ party: 'name-node', method, url, agent, timeoutMs })
  }

  /** A token stands for a user; the cluster refuses both together. */
  private async identity(): Promise<Parameters> {
    const { user, tokenFile } = this.address
    if (tokenFile !== undefined) return { delegation: await readToken(tokenFile) }
    return user === undefined ? {} : { 'user.name': user }
  }
}

interface RawStatus {
  readonly pathSuffix: string
  readonly type: string
  readonly length: number
  readonly modificationTime: number
}

function toStatus(raw: RawStatus): HdfsFileStatus {
  return {
    name: raw.pathSuffix,
    isFolder: raw.type === 'DIRECTORY',
    bytes: raw.length,
    modifiedMs: raw.modificationTime,
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function saysFalse(answer: HttpAnswer): boolean {
  return answer.body.length > 0 && readJson(answer, 'boolean') === false
}

/** A field of a JSON answer. An answer of another shape comes from something that is not WebHDFS. */
function readJson(answer: HttpAnswer, field: string): unknown {
  const text = new TextDecoder().decode(answer.body)
  try {
    const value = (JSON.parse(text) as Record<string, unknown>)[field]
    if (value !== undefined) return value
  } catch {
    // Told below.
  }
  throw new WeirError(
    'CONNECTOR_FAILED',
    `the NameNode's address answers, but not as WebHDFS: ${text.slice(0, 200)}`,
  )
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    const message = `the file with the HDFS delegation token, ${file}, cannot be read`
    throw new WeirError('UNAUTHENTICATED', message, { cause })
  }
}

async function ifThere<T>(action: () => Promise<T>): Promise<T | undefined> {
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
