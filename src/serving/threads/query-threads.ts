import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '../../core/clock.ts'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { MetricGroup, type MetricSnapshot } from '../../core/metrics.ts'
import { portsOfThread } from '../../core/port-range.ts'
import { type AccessShare, OPEN_ACCESS } from '../../http/access/control.ts'
import { JobCatalog, type SlotTables } from '../../state/catalog/job-catalog.ts'
import {
  ProgressBoard,
  type ProgressBoardShare,
  type SlotStatus,
} from '../../state/catalog/progress-board.ts'
import type { TableReader } from '../../state/catalog/readers-are-up-to-date.ts'
import type { TypedStateShare } from '../../state/catalog/typed-state-share.ts'
import type { RowTableShare } from '../../state/rows/share.ts'
import { releaseScratchOfThread } from '../../state/rows/view.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { RoutingTable, VersionLabels, VersionTerms } from '../../wire/routing-table.ts'
import { QueryServer } from '../server/query-server.ts'
import { BootstrapBackend } from './bootstrap-backend.ts'
import { JobRouting, type StartedJob } from './job-routing.ts'
import type { QueryThreadCommand } from './messages.ts'
import type { QueryThreadsOptions } from './options.ts'
import type { QueryThread } from './query-thread.ts'
import { RestartBackoff } from './restart-backoff.ts'
import { ThreadLink } from './thread-link.ts'
import { VersionFacts } from './version-facts.ts'
import { startQueryWorker } from './workers.ts'

const DEFAULT_PORT = 9069

/**
 * The query threads of a process and the bootstrap port, as the main thread starts, informs and closes
 * them. The class has the shape of the runtime's ServingPort. Above 300 lines because start, tables and end
 * of the threads share their links.
 */
export class QueryThreads {
  private readonly options: QueryThreadsOptions
  private readonly clock: Clock
  private access: AccessShare
  private readonly members: ThreadLink[] = []
  private catalog = new JobCatalog()
  private readonly bootstrap: QueryServer
  private readonly bootstrapMetrics = new MetricGroup()
  private readonly ready = Promise.withResolvers<void>()
  private job: StartedJob | undefined
  private readonly jobRouting: JobRouting
  /** Number of the last table that was opened. */
  private lastTable = 0
  private readonly backoff = new RestartBackoff()
  private isClosed = false
  /** Of linear models. */
  private readonly labels = new VersionFacts<VersionLabels>()
  /** Of models of implicit feedback. */
  private readonly terms = new VersionFacts<VersionTerms>()
  /** The class of threads that run in the calling thread. */
  private Inline: typeof QueryThread | undefined
  /** The reader of the calling thread; undefined if it does not read. */
  private local: QueryThread | undefined
  private threadReplaced: (thread: number) => void = () => {}
  private threadLost: (thread: number, reason: string) => void = () => {}

  private constructor(options: QueryThreadsOptions) {
    requireArgument(
      Number.isInteger(options.threads) && options.threads >= 1,
      `a job needs at least one query thread, not ${options.threads}`,
    )
    this.options = options
    this.portsOf(0)
    this.clock = options.clock ?? systemClock
    this.access = options.access ?? OPEN_ACCESS
    this.jobRouting = new JobRouting({
      models: options.models ?? [],
      job: () => this.job,
      catalog: () => this.catalog,
      threads: () => this.members,
      labelsOf: (name) => this.labels.of(name),
      termsOf: (name) => this.terms.of(name),
      changed: (table) => this.broadcast({ kind: 'routing', table }),
    })
    this.bootstrap = new QueryServer(new BootstrapBackend(() => this.routing), {
      host: options.host ?? '127.0.0.1',
      ports: [options.port ?? DEFAULT_PORT],
      server: 'bootstrap',
      access: this.access,
      ...(options.tls === undefined ? {} : { tls: options.tls }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      metrics: this.bootstrapMetrics,
      clock: this.clock,
    })
  }

  /** Opens the bootstrap port; query threads start with the job. Rejects with CONNECTOR_FAILED. */
  static async start(options: QueryThreadsOptions): Promise<QueryThreads> {
    const threads = new QueryThreads(options)
    if (options.inCallingThread === true) await threads.loadInline()
    await threads.bootstrap.listen()
    for (let number = 0; number < options.threads; number++) threads.spawn(number)
    return threads
  }

  /** Number of readers, query threads and perhaps the calling thread; each has its own port to every slot. */
  get threads(): number {
    return this.options.threads + (this.local === undefined ? 0 : 1)
  }

  /** Port that clients connect to first. */
  get port(): number {
    return this.bootstrap.port
  }

  /** Resolves when every query thread listens. */
  listening(): Promise<void> {
    return this.ready.promise
  }

  /**
   * Reads in the calling thread, without a hop; resolves when the job has started. The first call adds the
   * reader. Rejects with UNAVAILABLE after the end.
   */
  async localReader(): Promise<ModelReader> {
    if (this.local === undefined) {
      await this.loadInline()
      if (this.isClosed) throw new WeirError('UNAVAILABLE', 'the query threads have ended')
      // Another call may have added it meanwhile.
      if (this.local === undefined) this.bringUp(this.spawn(this.options.threads))
    }
    return await this.local!.reader
  }

  /** Loads the code of threads that run in the calling thread, which does not need it otherwise. */
  private async loadInline(): Promise<void> {
    this.Inline ??= (await import('./query-thread.ts')).QueryThread
  }

  /** The current routing table, with the live versions of now. */
  get routing(): RoutingTable {
    return this.jobRouting.current()
  }

  private spawn(number: number): ThreadLink {
    const link = new ThreadLink(number, this.newThread(number), {
      ready: () => this.onReady(),
      failed: (reason) => this.threadLost(number, reason),
      ended: (reason) => this.onEnded(link, reason),
    })
    this.members[number] = link
    return link
  }

  private newThread(number: number): {
    readonly port: MessagePort
    readonly worker: Worker | undefined
  } {
    const { Inline, options } = this
    const isHere = options.inCallingThread === true || this.isLocal(number)
    if (Inline === undefined || !isHere) return options.workers?.take() ?? startQueryWorker()
    const { port1, port2 } = new MessageChannel()
    const thread = new Inline(port2, this.clock)
    if (this.isLocal(number)) this.local = thread
    return { port: port1, worker: undefined }
  }

  /** Whether the number is that of the reader in the calling thread, the last one. */
  private isLocal(number: number): boolean {
    return number === this.options.threads
  }

  private onReady(): void {
    this.jobRouting.changed()
    if (this.members.every(({ isReady }) => isReady)) this.ready.resolve()
  }

  /** A thread that ends by itself is replaced; the new one reads the same shared memory. */
  private onEnded({ number: thread, threadId }: ThreadLink, reason: string): void {
    if (this.isClosed) return
    for (const share of this.catalog.tables()) releaseScratchOfThread(share, threadId)
    this.threadLost(thread, reason)
    this.jobRouting.changed()
    const delayMs = this.backoff.delayMs(thread, this.clock.monotonicMs())
    this.clock.after(delayMs, () => {
      if (!this.isClosed) this.bringUp(this.spawn(thread))
    })
  }

  /** The job has begun: query threads open their ports. `catalog` always holds all readable state. */
  jobStarted(jobName: string, board: ProgressBoardShare, catalog: JobCatalog): void {
    this.catalog = catalog
    this.job = { name: jobName, board: new ProgressBoard(board) }
    for (const link of this.members) this.setUp(link)
    this.jobRouting.changed()
  }

  private setUp(link: ThreadLink): void {
    const { job } = this
    if (job === undefined) return
    link.send({
      kind: 'start',
      setup: {
        server: this.isLocal(link.number) ? 'local' : `query-${link.number}`,
        host: this.options.host ?? '127.0.0.1',
        ports: this.portsOf(link.number),
        job: job.name,
        access: this.access,
        tls: this.options.tls,
        limits: this.options.limits ?? {},
        hotWeights: this.options.hotWeights,
        board: job.board.share,
        models: this.options.models ?? [],
      },
    })
  }

  private portsOf(thread: number): readonly number[] {
    const { threadPorts, threads } = this.options
    if (this.isLocal(thread)) return []
    return threadPorts === undefined ? [0] : portsOfThread(threadPorts, thread, threads)
  }

  /** Accepts other tokens from now on; connections with a token that is gone are closed. */
  replaceAccess(share: AccessShare): void {
    this.access = share
    this.bootstrap.replaceAccess(share)
    this.broadcast({ kind: 'access', share })
  }

  /** Gives a new thread everything that can be read before it may listen. */
  private bringUp(link: ThreadLink): void {
    for (const share of this.catalog.tables()) link.sendTable(this.lastTable, share)
    for (const tables of this.catalog.completeSlots())
      link.send({ kind: 'tables-complete', tables })
    for (const share of this.catalog.typedStates()) link.send({ kind: 'typed-state', share })
    this.threadReplaced(link.number)
    link.send({ kind: 'routing', table: this.jobRouting.table })
    this.setUp(link)
  }

  private broadcast(command: QueryThreadCommand): void {
    for (const link of this.members) link.send(command)
  }

  /** The table is read from now on, instead of an earlier one of the same state, version and slot. */
  tableOpened(share: RowTableShare): void {
    this.lastTable++
    for (const link of this.members) link.sendTable(this.lastTable, share)
    this.jobRouting.changed()
  }

  /** The table is not read any more. */
  tableDropped({ slot, operatorUid, state, version }: RowTableShare): void {
    this.broadcast({ kind: 'table-dropped', slot, operatorUid, state, version })
    this.jobRouting.changed()
  }

  /** Predictions of a version of a linear model have these labels. */
  versionLabelled(name: string, labels: VersionLabels): void {
    if (this.labels.add(name, labels)) this.jobRouting.changed()
  }

  /** Rows of new users of a version of implicit feedback follow from these terms. */
  versionTrained(name: string, terms: VersionTerms): void {
    if (this.terms.add(name, terms)) this.jobRouting.changed()
  }

  /** A version is gone for good. */
  versionRetired(name: string, version: number): void {
    for (const facts of [this.labels, this.terms]) facts.retire(name, version)
  }

  /** What has been passed on is all that the running slot has opened. */
  tablesComplete(tables: SlotTables): void {
    this.broadcast({ kind: 'tables-complete', tables })
  }

  /** A slot holds a part of a typed state; repeated for every slot and attempt. */
  typedStateDeclared(share: TypedStateShare): void {
    this.broadcast({ kind: 'typed-state', share })
    this.jobRouting.changed()
  }

  /** Requests sent on the port are answered by the slot. */
  attachSlot(slot: number, thread: number, port: MessagePort): void {
    const link = this.members[thread]
    if (link === undefined) port.close()
    else link.send({ kind: 'attach-slot', slot, port }, [port])
  }

  /** Calls `listener` after a thread was replaced: it needs a port to every slot. */
  onThreadReplaced(listener: (thread: number) => void): void {
    this.threadReplaced = listener
  }

  /**
   * Calls `listener` when a query thread has ended by itself, and is started again, or when none of its
   * ports is free, and it keeps trying.
   */
  onThreadLost(listener: (thread: number, reason: string) => void): void {
    this.threadLost = listener
  }

  /**
   * By living query thread, which of the opened tables it has been sent and acknowledged. A thread that
   * is being replaced is left out: the new one gets all tables before it listens.
   */
  tableReaders(): readonly TableReader[] {
    return this.members.filter(({ isAlive }) => isAlive)
  }

  /** Rows of a version that slots hold (`JobCatalog.rowCount`); undefined while a slot does not run. */
  rowCount(queryableName: string, version: number): number | undefined {
    const board = this.job?.board
    if (board === undefined) return undefined
    for (let slot = 0; slot < board.share.slots; slot++) {
      if (board.slotStatus(slot) !== 'running') return undefined
    }
    return this.catalog.rowCount(queryableName, version)
  }

  slotStatus(slot: number, status: SlotStatus): void {
    if (status === 'down') this.broadcast({ kind: 'slot-lost', slot })
  }

  /** Metrics of the port that clients connect to first, and of every query thread; one that is down gives none. */
  async metrics(): Promise<ReadonlyMap<string, MetricSnapshot>> {
    const found = new Map([['bootstrap', this.bootstrapMetrics.snapshot()]])
    await Promise.all(
      this.members.map(async (link, thread) => {
        if (link.listening > 0) found.set(String(thread), await link.metrics())
      }),
    )
    return found
  }

  /** Answers all requests, then ends every query thread and closes the bootstrap port. Idempotent. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    this.jobRouting.close()
    const ended = this.members.map((link) => link.close())
    await Promise.all([...ended, this.bootstrap.close()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
