import type { MessagePort, Worker } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import type { MetricSnapshot } from '../../core/metrics.ts'
import type { TableReader } from '../../state/catalog/readers-are-up-to-date.ts'
import type { RowTableShare } from '../../state/rows/share.ts'
import type { QueryThreadCommand, QueryThreadReport } from './messages.ts'

/** Receiver of what becomes of a query thread. */
export interface ThreadLinkListener {
  /** It listens on its port now, or reads without one. */
  ready(): void
  /** It cannot do its work, and keeps trying. */
  failed(reason: string): void
  /** It has ended by itself. */
  ended(reason: string): void
}

/** One query thread as the main thread sees it: its port, and what it has reported. */
export class ThreadLink implements TableReader {
  readonly number: number
  /** Number of the worker thread in the process; 0 in the calling thread. */
  readonly threadId: number
  /** Port it listens on, 0 before it does and after its end. */
  listening = 0
  /** Whether it answers: it listens, or it reads without a port. */
  isReady = false
  /** Whether it takes commands: false after its end. */
  isAlive = true
  sent = 0
  acknowledged = 0
  private readonly port: MessagePort
  private readonly worker: Worker | undefined
  private readonly listener: ThreadLinkListener
  private readonly metricWaiters = new Map<number, (metrics: MetricSnapshot) => void>()
  private nextMetricRequest = 1
  /** Resolves when the thread or its port has ended. */
  private readonly ended = Promise.withResolvers<void>()

  /** `worker` is undefined for a query thread that runs in the calling thread. */
  constructor(
    number: number,
    { port, worker }: { readonly port: MessagePort; readonly worker: Worker | undefined },
    listener: ThreadLinkListener,
  ) {
    this.number = number
    this.port = port
    this.worker = worker
    this.threadId = worker?.threadId ?? 0
    this.listener = listener
    port.on('message', (report: QueryThreadReport) => this.onReport(report))
    port.on('close', () => this.release())
    worker?.on('error', (error) => this.onEnd(messageOf(error)))
    worker?.on('exit', (code) => this.onEnd(`it exited with code ${code}`))
  }

  /** Sends a command; `ports` are handed over with it. After the thread's end it does nothing. */
  send(command: QueryThreadCommand, ports: readonly MessagePort[] = []): void {
    this.port.postMessage(command, ports)
  }

  /** Sends a table to read, which the thread acknowledges by its number. */
  sendTable(number: number, share: RowTableShare): void {
    this.sent = number
    this.send({ kind: 'table-opened', number, share })
  }

  /** The thread's metrics; none when the thread ends before it answers. */
  metrics(): Promise<MetricSnapshot> {
    if (!this.isAlive) return Promise.resolve({})
    const request = this.nextMetricRequest++
    return new Promise((resolve) => {
      this.metricWaiters.set(request, resolve)
      this.send({ kind: 'metrics', request })
    })
  }

  /** Ends the thread after it has answered its requests; resolves when it has ended. */
  close(): Promise<unknown> {
    if (this.isAlive) this.send({ kind: 'close' })
    return this.ended.promise.then(() => this.worker?.terminate())
  }

  /** No answer comes any more. */
  private release(): void {
    for (const resolve of this.metricWaiters.values()) resolve({})
    this.metricWaiters.clear()
    this.ended.resolve()
  }

  private onReport(report: QueryThreadReport): void {
    switch (report.kind) {
      case 'listening':
        this.listening = report.port
        this.isReady = true
        this.listener.ready()
        return
      case 'reading':
        this.isReady = true
        this.listener.ready()
        return
      case 'table-known':
        this.acknowledged = report.number
        return
      case 'failed':
        this.listener.failed(report.message)
        return
      case 'metrics':
        this.metricWaiters.get(report.request)?.(report.metrics)
        this.metricWaiters.delete(report.request)
        return
      case 'closed':
        this.port.close()
    }
  }

  private onEnd(reason: string): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.isReady = false
    this.listening = 0
    this.port.close()
    this.release()
    this.listener.ended(reason)
  }
}
