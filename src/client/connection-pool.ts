import { sleep } from '../core/clock.ts'
import { WeirError } from '../core/errors.ts'
import type { QueryEndpoint, RoutingTable } from '../wire/routing-table.ts'
import { ClientConnection, type ClientContext } from './connection.ts'
import { channels } from './diagnostics.ts'
import type { ResolvedClientOptions } from './options.ts'
import { mergedTable } from './owners/key-owners.ts'
import { backoffMs } from './retry-decision.ts'

/** Shortest time between two refreshes of the routing table because of an answer's epoch. */
const REFRESH_MS = 100

/** Most processes of a job that are asked for the routing table at a time. */
const MOST_ASKED = 8

/** Why there is no connection where the routing table has no endpoint. */
const NO_SERVER_YET = 'the job has no query server yet'

/** The connection to one query thread, and its reconnection. */
interface Member {
  readonly host: string
  readonly port: number
  connection: ClientConnection | undefined
  failures: number
  cancelRetry: (() => void) | undefined
}

/**
 * Connections to every query thread of the routing table. Lost connections are opened again with
 * backoff. The table is fetched again when an answer has another epoch.
 */
export class ConnectionPool {
  private readonly options: ResolvedClientOptions
  private readonly context: ClientContext
  private members: Member[] = []
  private table: RoutingTable | undefined
  private refreshing: Promise<void> | undefined
  private refreshedAt = Number.NEGATIVE_INFINITY
  /** Epoch of the last answer. */
  private lastEpoch = 0
  private turn = 0
  private isClosed = false
  private lastError: WeirError | undefined
  /** The connection that fetched the last table from the bootstrap port; closed after it. */
  private bootstrap: ClientConnection | undefined

  constructor(options: ResolvedClientOptions, shared: Pick<ClientContext, 'wheel' | 'writers'>) {
    this.options = options
    this.context = {
      options,
      ...shared,
      epochSeen: (epoch) => this.epochSeen(epoch),
      lost: (connection) => this.lost(connection),
    }
  }

  /**
   * Fetches the routing table and opens a connection to every endpoint; one must succeed before the deadline.
   * Where the bootstrap port refuses the connection this fails at once.
   */
  async open(): Promise<void> {
    const { clock, deadlineMs } = this.options
    const deadline = Promise.withResolvers<void>()
    const opening = this.tryToOpen(clock.monotonicMs() + deadlineMs)
    const cancel = clock.after(deadlineMs, () => {
      // The endpoints that do not answer are tried further beside the one that is open.
      if (this.pick() === undefined) deadline.reject(this.reason)
      else deadline.resolve()
    })
    try {
      await Promise.race([opening, deadline.promise])
    } finally {
      cancel()
    }
  }

  /**
   * There may be no endpoint for a while, because the job starts or replaces its query threads: only the
   * deadline limits the tries.
   */
  private async tryToOpen(deadlineAt: number): Promise<void> {
    const { clock, random, retry } = this.options
    for (let failures = 0; !(await this.opensOne()); failures++) {
      const error = this.lastError ?? new WeirError('UNAVAILABLE', NO_SERVER_YET)
      const waitMs = backoffMs(failures, retry, random)
      if (!error.retryable || clock.monotonicMs() + waitMs >= deadlineAt) throw error
      await sleep(clock, waitMs)
    }
  }

  /** Whether a connection is open after a look at the routing table. */
  private async opensOne(): Promise<boolean> {
    await this.refresh()
    await Promise.allSettled(this.members.map((member) => member.connection?.opened()))
    return this.pick() !== undefined
  }

  /** Whether the last answer had another epoch than the table. */
  get isStale(): boolean {
    return this.table !== undefined && this.lastEpoch !== this.table.epoch
  }

  /** The last routing table. */
  get routing(): RoutingTable | undefined {
    return this.table
  }

  /** The error of a call while no connection is open. */
  get reason(): WeirError {
    const { lastError } = this
    const { host, port } = this.options
    const none =
      this.table?.endpoints.length === 0
        ? NO_SERVER_YET
        : `no query server of ${host}:${port} is connected`
    const why = lastError?.message ?? none
    return new WeirError(
      'UNAVAILABLE',
      `${why}; check that the job runs and that host and port are right; the client keeps trying`,
      { cause: lastError, details: { host, port, ...lastError?.details } },
    )
  }

  /** The open connection with the fewest calls in flight; `hint` (host:port) wins if it is open. */
  pick(hint?: string): ClientConnection | undefined {
    const { members } = this
    let best: ClientConnection | undefined
    const start = this.turn++
    for (let i = 0; i < members.length; i++) {
      const connection = members[(start + i) % members.length]!.connection
      if (connection === undefined || !connection.isOpen) continue
      if (hint !== undefined && hint === `${connection.host}:${connection.port}`) return connection
      if (best === undefined || connection.calls < best.calls) best = connection
    }
    return best
  }

  /** Fetches the routing table; concurrent calls share one request. */
  refresh(): Promise<void> {
    this.refreshing ??= this.fetchTable()
      .then((table) => this.adopt(table))
      .finally(() => {
        this.refreshing = undefined
      })
    return this.refreshing
  }

  private async fetchTable(): Promise<RoutingTable> {
    const connected = this.pick()
    if (connected !== undefined) {
      try {
        if (this.table?.shares !== undefined) return await this.fetchFromSome()
        return await connected.routing()
      } catch {
        // The job may still run: the bootstrap port is asked instead.
      }
    }
    const bootstrap = new ClientConnection(this.options.host, this.options.port, this.context)
    this.bootstrap = bootstrap
    try {
      await bootstrap.opened()
      return await bootstrap.routing()
    } finally {
      bootstrap.close()
    }
  }

  /** Of a job in many processes, what several of them know: one alone may be behind. Rejects if none answers. */
  private async fetchFromSome(): Promise<RoutingTable> {
    const open = this.members.flatMap(({ connection }) =>
      connection?.isOpen === true ? [connection] : [],
    )
    const at = this.turn++ % Math.max(1, open.length)
    const asked = [...open.slice(at), ...open.slice(0, at)].slice(0, MOST_ASKED)
    const answers = await Promise.allSettled(asked.map((connection) => connection.routing()))
    const tables = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    if (tables.length === 0) throw this.reason
    // Those that were not asked may know a generation that these do not know yet.
    return mergedTable(asked.length === open.length ? tables : [...tables, this.table!])
  }

  private adopt(table: RoutingTable): void {
    if (this.isClosed) return
    this.table = table
    this.lastEpoch = table.epoch
    channels.routing.publish(table)
    // All query threads are being replaced: the old connections stay, to fetch the next table.
    if (table.endpoints.length === 0 && this.members.length > 0) return
    const wanted = table.endpoints.map((endpoint) => this.addressOf(endpoint))
    const kept = this.members.filter((member) => wanted.some((address) => same(member, address)))
    for (const member of this.members) if (!kept.includes(member)) this.drop(member)
    const added = wanted
      .filter((address) => !kept.some((member) => same(member, address)))
      .map(({ host, port }) => this.newMember(host, port))
    this.members = [...kept, ...added]
    for (const member of added) this.connect(member)
  }

  private addressOf(endpoint: QueryEndpoint): { host: string; port: number } {
    return { host: endpoint.host === '' ? this.options.host : endpoint.host, port: endpoint.port }
  }

  private newMember(host: string, port: number): Member {
    return { host, port, connection: undefined, failures: 0, cancelRetry: undefined }
  }

  private connect(member: Member): void {
    if (this.isClosed) return
    const connection = new ClientConnection(member.host, member.port, this.context)
    member.connection = connection
    connection.opened().then(
      () => {
        member.failures = 0
      },
      (error) => {
        this.lastError = error
      },
    )
  }

  private drop(member: Member): void {
    member.cancelRetry?.()
    const { connection } = member
    member.connection = undefined
    connection?.close()
  }

  private lost(connection: ClientConnection): void {
    const member = this.members.find((candidate) => candidate.connection === connection)
    if (member === undefined || this.isClosed) return
    member.connection = undefined
    const wait = backoffMs(member.failures++, this.options.retry, this.options.random)
    member.cancelRetry = this.options.clock.after(wait, () => this.reconnect(member))
  }

  /** The thread may have another port now: from the second failure on the table is fetched, too. */
  private reconnect(member: Member): void {
    if (member.failures > 1) this.refresh().catch((error) => this.recordFailure(error))
    if (this.members.includes(member)) this.connect(member)
  }

  private recordFailure(error: WeirError): void {
    this.lastError = error
  }

  private epochSeen(epoch: number): void {
    this.lastEpoch = epoch
    if (this.table === undefined || epoch === this.table.epoch || this.isClosed) return
    // A process that has not heard of the newest generation yet.
    if (this.table.shares !== undefined && epoch < this.table.epoch) return
    const now = this.options.clock.monotonicMs()
    if (now - this.refreshedAt < REFRESH_MS) return
    this.refreshedAt = now
    this.refresh().catch((error) => this.recordFailure(error))
  }

  /** Closes every connection; what is in flight fails with UNAVAILABLE. */
  close(): void {
    this.isClosed = true
    this.bootstrap?.close()
    for (const member of this.members) this.drop(member)
    this.members = []
  }
}

function same(
  a: { readonly host: string; readonly port: number },
  b: { readonly host: string; readonly port: number },
): boolean {
  return a.host === b.host && a.port === b.port
}
