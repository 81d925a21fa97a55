import { sleep, systemClock } from '../../core/clock.ts'
import { ERROR_CODES, type ErrorCode, messageOf, WeirError } from '../../core/errors.ts'
import { type Flags, UsageError } from '../command/command.ts'
import { tokenOf } from '../flags/token.ts'

/** A job in `/jobs/overview`. */
export interface JobRow {
  readonly jid: string
  readonly name: string
  readonly state: string
  readonly 'start-time': number
  readonly 'end-time': number
  readonly duration: number
}

const POLL_MS = 100

/** Client of the REST interface. Every call throws UNAVAILABLE, or the error of the answer. */
export class RestClient {
  private readonly base: string
  private readonly headers: Readonly<Record<string, string>>

  constructor(base: string, token?: string) {
    this.base = base
    this.headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  }

  /** The client of the JobManager that the flags name. Throws UsageError. */
  static of(flags: Flags): RestClient {
    const text = flags.string('jobmanager')
    const base = /^https?:\/\//.test(text) ? text.replace(/\/+$/, '') : `http://${text}`
    if (URL.parse(base)?.port === undefined) {
      throw new UsageError(`--jobmanager takes HOST:PORT, not "${text}"`)
    }
    return new RestClient(base, tokenOf(flags))
  }

  /** Sends a request and returns the JSON of the answer. */
  async request<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.send(method, path, body)
    const text = await response.text()
    const json: unknown = parse(text)
    if (response.ok) return json as T
    throw errorOf(response.status, json)
  }

  /** Every job that the JobManager knows, newest first. */
  async jobs(): Promise<readonly JobRow[]> {
    return (await this.request<{ readonly jobs: readonly JobRow[] }>('GET', '/jobs/overview')).jobs
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
        ? `there is no job "${named}" at ${this.base}; "weir list -a" shows all jobs`
        : `"${named}" means ${found.length} jobs at ${this.base}; give more digits of the id`,
    )
  }

  /** Starts an operation and waits for its result. */
  async operation<T>(path: string, pollPath: string, body: object): Promise<T> {
    const { 'request-id': id } = await this.request<{ 'request-id': string }>('POST', path, body)
    for (;;) {
      const state = await this.request<OperationJson<T>>('GET', `${pollPath}/${id}`)
      if (state.status.id === 'COMPLETED') return resultOf(state)
      await sleep(systemClock, POLL_MS)
    }
  }

  private async send(method: string, path: string, body?: object): Promise<Response> {
    try {
      return await fetch(`${this.base}${path}`, {
        method,
        headers: {
          ...this.headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    } catch (cause) {
      const reason = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
      throw new WeirError(
        'UNAVAILABLE',
        `nothing answers at ${this.base} (${messageOf(reason)}); start a JobManager with "weir cluster start", or give --jobmanager HOST:PORT`,
        { cause },
      )
    }
  }
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
function errorOf(status: number, json: unknown): WeirError {
  const [text] = (json as { readonly errors?: readonly string[] } | undefined)?.errors ?? []
  if (text === undefined) {
    return new WeirError(
      'CONNECTOR_FAILED',
      `the answer has the status ${status}; is this a JobManager of Weir?`,
    )
  }
  const match = /^([A-Z_]+): (.*)$/s.exec(text)
  return new WeirError(codeOf(match?.[1]) ?? 'CONNECTOR_FAILED', match?.[2] ?? text)
}

function codeOf(text: string | undefined): ErrorCode | undefined {
  return text !== undefined && Object.hasOwn(ERROR_CODES, text) ? (text as ErrorCode) : undefined
}
