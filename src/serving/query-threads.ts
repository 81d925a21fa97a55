import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { type Clock, systemClock } from '../core/clock.ts'
import { messageOf, requireArgument } from '../core/errors.ts'
import { keyGroupRangeOf } from '../core/key-group.ts'
import type { MetricGroup, MetricSnapshot } from '../core/metrics.ts'
import { type PortRange, portsOfThread } from '../core/port-range.ts'
import { ProgressBoard, type ProgressBoardShare, type SlotStatus } from '../state/progress-board.ts'
import type { RowTableShare } from '../state/row-table-share.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import { BootstrapBackend } from './bootstrap-backend.ts'
import type { TypedStateShare } from './local-catalog.ts'
import type { QueryThreadCommand, QueryThreadReport, TlsFiles } from './query-messages.ts'
import type { QueryLimits } from './query-options.ts'
import { QueryServer } from './query-server.ts'
import type { QueryThread } from './query-thread.ts'
import { type QueryWorkers, startQueryWorker } from './query-workers.ts'
import { type OpenTable, ServedStates } from './served-states.ts'

/** Options of `QueryThreads.start`. */
export interface QueryThreadsOptions {
  /** Query threads, at least 1. */
  readonly threads: number
  /** Run the query servers in the calling thread instead of workers: for tests and examples. */
  readonly inCallingThread?: boolean
  /** Workers that were started before; the caller ends those that are not needed. */
  readonly workers?: QueryWorkers | undefined
  /** @default '127.0.0.1' */
  readonly host?: string
  /** Bootstrap port; 0 lets the system choose. @default 9069 */
  readonly port?: number
  /** Ports that the threads share out among them; the system chooses when missing. */
  readonly threadPorts?: PortRange | undefined
  readonly token?: string
  readonly tls?: TlsFiles
  readonly limits?: Partial<QueryLimits>
  /** Queryable names of vector state; a name's place is its model number on the board. */
  readonly models?: readonly string[]
  readonly metrics?: MetricGroup
  readonly clock?: Clock
}

/** A state that a slot declares queryable (the runtime's QueryableDeclaration). */
export interface DeclaredState {
  readonly queryableName: string
  readonly stateKind: string
  readonly slot: number
  readonly parallelism: number
  readonly maxParallelism: number
}

const DEFAULT_PORT = 9069
const RESTART_DELAY_MS = 100

/** One query thread as the main thread sees it. */
interface Thread {
  readonly number: number
  port: MessagePort
  worker: Worker | undefined
  /** Port it listens on, 0 before it does. */
  listening: number
}

/**
 * The query threads of a process and the bootstrap port, driven from the main thread: started once,
 * told what slots serve, closed with the job. Has the shape of the runtime's ServingGateway.
 */
export class QueryThreads {
  /** Query threads; a slot gives each of them a port of its own. */
  readonly threads: number
  private readonly options: QueryThreadsOptions
  private readonly clock: Clock
  private readonly members: Thread[] = []
  private readonly states = new ServedStates()
  private readonly bootstrap: QueryServer
  private readonly metricWaiters = new Map<number, (metrics: MetricSnapshot) => void>()
  private readonly ready = Promise.withResolvers<void>()
  private jobName = ''
  private board: ProgressBoard | undefined
  private table: RoutingTable = { epoch: 0, job: '', endpoints: [], states: [] }
  private routingScheduled = false
  private nextMetricRequest = 1
  private isClosed = false
  /** Of threads that run in the calling thread. */
  private Inline: typeof QueryThread | undefined
  private threadReplaced: (thread: number) => void = () => {}
  private threadLost: (thread: number, reason: string) => void = () => {}

  private constructor(options: QueryThreadsOptions) {
    requireArgument(
      Number.isInteger(options.threads) && options.threads >= 1,
      `a job needs at least one query thread, not ${options.threads}`,
    )
    this.options = options
    this.threads = options.threads
    this.portsOf(0)
    this.clock = options.clock ?? systemClock
    this.bootstrap = new QueryServer(new BootstrapBackend(() => this.table), {
      host: options.host ?? '127.0.0.1',
      ports: [options.port ?? DEFAULT_PORT],
      server: 'bootstrap',
      ...(options.token === undefined ? {} : { token: options.token }),
      ...(options.tls === undefined ? {} : { tls: options.tls }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.metrics === undefined ? {} : { metrics: options.metrics.group('bootstrap') }),
      clock: this.clock,
    })
  }

  /** Opens the bootstrap port; query threads start with the job. Rejects with CONNECTOR_FAILED. */
  static async start(options: QueryThreadsOptions): Promise<QueryThreads> {
    const threads = new QueryThreads(options)
    // The main thread of a process has no use for the reader's code.
    if (options.inCallingThread === true) {
      threads.Inline = (await import('./query-thread.ts')).QueryThread
    }
    await threads.bootstrap.listen()
    for (let number = 0; number < options.threads; number++) threads.spawn(number)
    return threads
  }

  /** Port that clients connect to first. */
  get port(): number {
    return this.bootstrap.port
  }

  /** Resolves when every query thread listens. */
  listening(): Promise<void> {
    return this.ready.promise
  }

  /** The routing table that clients get now. */
  get routing(): RoutingTable {
    return this.table
  }

  private spawn(number: number): void {
    const { Inline } = this
    if (Inline !== undefined) {
      const { port1, port2 } = new MessageChannel()
      this.enter({ number, port: port1, worker: undefined, listening: 0 })
      new Inline(port2, this.clock)
      return
    }
    const { worker, port } = this.options.workers?.take() ?? startQueryWorker()
    const member: Thread = { number, port, worker, listening: 0 }
    this.enter(member)
    worker.on('error', (error) => this.onEnd(member, messageOf(error)))
    worker.on('exit', (code) => this.onEnd(member, `it exited with code ${code}`))
  }

  private enter(member: Thread): void {
    member.port.on('message', (report: QueryThreadReport) => this.onReport(member, report))
    this.members[member.number] = member
  }

  /** A thread that ends by itself comes back; what lies in shared memory it reads again at once. */
  private onEnd(member: Thread, reason: string): void {
    if (this.isClosed || this.members[member.number] !== member) return
    this.threadLost(member.number, reason)
    member.port.close()
    member.listening = 0
    this.members[member.number] = { ...member, worker: undefined }
    this.routingChanged()
    this.clock.after(RESTART_DELAY_MS, () => {
      if (this.isClosed) return
      this.spawn(member.number)
      this.tellAll(this.members[member.number]!)
      this.threadReplaced(member.number)
    })
  }

  private onReport(member: Thread, report: QueryThreadReport): void {
    if (report.kind === 'listening') {
      member.listening = report.port
      this.routingChanged()
      if (this.members.every((other) => other.listening > 0)) this.ready.resolve()
    } else if (report.kind === 'failed') {
      this.threadLost(member.number, report.message)
    } else if (report.kind === 'metrics') {
      this.metricWaiters.get(report.request)?.(report.metrics)
      this.metricWaiters.delete(report.request)
    } else member.port.close()
  }

  /** The job has begun: query threads open their ports. */
  jobStarted(jobName: string, board: ProgressBoardShare): void {
    this.jobName = jobName
    this.board = new ProgressBoard(board)
    for (const member of this.members) this.setUp(member)
    this.routingChanged()
  }

  private setUp(member: Thread): void {
    if (this.board === undefined) return
    this.send(member, {
      kind: 'start',
      setup: {
        server: `query-${member.number}`,
        host: this.options.host ?? '127.0.0.1',
        ports: this.portsOf(member.number),
        job: this.jobName,
        token: this.options.token,
        tls: this.options.tls,
        limits: this.options.limits ?? {},
        board: this.board.share,
        models: this.options.models ?? [],
      },
    })
  }

  private portsOf(thread: number): readonly number[] {
    const { threadPorts } = this.options
    return threadPorts === undefined ? [0] : portsOfThread(threadPorts, thread, this.threads)
  }

  private tellAll(member: Thread): void {
    this.setUp(member)
    for (const { share } of this.states.tables()) this.send(member, { kind: 'table-opened', share })
    for (const share of this.states.typed()) this.send(member, { kind: 'typed-state', share })
    this.send(member, { kind: 'routing', table: this.table })
  }

  private send(
    member: Thread,
    command: QueryThreadCommand,
    transfer: readonly MessagePort[] = [],
  ): void {
    member.port.postMessage(command, transfer)
  }

  private broadcast(command: QueryThreadCommand): void {
    for (const member of this.members) this.send(member, command)
  }

  /**
   * A slot writes a row table that may be read in place. While an older attempt's table of the same
   * state, version and slot is open, that one is read on until it is dropped.
   */
  tableOpened(share: RowTableShare, attempt: number): void {
    const opened = this.states.open({ share, attempt })
    if (opened) this.broadcast({ kind: 'table-opened', share })
    this.routingChanged()
  }

  /** The table of this attempt is not to be read any more. */
  tableDropped(share: RowTableShare, attempt: number): void {
    const outcome = this.states.drop({ share, attempt })
    if (outcome.kind === 'replaced') {
      this.broadcast({ kind: 'table-opened', share: outcome.by.share })
    } else if (outcome.kind === 'gone') this.broadcastDrop({ share, attempt })
    this.routingChanged()
  }

  private broadcastDrop({ share }: OpenTable): void {
    const { slot, operatorUid, state, version } = share
    this.broadcast({ kind: 'table-dropped', slot, operatorUid, state, version })
  }

  /** Requests sent on the port are answered by the slot. */
  attachSlot(slot: number, thread: number, port: MessagePort): void {
    const member = this.members[thread]
    if (member === undefined) port.close()
    else this.send(member, { kind: 'attach-slot', slot, port }, [port])
  }

  /** Calls `listener` after a thread was replaced: it needs a port to every slot. */
  onThreadReplaced(listener: (thread: number) => void): void {
    this.threadReplaced = listener
  }

  /**
   * Calls `listener` when a query thread cannot do its work: it ended by itself and is started again,
   * or no port of its is free and it keeps trying.
   */
  onThreadLost(listener: (thread: number, reason: string) => void): void {
    this.threadLost = listener
  }

  slotStatus(slot: number, status: SlotStatus): void {
    if (status === 'down') this.broadcast({ kind: 'slot-lost', slot })
  }

  /** A state can be queried by name; repeated for every slot and attempt. */
  declareQueryable(declaration: DeclaredState): void {
    if (declaration.stateKind === 'vector') return
    const { slot, parallelism, maxParallelism, queryableName } = declaration
    const range = keyGroupRangeOf(slot, parallelism, maxParallelism)
    const share: TypedStateShare = {
      queryableName,
      kind: declaration.stateKind,
      slot,
      firstKeyGroup: range.first,
      lastKeyGroup: range.last,
      maxParallelism,
    }
    this.states.declare(share)
    this.broadcast({ kind: 'typed-state', share })
    this.routingChanged()
  }

  /** Changes of one turn make one routing table, with the epoch the board has then. */
  private routingChanged(): void {
    if (this.routingScheduled || this.isClosed) return
    this.routingScheduled = true
    setImmediate(() => {
      this.routingScheduled = false
      if (this.isClosed) return
      this.board?.bumpRoutingEpoch()
      this.table = this.buildTable()
      this.broadcast({ kind: 'routing', table: this.table })
    })
  }

  private buildTable(): RoutingTable {
    const { board, options } = this
    return {
      epoch: board?.routingEpoch() ?? 0,
      job: this.jobName,
      endpoints: this.members
        .filter(({ listening }) => listening > 0)
        .map(({ number, listening }) => ({
          server: `query-${number}`,
          host: '',
          port: listening,
        })),
      states: this.states.infos((name) => {
        const model = options.models?.indexOf(name) ?? -1
        return model < 0 || board === undefined ? 0 : board.liveVersion(model)
      }),
    }
  }

  /** Metrics of every query thread, in their order; a thread that is down gives none. */
  metrics(): Promise<MetricSnapshot[]> {
    const alive = this.members.filter(({ listening }) => listening > 0)
    return Promise.all(
      alive.map((member) => {
        const request = this.nextMetricRequest++
        return new Promise<MetricSnapshot>((resolve) => {
          this.metricWaiters.set(request, resolve)
          this.send(member, { kind: 'metrics', request })
        })
      }),
    )
  }

  /** Answers what was asked, then ends every query thread and the bootstrap port. Idempotent. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    const ended = this.members.map((member) => closeMember(member))
    await Promise.all([...ended, this.bootstrap.close()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function closeMember(member: Thread): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>()
  member.port.on('close', resolve)
  member.port.postMessage({ kind: 'close' } satisfies QueryThreadCommand)
  return promise.then(() => member.worker?.terminate())
}
