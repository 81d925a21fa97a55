import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { Cancel } from '../core/clock.ts'
import { messageOf, WeirError } from '../core/errors.ts'
import type { Hello } from '../wire/hello.ts'
import { WriterPool } from '../wire/writer-pool.ts'
import type { QueryBackend } from './query-backend.ts'
import { type ConnectionContext, QueryConnection } from './query-connection.ts'
import { QueryMetrics } from './query-metrics.ts'
import {
  type QueryServerOptions,
  type ResolvedQueryOptions,
  resolveQueryOptions,
} from './query-options.ts'
import { SparseRequests } from './query-sparse-requests.ts'
import { SyncRequests } from './query-sync-requests.ts'

const SWEEP_MS = 1_000
const BACKLOG = 1024
const HANDSHAKE_MS = 10_000

/**
 * Serves queryable state over TCP in the thread it is created in. Loopback and without a token
 * unless told otherwise. `docs/reference/query-protocol.md` draws the protocol.
 */
export class QueryServer {
  private readonly options: ResolvedQueryOptions
  private readonly server: Server
  private readonly connections = new Set<QueryConnection>()
  private readonly context: ConnectionContext
  private readonly metrics: QueryMetrics
  private cancelSweep: Cancel | undefined
  private closing: Promise<void> | undefined

  constructor(backend: QueryBackend, options: QueryServerOptions = {}) {
    this.options = resolveQueryOptions(options)
    this.metrics = new QueryMetrics(this.options.metrics)
    this.context = {
      options: this.options,
      backend,
      metrics: this.metrics,
      sync: new SyncRequests(this.metrics),
      sparse: new SparseRequests(this.metrics),
      writers: new WriterPool(),
      admit: (hello) => this.admit(hello, backend.routing().job),
      closed: (connection) => this.connections.delete(connection),
    }
    this.server =
      this.options.tls === undefined
        ? createServer(this.accept)
        : tlsServer({ handshakeTimeout: HANDSHAKE_MS, ...this.options.tls }, this.accept)
    // Beyond those that are told why, the system drops connections unheard.
    this.server.maxConnections = this.options.limits.maxConnections * 2
  }

  /** Listens on the first port that is free and returns it. Rejects with CONNECTOR_FAILED. */
  async listen(): Promise<number> {
    const { host, ports } = this.options
    const failures: unknown[] = []
    for (const port of ports) {
      this.server.listen({ host, port, backlog: BACKLOG })
      try {
        await once(this.server, 'listening')
        this.server.on('error', () => this.metrics.refusedConnections.increment())
        this.scheduleSweep()
        return this.port
      } catch (cause) {
        failures.push(cause)
      }
    }
    throw new WeirError(
      'CONNECTOR_FAILED',
      `cannot listen on ${host}:${ports.join(',')}: ${failures.map(messageOf).join('; ')}`,
      { cause: failures.at(-1) },
    )
  }

  /** Port it listens on. */
  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Clients connected now. */
  get connectionCount(): number {
    return this.connections.size
  }

  private readonly accept = (socket: Socket): void => {
    this.metrics.connections.increment()
    const connection = new QueryConnection(socket, this.context)
    if (this.connections.size >= this.options.limits.maxConnections) {
      this.metrics.refusedConnections.increment()
      this.connections.add(connection)
      connection.fail(
        new WeirError('OVERLOADED', 'the server has as many connections as it accepts', {
          details: { limit: this.options.limits.maxConnections },
        }),
      )
      return
    }
    this.connections.add(connection)
  }

  private admit(hello: Hello, job: string): void {
    const { token } = this.options
    if (token !== undefined && !sameSecret(token, hello.token)) {
      throw new WeirError('UNAUTHENTICATED', 'the token is missing or wrong; give the job’s token')
    }
    if (hello.job !== '' && job !== '' && hello.job !== job) {
      throw new WeirError('UNAVAILABLE', `this server serves job ${job}, not ${hello.job}`, {
        details: { job },
      })
    }
  }

  private scheduleSweep(): void {
    this.cancelSweep = this.options.clock.after(SWEEP_MS, () => {
      const now = this.options.clock.monotonicMs()
      for (const connection of this.connections) connection.sweep(now)
      this.scheduleSweep()
    })
  }

  /**
   * Stops to listen, answers what was asked, closes every connection; those still open after
   * `graceMs` are cut. Idempotent.
   */
  close(graceMs = 2_000): Promise<void> {
    this.closing ??= this.closeOnce(graceMs)
    return this.closing
  }

  private async closeOnce(graceMs: number): Promise<void> {
    this.cancelSweep?.()
    const closed = this.server.listening ? once(this.server, 'close') : Promise.resolve()
    this.server.close()
    const cancel = this.options.clock.after(graceMs, () => {
      for (const connection of this.connections) connection.destroy()
    })
    for (const connection of this.connections) void connection.drain()
    await closed
    cancel()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Compares in constant time, whatever the lengths. */
function sameSecret(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(expected), digest(given))
}

/** `node:tls` is loaded where it is used: it takes a fifth of a query thread's start. */
function tlsServer(options: TlsOptions, accept: (socket: Socket) => void): Server {
  return process.getBuiltinModule('node:tls').createServer(options, accept)
}
