import type { MessagePort } from 'node:worker_threads'
import { type Cancel, type Clock, systemClock } from '../../core/clock.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { tracer } from '../../core/tracing/tracer.ts'
import { ProgressBoard } from '../../state/catalog/progress-board.ts'
import { StateCatalog } from '../../state/catalog/state-catalog.ts'
import { answerErrorOf } from '../../wire/answer.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { RoutingTable } from '../../wire/routing-table.ts'
import { SlotPorts } from '../catalog/slot-ports.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import { LocalModelReader } from '../reader/model-reader.ts'
import { QueryServer } from '../server/query-server.ts'
import type { QueryThreadCommand, QueryThreadReport, QueryThreadSetup } from './messages.ts'

/** Time between two attempts to listen; only the first failure is reported. */
const LISTEN_AGAIN_MS = 500

/**
 * One query thread: the catalog of readable state, the in-place reader over it, and a query server. It
 * is a plain object over a message port, so that it runs in a worker or in the calling thread.
 */
export class QueryThread {
  private readonly port: MessagePort
  private readonly clock: Clock
  private readonly catalog = new StateCatalog()
  private readonly slots = new SlotPorts()
  private readonly metrics = new MetricGroup()
  private server: QueryServer | undefined
  private cancelRetry: Cancel | undefined
  private isClosed = false
  private board: ProgressBoard | undefined
  private readonly started = Promise.withResolvers<ModelReader>()
  private models: ReadonlyMap<string, number> = new Map()
  private table: RoutingTable = { epoch: 0, job: '', endpoints: [], states: [], sources: [] }

  constructor(port: MessagePort, clock: Clock = systemClock) {
    this.port = port
    this.clock = clock
    port.on('message', (command: QueryThreadCommand) => this.handle(command))
  }

  /** The reader of this thread; resolves when the job has started. */
  get reader(): Promise<ModelReader> {
    return this.started.promise
  }

  private handle(command: QueryThreadCommand): void {
    switch (command.kind) {
      case 'start':
        this.start(command.setup).catch((error) => this.reportFailure(error))
        return
      case 'table-opened':
        this.catalog.add(command.share)
        this.report({ kind: 'table-known', number: command.number })
        return
      case 'table-dropped':
        this.catalog.drop(command)
        return
      case 'tables-complete':
        this.catalog.setSlotTables(command.tables)
        return
      case 'typed-state':
        this.catalog.addTyped(command.share)
        return
      case 'attach-slot':
        this.slots.attach(command.slot, command.port)
        return
      case 'slot-lost':
        this.slots.detach(command.slot)
        return
      case 'routing':
        this.table = command.table
        return
      case 'access':
        this.server?.replaceAccess(command.share)
        return
      case 'metrics':
        this.report({
          kind: 'metrics',
          request: command.request,
          metrics: this.metrics.snapshot(),
        })
        return
      case 'close':
        void this.close()
    }
  }

  private async start(setup: QueryThreadSetup): Promise<void> {
    const board = new ProgressBoard(setup.board)
    this.board = board
    this.models = new Map(setup.models.map((name, model) => [name, model]))
    const reader = new LocalModelReader({
      catalog: this.catalog,
      board,
      clock: this.clock,
      modelOf: (name) => this.models.get(name),
      server: setup.server,
      slots: this.slots,
      hotWeights: setup.hotWeights,
    })
    this.started.resolve(reader)
    if (setup.ports.length === 0) {
      this.report({ kind: 'reading' })
      return
    }
    this.server = new QueryServer(this.backendOf(reader), {
      host: setup.host,
      ports: setup.ports,
      server: setup.server,
      job: setup.job,
      access: setup.access,
      ...(setup.tls === undefined ? {} : { tls: setup.tls }),
      limits: setup.limits,
      clock: this.clock,
      metrics: this.metrics,
    })
    await this.listen(this.server)
  }

  /** Listens; tries again until a port is free, because an earlier process may still hold the ports. */
  private async listen(server: QueryServer, attempt = 1): Promise<void> {
    try {
      this.report({ kind: 'listening', port: await server.listen() })
    } catch (error) {
      if (this.isClosed) return
      if (attempt === 1) this.reportFailure(error)
      const again = (): void => void this.listen(server, attempt + 1)
      this.cancelRetry = this.clock.after(LISTEN_AGAIN_MS, again)
    }
  }

  private backendOf(reader: LocalModelReader): QueryBackend {
    return {
      reader,
      predictDeferred: (state, deferred, options) =>
        reader.predictDeferred(state, deferred, options),
      topKRanked: (state, query, options) => reader.topKRanked(state, query, options),
      scanPage: (state, range, options) => reader.scanPage(state, range, options),
      open: (state, version, consistency) => reader.open(state, version, consistency),
      routingEpoch: () => this.board?.routingEpoch() ?? this.table.epoch,
      routing: () => this.routing(),
    }
  }

  /** The main thread's table with the current live versions. */
  private routing(): RoutingTable {
    const { board, models } = this
    const states = this.table.states.map((state) => {
      const model = models.get(state.name)
      if (model === undefined || board === undefined) return state
      return { ...state, liveVersion: board.liveVersion(model) }
    })
    return { ...this.table, epoch: board?.routingEpoch() ?? this.table.epoch, states }
  }

  private reportFailure(thrown: unknown): void {
    const { code, message } = answerErrorOf(thrown)
    this.report({ kind: 'failed', code, message })
  }

  private async close(): Promise<void> {
    this.isClosed = true
    this.cancelRetry?.()
    await this.server?.close()
    this.slots.close()
    await tracer?.flush()
    this.report({ kind: 'closed' })
    this.port.close()
  }

  private report(report: QueryThreadReport): void {
    this.port.postMessage(report)
  }
}
