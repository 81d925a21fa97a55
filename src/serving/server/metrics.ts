import { ERROR_CODES, type ErrorCode } from '../../core/errors.ts'
import type { Counter, Histogram, MetricGroup } from '../../core/metrics.ts'
import { KIND } from '../../wire/frame.ts'
import { codeOf, OTHER, statusOf } from '../../wire/status.ts'

/** Metrics of a query server; one instance belongs to one thread. */
export class QueryMetrics {
  readonly connections: Counter
  readonly refusedConnections: Counter
  readonly closedConnections: Counter
  readonly bytesIn: Counter
  readonly bytesOut: Counter
  /** Milliseconds from reading a chunk to writing its answers; for asynchronous requests, to the answer. */
  readonly latencyMs: Histogram
  private readonly requests: readonly Counter[]
  private readonly group: MetricGroup
  private readonly failures: (Counter | undefined)[] = []

  constructor(metrics: MetricGroup) {
    this.group = metrics.group('query')
    this.connections = this.group.counter('numConnections')
    this.refusedConnections = this.group.counter('numConnectionsRefused')
    this.closedConnections = this.group.counter('numConnectionsClosed')
    this.bytesIn = this.group.counter('numBytesIn')
    this.bytesOut = this.group.counter('numBytesOut')
    this.latencyMs = this.group.histogram('latencyMs')
    const requests: Counter[] = []
    for (const [name, kind] of Object.entries(KIND)) {
      requests[kind] = this.group.counter(`numRequests.${name}`)
    }
    this.requests = requests
    // A counter that begins with its first error has no increase for Prometheus.
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const status = statusOf(code)
      if (status !== OTHER) this.failures[status] = this.failureCounter(code)
    }
    this.failures[OTHER] = this.failureCounter('OTHER')
  }

  /** Counts `count` requests of a kind. */
  asked(kind: number, count: number): void {
    this.requests[kind]?.increment(count)
  }

  /** Counts a failed answer by its wire status. */
  failed(status: number): void {
    const counter = this.failures[status] ?? this.failureCounter(codeOf(status) ?? 'OTHER')
    this.failures[status] = counter
    counter.increment()
  }

  private failureCounter(name: ErrorCode | 'OTHER'): Counter {
    return this.group.counter(`numErrors.${name}`)
  }
}
