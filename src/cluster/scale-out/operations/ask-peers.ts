import { asWeirError, ERROR_CODES, type ErrorCode, WeirError } from '../../../core/errors.ts'
import {
  type RequestLimits,
  type RequestTls,
  sendRequest,
} from '../../../http/client/send-request.ts'
import type { ProcessAction, ProcessReport } from '../../rest/port/scaled-job.ts'

const REPORT_MS = 1_000
const MOST_REPORT_BYTES = 64 * 2 ** 20

/** How a process asks the others of its job, by the URL of their REST interface. Methods throw WeirError. */
export interface AskPeers {
  report(url: string): Promise<ProcessReport>
  /** Resolves when the other process has done it. */
  act(url: string, action: ProcessAction): Promise<void>
}

/** Who asks, and for what. */
export interface HttpPeersOptions {
  readonly jobId: string
  /** Token with the role admin, the same in all processes. */
  readonly token: string | undefined
  /** Whom to believe, and what to show, where the others encrypt. */
  readonly tls: () => RequestTls | undefined
  /** Time in which a process says what it runs, ms; one that needs longer is listed as silent. @default 1,000 */
  readonly reportMs?: number
  /** Longest time of an action, ms. */
  readonly actionMs: number
}

/** Asks over HTTP, each process at `/weir/jobs/:jobid/process`. */
export class HttpPeers implements AskPeers {
  private readonly options: HttpPeersOptions

  constructor(options: HttpPeersOptions) {
    this.options = options
  }

  async report(url: string): Promise<ProcessReport> {
    const { reportMs = REPORT_MS } = this.options
    const limits = { silenceMs: reportMs, deadlineMs: reportMs, mostBytes: MOST_REPORT_BYTES }
    const text = await this.ask(url, { method: 'GET', limits })
    const report = JSON.parse(text) as ProcessReport
    if (Array.isArray(report.partitions) && typeof report.job === 'object') return report
    throw new WeirError('MALFORMED_DATA', `${url} answers, but not as a process of this job`)
  }

  async act(url: string, action: ProcessAction): Promise<void> {
    const { actionMs } = this.options
    const limits = { silenceMs: actionMs, deadlineMs: actionMs, mostBytes: 2 ** 20 }
    await this.ask(url, { method: 'POST', body: { action }, limits })
  }

  private async ask(
    url: string,
    request: { readonly method: string; readonly body?: object; readonly limits: RequestLimits },
  ): Promise<string> {
    const { jobId, token, tls } = this.options
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const to = { ...request, url: `${url}/weir/jobs/${jobId}/process`, headers, tls: tls() }
    const { status, text } = await sendRequest(to).catch((error: unknown) => {
      throw asWeirError(error, 'UNAVAILABLE', `no answer from ${url}`)
    })
    if (status >= 200 && status < 300) return text
    throw refusalOf(url, status, text)
  }
}

function refusalOf(url: string, status: number, text: string): WeirError {
  const [, code = '', message = text.slice(0, 200)] =
    /^\{"errors":\["([A-Z_]+): (.*)"\]\}$/s.exec(text) ?? []
  const known = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'UNAVAILABLE'
  return new WeirError(known, `${url} refuses (status ${status}): ${message}`)
}
