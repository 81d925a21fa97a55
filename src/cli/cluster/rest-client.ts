import { existsSync } from 'node:fs'
import { sleep, systemClock } from '../../core/clock.ts'
import { ERROR_CODES, type ErrorCode, messageOf, WeirError } from '../../core/errors.ts'
import { nearestOf } from '../../core/text/nearest-word.ts'
import { localSocketPath } from '../../files/local-socket.ts'
import { isLoopback } from '../../http/access/listener.ts'
import {
  type RequestLimits,
  type RequestTls,
  type RestAnswer,
  type RestRequest,
  sendRequest,
} from '../../http/client/send-request.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { clientTlsOf } from '../flags/client-tls.ts'
import { tokenOf } from '../flags/token.ts'
import { JOB_MANAGER_TLS } from './options.ts'

/** A job in `/jobs/overview`. */
export interface JobRow {
  readonly jid: string
  readonly name: string
  readonly state: string
  readonly 'start-time': number
  readonly 'end-time': number
  readonly duration: number
}

/** A request that starts an operation. */
export interface Trigger {
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  readonly body?: object
}

const POLL_MS = 100

/** Codes of errors that mean: no process listens there. */
const NOBODY = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']

/** Who asks, and how the connection is encrypted. */
export interface RestClientOptions {
  readonly token?: string | undefined
  /** Used where the address begins with `https:`. */
  readonly tls?: RequestTls | undefined
  /** @default those of `sendRequest` */
  readonly limits?: RequestLimits | undefined
}

/** Client of the REST interface. Every call throws UNAVAILABLE, or the error of the answer. */
export class RestClient {
  /** Address with its protocol. */
  readonly base: string
  private readonly headers: Readonly<Record<string, string>>
  private readonly tls: RequestTls | undefined
  private readonly limits: RequestLimits | undefined

  constructor(base: string, { token, tls, limits }: RestClientOptions = {}) {
    this.base = base
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.tls = tls
    this.limits = limits
  }

  /** The client of the JobManager that the flags name. Throws UsageError. */
  static of(flags: Flags): RestClient {
    const tls = clientTlsOf(flags, JOB_MANAGER_TLS)
    const base = baseOf(flags.string('jobmanager'), tls !== undefined)
    return new RestClient(base, { token: tokenOf(flags), tls })
  }

  /**
   * The client of a JobManager of this machine, at the address where it listens. Its certificate names the host
   * that other machines use, so only who signed it is checked. Throws UsageError.
   */
  static ofThisMachine(url: string, flags: Flags): RestClient {
    const tls = { ...clientTlsOf(flags, JOB_MANAGER_TLS), checkServerIdentity: () => undefined }
    return new RestClient(url, { token: tokenOf(flags), tls })
  }

  /** Sends a request and returns the JSON of the answer. */
  async request<T>(method: string, path: string, body?: object): Promise<T> {
    const { status, text } = await this.send(method, path, body)
    const json: unknown = parse(text)
    const isFine = status >= 200 && status < 300 && (json !== undefined || text === '')
    if (isFine) return json as T
    throw errorOf(this.base, status, json)
  }

  /** Every job that the JobManager knows, newest first. */
  async jobs(): Promise<readonly JobRow[]> {
    const answer = await this.request<{ readonly jobs?: unknown }>('GET', '/jobs/overview')
    if (Array.isArray(answer?.jobs)) return answer.jobs as readonly JobRow[]
    throw new WeirError(
      'CONNECTOR_FAILED',
      `the answer of ${this.base} lists no jobs; is this a JobManager of Weir?`,
    )
  }

  /** The job that a user names by its id, the beginning of its id, or its name. Throws NOT_FOUND. */
  async job(named: string): Promise<JobRow> {
    const jobs = await this.jobs()
    const found = jobs.filter(
      ({ jid, name }) => jid.startsWith(named.toLowerCase()) || name === named,
    )
    const running = found.filter((job) => job['end-time'] < 0)
    const [job, ...others] = running.length > 0 ? running : found
    if (job !== undefined && others.length === 0) return job
    throw new WeirError(
      'NOT_FOUND',
      job === undefined
        ? `there is no job "${named}" at ${this.base}; ${nearestJob(named, jobs)}`
        : `"${named}" means ${found.length} jobs at ${this.base}; give more digits of the id`,
    )
  }

  /** Starts an operation and waits for its result, which `pollPath` has. */
  async operation<T>({ method, path, body }: Trigger, pollPath: string): Promise<T> {
    const { 'request-id': id } = await this.request<{ 'request-id': string }>(method, path, body)
    for (;;) {
      const state = await this.request<OperationJson<T>>('GET', `${pollPath}/${id}`)
      if (state.status.id === 'COMPLETED') return resultOf(state)
      await sleep(systemClock, POLL_MS)
    }
  }

  private async send(method: string, path: string, body?: object): Promise<RestAnswer> {
    const { base, headers, tls, limits } = this
    const request = { method, url: `${base}${path}`, headers, body, tls, limits }
    try {
      return await sendRequest(request)
    } catch (cause) {
      const socketPath = otherWay(request, cause)
      const answer =
        socketPath && (await sendRequest({ ...request, socketPath }).catch(() => undefined))
      if (answer) return answer
      throw new WeirError('UNAVAILABLE', unavailable(base, cause), { cause })
    }
  }
}

/** The job whose name is nearest to a text, or where to look. */
function nearestJob(text: string, jobs: readonly JobRow[]): string {
  const nearest = nearestOf(text, [...new Set(jobs.map(({ name }) => name))])
  return nearest === undefined ? '"weir list -a" shows all jobs' : `did you mean "${nearest}"?`
}

/**
 * The socket of a server of this machine whose port cut the connection, as one does that is full; undefined for another
 * failure, and for a submission, which could run twice.
 */
function otherWay(
  { method, url }: Pick<RestRequest, 'method' | 'url'>,
  cause: unknown,
): string | undefined {
  const { protocol, hostname, port, pathname } = new URL(url)
  const isCut = (cause as NodeJS.ErrnoException).code === 'ECONNRESET'
  if (!isCut || (method === 'POST' && pathname.endsWith('/jobs'))) return undefined
  const host = hostname.replaceAll(/[[\]]/g, '')
  const hosts = isLoopback(host) ? [host, '127.0.0.1', '0.0.0.0', '::'] : [host]
  const number = Number(port || (protocol === 'https:' ? 443 : 80))
  const paths = hosts.map((one) => localSocketPath(one, number, protocol === 'https:'))
  return paths.find((path) => path !== undefined && existsSync(path))
}

/** The address with its protocol: `https:` if TLS is wanted. Throws UsageError. */
function baseOf(text: string, isEncrypted: boolean): string {
  const scheme = `http${isEncrypted ? 's' : ''}://`
  const base = /^https?:\/\//.test(text)
    ? text.replace(/\/+$/, '')
    : `${scheme}${/^[0-9]+$/.test(text) ? `127.0.0.1:${text}` : text}`
  if (URL.parse(base)?.port === undefined) {
    throw new UsageError(`--jobmanager takes HOST:PORT, not "${text}"`)
  }
  if (isEncrypted && base.startsWith('http:')) {
    throw new UsageError(
      `--jobmanager ${text} is without TLS, but there are flags --${JOB_MANAGER_TLS}...; write https:// or leave them out`,
    )
  }
  return base
}

const TLS_HINT = `if it has TLS, give --${JOB_MANAGER_TLS}, or --${JOB_MANAGER_TLS}-ca FILE for a certificate of your own`

/** What happened to a connection, and what to do next. */
function unavailable(base: string, cause: unknown): string {
  // Names with several addresses fail with one error for each of them.
  const error = cause instanceof AggregateError ? cause.errors[0] : cause
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = messageOf(error)
  if (NOBODY.includes(code)) {
    return `nothing answers at ${base} (${reason}); start a JobManager with "weir cluster start", or give --jobmanager HOST:PORT`
  }
  // OpenSSL's name of a first record that is no TLS.
  if (base.startsWith('https:') && /wrong version number|packet length too long/i.test(reason)) {
    return `${base} speaks plain HTTP, and TLS was asked for; write http://, or leave out --${JOB_MANAGER_TLS}...`
  }
  if (base.startsWith('http:') && (code.startsWith('HPE_') || code === 'ECONNRESET')) {
    return `${base} does not answer in plain HTTP (${reason}); ${TLS_HINT}`
  }
  const hint = base.startsWith('https:')
    ? `check --${JOB_MANAGER_TLS}-ca, which must have signed its certificate, and --${JOB_MANAGER_TLS}-cert with --${JOB_MANAGER_TLS}-key, which it may demand`
    : TLS_HINT
  return `no answer from ${base} (${reason}); ${hint}`
}

interface OperationJson<T> {
  readonly status: { readonly id: 'IN_PROGRESS' | 'COMPLETED' }
  readonly operation: (T & { readonly 'failure-cause'?: { readonly 'stack-trace': string } }) | null
}

function resultOf<T>({ operation }: OperationJson<T>): T {
  const cause = operation?.['failure-cause']
  if (operation !== null && cause === undefined) return operation
  const [first = 'the operation failed'] = (cause?.['stack-trace'] ?? '').split('\n')
  const match = /^WeirError: (.*)$/.exec(first)
  const code = (cause as { readonly class?: string } | undefined)?.class
  throw new WeirError(codeOf(code) ?? 'OPERATOR_FAILED', match?.[1] ?? first)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The error of an answer: `{"errors": ["CODE: sentence"]}`. */
function errorOf(base: string, status: number, json: unknown): WeirError {
  const [text] = (json as { readonly errors?: readonly string[] } | undefined)?.errors ?? []
  if (text === undefined) {
    return new WeirError(
      'CONNECTOR_FAILED',
      `the answer of ${base} has the status ${status} and no error of Weir; is this a JobManager of Weir?`,
    )
  }
  const match = /^([A-Z_]+): (.*)$/s.exec(text)
  return new WeirError(codeOf(match?.[1]) ?? 'CONNECTOR_FAILED', match?.[2] ?? text)
}

function codeOf(text: string | undefined): ErrorCode | undefined {
  return text !== undefined && Object.hasOwn(ERROR_CODES, text) ? (text as ErrorCode) : undefined
}
