import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { Cancel, Clock } from '../../core/clock.ts'
import { messageOf, WeirError } from '../../core/errors.ts'
import { collectWhenIdle } from '../../core/lifetime/idle-collection.ts'
import { ByteBudget } from '../../http/access/byte-budget.ts'
import { AccessControl, type AccessShare } from '../../http/access/control.ts'
import { unauthenticatedError } from '../../http/access/refusals.ts'
import type { Principal } from '../../http/access/token-verifier.ts'
import { ConnectionShare } from '../../http/connection-share.ts'
import type { Hello } from '../../wire/hello.ts'
import { statusOf } from '../../wire/status.ts'
import { WriterPool } from '../../wire/writer-pool.ts'
import type { QueryBackend } from '../port/query-backend.ts'
import { type ConnectionContext, QueryConnection } from './connection.ts'
import { ConnectionTurns } from './connection-turns.ts'
import { QueryMetrics } from './metrics.ts'
import {
  type QueryServerOptions,
  type ResolvedQueryOptions,
  resolveQueryOptions,
} from './options.ts'
import { RefusedConnections } from './refused-connections.ts'
import { SparseRequests } from './sparse-requests.ts'
import { SyncRequests } from './sync-requests.ts'

const SWEEP_MS = 1_000
/** Time of one turn of the event loop that a sweep takes. */
const SWEEP_TURN_MS = 0.5
const BACKLOG = 1024
/** Refused connections that may wait to read why, as a share of the connections that are served. */
const WAITING_SHARE = 0.75
const HANDSHAKE_MS = 5_000
/** Memory for frames that are not whole, and the least of it that one client may have. */
const RECEIVED_BYTES = 256 * 1024 * 1024
const RECEIVED_SHARE = 16 * 1024 * 1024

/**
 * Serves queryable state over TCP in the thread that creates it; by default on the loopback interface
 * and without a token. `docs/reference/query-protocol.md` describes the protocol.
 */
export class QueryServer {
  private readonly options: ResolvedQueryOptions
  private readonly server: Server
  private readonly connections = new Set<QueryConnection>()
  private readonly refused: RefusedConnections
  /** Number of connections by the address that they come from. */
  private readonly perAddress = new Map<string, number>()
  private readonly context: ConnectionContext
  private readonly metrics: QueryMetrics
  private readonly access: AccessControl
  private cancelSweep: Cancel | undefined
  /** The connections of TLS, also those whose handshake is not over. */
  private handshakes: ConnectionShare | undefined
  private stopCollecting: () => void = () => {}
  private closing: Promise<void> | undefined

  constructor(backend: QueryBackend, options: QueryServerOptions = {}) {
    this.options = resolveQueryOptions(options)
    this.refused = new RefusedConnections({
      mostWaiting: Math.floor(this.options.limits.maxConnections * WAITING_SHARE),
      isRefused: (address) => this.closesUnanswered(address),
      clock: this.options.clock,
    })
    this.metrics = new QueryMetrics(this.options.metrics)
    this.access = new AccessControl(this.options.access, this.options.clock)
    this.context = {
      options: this.options,
      access: this.access,
      backend,
      metrics: this.metrics,
      sync: new SyncRequests(this.metrics),
      sparse: new SparseRequests(this.metrics),
      writers: new WriterPool(),
      received: new ByteBudget({
        most: RECEIVED_BYTES,
        mostPerClient: Math.max(RECEIVED_SHARE, this.options.limits.maxFrameBytes * 1.5),
      }),
      turns: new ConnectionTurns(() => this.options.clock.monotonicMs()),
      admit: (hello, from) => this.admit(hello, from, backend.routing().job),
      closed: (connection) => this.closed(connection),
    }
    const { blockList } = this.refused
    const { tls } = this.options
    this.server =
      tls === undefined
        ? createServer({ blockList }, this.accept)
        : tlsServer({ blockList, handshakeTimeout: HANDSHAKE_MS, ...mutual(tls) }, this.accept)
    // Connections up to twice the limit are accepted and refused with OVERLOADED; Node drops the rest.
    const most = this.options.limits.maxConnections * 2
    if (tls === undefined) this.server.maxConnections = most
    else this.handshakes = shareOf(this.server, most, this.options.clock)
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
        this.stopCollecting = collectWhenIdle()
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

  /** Open connections. */
  get connectionCount(): number {
    return this.connections.size
  }

  private readonly accept = (socket: Socket): void => {
    this.metrics.connections.increment()
    this.handshakes?.isServed(socket)
    const address = socket.remoteAddress ?? ''
    const refusal = this.refusalOf(address)
    if (refusal !== undefined) {
      this.metrics.refusedConnections.increment()
      this.metrics.failed(statusOf(refusal.code))
      this.refused.refuse(socket, refusal)
      return
    }
    this.connections.add(new QueryConnection(socket, address, this.context))
    this.perAddress.set(address, this.connectionsOf(address) + 1)
  }

  private closesUnanswered(address: string): boolean {
    if (!this.hasTooMany(address) && this.hasRoom()) return false
    this.metrics.connections.increment()
    this.metrics.refusedConnections.increment()
    return true
  }

  private connectionsOf(address: string): number {
    return this.perAddress.get(address) ?? 0
  }

  /** Why a connection cannot be served; undefined when it can. */
  private refusalOf(address: string): WeirError | undefined {
    const { maxConnections, maxConnectionsPerAddress } = this.options.limits
    if (this.hasTooMany(address)) {
      const what = `the limit of connections from ${address}`
      return overloaded(what, maxConnectionsPerAddress)
    }
    return this.hasRoom() ? undefined : overloaded('its limit of connections', maxConnections)
  }

  private hasTooMany(address: string): boolean {
    if (this.connectionsOf(address) < this.options.limits.maxConnectionsPerAddress) return false
    // What was begun and is not whole gives way to a connection of its own address, not to those of others.
    return !this.drop((one, now) => one.address === address && (one.isHalf || one.isSilent(now)))
  }

  private hasRoom(): boolean {
    return this.connections.size < this.options.limits.maxConnections || this.drop(isSilent)
  }

  /** Cuts the oldest connection that gives way; false without one. */
  private drop(givesWay: (connection: QueryConnection, now: number) => boolean): boolean {
    const now = this.options.clock.monotonicMs()
    for (const connection of this.connections) {
      if (!givesWay(connection, now)) continue
      connection.destroy()
      return true
    }
    return false
  }

  private closed(connection: QueryConnection): void {
    if (!this.connections.delete(connection)) return
    const left = this.connectionsOf(connection.address) - 1
    if (left > 0) this.perAddress.set(connection.address, left)
    else this.perAddress.delete(connection.address)
  }

  private admit(hello: Hello, from: Socket, job: string): Principal {
    const principal = this.access.authenticate(hello.token, from)
    if (principal === undefined) throw unauthenticatedError(hello.token)
    if (hello.job !== '' && job !== '' && hello.job !== job) {
      throw new WeirError('UNAVAILABLE', `this server serves job ${job}, not ${hello.job}`, {
        details: { job },
      })
    }
    return principal
  }

  /** Uses other tokens from now on. Connections whose token is no longer accepted are closed. */
  replaceAccess(share: AccessShare): void {
    this.access.replace(share)
    for (const connection of this.connections) connection.accessChanged()
  }

  private scheduleSweep(): void {
    this.cancelSweep = this.options.clock.after(SWEEP_MS, () => {
      const now = this.options.clock.monotonicMs()
      this.refused.sweep(now)
      this.sweepNext(this.connections.values(), now)
    })
  }

  /**
   * Sweeps the next connections, the others in later turns of the event loop: hundreds that came at the same
   * time end at the same time.
   */
  private sweepNext(rest: IterableIterator<QueryConnection>, now: number): void {
    const { clock } = this.options
    const end = clock.monotonicMs() + SWEEP_TURN_MS
    for (;;) {
      const next = rest.next()
      if (next.done === true) {
        this.scheduleSweep()
        return
      }
      next.value.sweep(now)
      if (clock.monotonicMs() > end) break
    }
    const turn = setImmediate(() => this.sweepNext(rest, now))
    this.cancelSweep = () => clearImmediate(turn)
  }

  /**
   * Stops listening, answers all requests, then closes every connection. Connections that are still open
   * after `graceMs` are cut. Idempotent.
   */
  close(graceMs = 2_000): Promise<void> {
    this.closing ??= this.closeOnce(graceMs)
    return this.closing
  }

  private async closeOnce(graceMs: number): Promise<void> {
    this.cancelSweep?.()
    this.stopCollecting()
    this.handshakes?.[Symbol.dispose]()
    this.refused.close()
    const closed = this.server.listening ? once(this.server, 'close') : Promise.resolve()
    this.server.close()
    const cancel = this.options.clock.after(graceMs, () => {
      for (const connection of this.connections) connection.destroy()
      this.refused.destroy()
    })
    for (const connection of this.connections) void connection.drain()
    await closed
    cancel()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/**
 * The connections of a server, of which half may come from one address. Before its handshake a connection of TLS is not
 * yet one of the server, and thousands that begin none would leave no place for others.
 */
function shareOf(server: Server, most: number, clock: Clock): ConnectionShare {
  const share = new ConnectionShare({ most, helloMs: HANDSHAKE_MS }, clock)
  share.attachConnections(server)
  return share
}

const isSilent = (connection: QueryConnection, now: number): boolean => connection.isSilent(now)

function overloaded(what: string, limit: number): WeirError {
  return new WeirError('OVERLOADED', `the server has reached ${what}; try again later`, {
    details: { limit },
  })
}

/** Options of a server that requires certificates of its clients when it names who signs them. */
function mutual(options: TlsOptions): TlsOptions {
  return options.ca === undefined
    ? options
    : { requestCert: true, rejectUnauthorized: true, ...options }
}

/** `node:tls` is loaded only when it is used: it takes a fifth of a query thread's start. */
function tlsServer(options: TlsOptions, accept: (socket: Socket) => void): Server {
  return process.getBuiltinModule('node:tls').createServer(options, accept)
}
