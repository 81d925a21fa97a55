import type { MessagePort } from 'node:worker_threads'
import { type Cancel, type Clock, systemClock } from '../core/clock.ts'
import { MetricGroup } from '../core/metrics.ts'
import { ProgressBoard } from '../state/progress-board.ts'
import { asWeirError } from '../wire/answer.ts'
import type { RoutingTable } from '../wire/routing-table.ts'
import { LocalCatalog } from './local-catalog.ts'
import { LocalModelReader } from './local-model-reader.ts'
import type { QueryBackend } from './query-backend.ts'
import type { QueryThreadCommand, QueryThreadReport, QueryThreadSetup } from './query-messages.ts'
import { QueryServer } from './query-server.ts'
import { SlotPorts } from './slot-ports.ts'

/** Time between two attempts to get a port, of which the first failure is told. */
const LISTEN_AGAIN_MS = 500

/**
 * One query thread: a catalog of what can be read, the in-place reader over it, and a query server.
 * A plain object over a message port, so that it runs in a worker or in the calling thread.
 */
export class QueryThread {
  private readonly port: MessagePort
  private readonly clock: Clock
  private readonly catalog = new LocalCatalog()
  private readonly slots = new SlotPorts()
  private readonly metrics = new MetricGroup()
  private server: QueryServer | undefined
  private cancelRetry: Cancel | undefined
  private isClosed = false
  private board: ProgressBoard | undefined
  private models: ReadonlyMap<string, number> = new Map()
  private table: RoutingTable = { epoch: 0, job: '', endpoints: [], states: [] }

  constructor(port: MessagePort, clock: Clock = systemClock) {
    this.port = port
    this.clock = clock
    port.on('message', (command: QueryThreadCommand) => this.obey(command))
  }

  private obey(command: QueryThreadCommand): void {
    switch (command.kind) {
      case 'start':
        this.start(command.setup).catch((error) => this.reportFailure(error))
        return
      case 'table-opened':
        this.catalog.add(command.share)
        return
      case 'table-dropped': {
        const { operatorUid, state, version, slot } = command
        this.catalog.drop(operatorUid, state, version, slot)
        return
      }
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
      gateway: this.slots,
    })
    this.server = new QueryServer(this.backendOf(reader), {
      host: setup.host,
      ports: setup.ports,
      server: setup.server,
      job: setup.job,
      ...(setup.token === undefined ? {} : { token: setup.token }),
      ...(setup.tls === undefined ? {} : { tls: setup.tls }),
      limits: setup.limits,
      clock: this.clock,
      metrics: this.metrics,
    })
    await this.listen(this.server)
  }

  /** The process before this one may still hold the ports: the thread tries until it has one. */
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
      open: (state, version, consistency) => reader.open(state, version, consistency),
      routingEpoch: () => this.table.epoch,
      routing: () => this.routing(),
    }
  }

  /** The main thread's table with the live versions of this moment. */
  private routing(): RoutingTable {
    const { board, models } = this
    const states = this.table.states.map((state) => {
      const model = models.get(state.name)
      if (model === undefined || board === undefined) return state
      return { ...state, liveVersion: board.liveVersion(model) }
    })
    return { ...this.table, states }
  }

  private reportFailure(thrown: unknown): void {
    const { code, message } = asWeirError(thrown)
    this.report({ kind: 'failed', code, message })
  }

  private async close(): Promise<void> {
    this.isClosed = true
    this.cancelRetry?.()
    await this.server?.close()
    this.slots.close()
    this.report({ kind: 'closed' })
    this.port.close()
  }

  private report(report: QueryThreadReport): void {
    this.port.postMessage(report)
  }
}
