import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { WeirError } from '../../core/errors.ts'
import type { NameNodeAddress, WebHdfsAddress } from './address.ts'
import { refusalOf, WebHdfsAttemptError } from './failure.ts'
import {
  abortSilent,
  exchange,
  type HttpAnswer,
  loadHttp,
  noAnswer,
  openRequest,
} from './http-exchange.ts'
import type { Attempt } from './name-node-pool.ts'

/** A WebHDFS operation, which is sent to a NameNode. */
export interface Operation {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly op: string
  /** Absolute path in HDFS. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
}

/** A request to the DataNode that a NameNode named. */
export interface DataRequest {
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly body?: Uint8Array
  /** Longest body of the answer. @default 64 MiB */
  readonly mostBytes?: number
}

/** Connections kept to one server. */
const MAX_SOCKETS = 16

/**
 * Sends single requests to NameNodes and DataNodes, without repeating them. Methods reject with
 * WebHdfsAttemptError when an attempt fails.
 */
export class WebHdfsTransport {
  readonly agent = new (loadHttp().Agent)({ keepAlive: true, maxSockets: MAX_SOCKETS })
  /** Longest silence of a server, ms. */
  readonly timeoutMs: number
  private readonly address: WebHdfsAddress

  constructor(address: WebHdfsAddress, timeoutMs: number) {
    this.address = address
    this.timeoutMs = timeoutMs
  }

  /** Sends an operation to a NameNode and returns its answer, of any status. */
  async send(nameNode: NameNodeAddress, operation: Operation): Promise<HttpAnswer> {
    const { method, op, path, parameters } = operation
    const query = new URLSearchParams({ op, ...parameters, ...(await this.identity()) })
    const host = nameNode.host.includes(':') ? `[${nameNode.host}]` : nameNode.host
    const url = `http://${host}:${nameNode.port}/webhdfs/v1${encodePath(path)}?${query}`
    const { agent, timeoutMs } = this
    return await exchange({ party: 'name-node', method, url, agent, timeoutMs })
  }

  /** Identifies the user by a token or a name. The cluster rejects requests with both. */
  private async identity(): Promise<Readonly<Record<string, string>>> {
    const { user, tokenFile } = this.address
    if (tokenFile !== undefined) return { delegation: await readToken(tokenFile) }
    return user === undefined ? {} : { 'user.name': user }
  }

  /**
   * The first step of reading and writing: returns the DataNode's URL, which the NameNode sends in the
   * body or as a redirect. Throws UNSUPPORTED for https.
   */
  async locateData({ nameNode, avoid }: Attempt, operation: Operation): Promise<string> {
    const parameters: Record<string, string> = { ...operation.parameters, noredirect: 'true' }
    if (avoid !== undefined) parameters['excludedatanodes'] = avoid
    const answer = await this.send(nameNode, { ...operation, parameters })
    const location = answer.status === 200 ? readJson(answer, 'Location') : answer.location
    if (location === undefined) {
      throw new WebHdfsAttemptError(refusalOf('name-node', answer))
    }
    if (typeof location !== 'string') throw notWebHdfs(answer)
    if (location.startsWith('http://')) return location
    throw new WeirError(
      'UNSUPPORTED',
      'this HDFS redirects its clients to https; Weir supports WebHDFS over http only',
      { details: { place: operation.path } },
    )
  }

  /** The second step: sends a request to a DataNode. Its answer has the status `expected`. */
  async sendData(request: DataRequest, expected: number): Promise<HttpAnswer> {
    const { agent, timeoutMs } = this
    const answer = await exchange({ party: 'data-node', agent, timeoutMs, ...request })
    if (answer.status === expected) return answer
    throw new WebHdfsAttemptError(refusalOf('data-node', answer))
  }

  /** Opens a PUT request to a DataNode whose body is sent later; resolves when it is connected. */
  async openDataStream(url: string): Promise<ClientRequest> {
    const { agent, timeoutMs } = this
    const options = { party: 'data-node', method: 'PUT', url, agent, timeoutMs } as const
    const outgoing = openRequest(options, undefined)
    outgoing.flushHeaders()
    outgoing.setTimeout(timeoutMs, () => abortSilent(outgoing, agent, timeoutMs))
    try {
      const [socket] = (await once(outgoing, 'socket')) as [Socket]
      if (socket.connecting) await once(socket, 'connect')
    } catch (error) {
      throw noAnswer('data-node', outgoing, error)
    }
    outgoing.removeAllListeners('timeout').setTimeout(0)
    return outgoing
  }

  /** Closes all connections. */
  close(): void {
    this.agent.destroy()
  }
}

/** A field of a JSON answer. Throws CONNECTOR_FAILED for an answer that is not of WebHDFS. */
export function readJson(answer: HttpAnswer, field: string): unknown {
  const text = new TextDecoder().decode(answer.body)
  try {
    const value = (JSON.parse(text) as Record<string, unknown>)[field]
    if (value !== undefined) return value
  } catch {
    // Reported below, as an answer without the field is.
  }
  throw notWebHdfs(answer)
}

/** The error of an answer that is not what a NameNode sends. */
export function notWebHdfs({ body, peer }: HttpAnswer): WeirError {
  const text = new TextDecoder().decode(body.subarray(0, 200))
  return new WeirError(
    'CONNECTOR_FAILED',
    `the server at the NameNode's address ${peer} does not speak WebHDFS: ${text}`,
  )
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    const message = `the file with the HDFS delegation token, ${file}, cannot be read`
    throw new WeirError('UNAUTHENTICATED', message, { cause })
  }
}
