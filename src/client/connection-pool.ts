import { WeirError } from '../core/errors.ts'
import type { QueryEndpoint, RoutingTable } from '../wire/routing-table.ts'
import { backoffMs } from './backoff.ts'
import { ClientConnection, type ClientContext } from './client-connection.ts'
import type { ResolvedClientOptions } from './client-options.ts'
import { channels } from './diagnostics.ts'

/** The table is asked for at most this often because of answers' epochs. */
const REFRESH_MS = 100

/** One query thread: its connection, and when it is tried again. */
interface Member {
  readonly host: string
  readonly port: number
  connection: ClientConnection | undefined
  failures: number
  cancelRetry: (() => void) | undefined
}

/**
 * Connections to every query thread of the routing table. Lost ones are opened again with backoff;
 * the table is asked for again when an answer shows another epoch.
 */
export class ConnectionPool {
  private readonly options: ResolvedClientOptions
  private readonly context: ClientContext
  private members: Member[] = []
  private table: RoutingTable | undefined
  private refreshing: Promise<void> | undefined
  private refreshedAt = Number.NEGATIVE_INFINITY
  private turn = 0
  private isClosed = false
  private lastError: WeirError | undefined

  constructor(options: ResolvedClientOptions, shared: Pick<ClientContext, 'wheel' | 'writers'>) {
    this.options = options
    this.context = {
      options,
      ...shared,
      epochSeen: (epoch) => this.epochSeen(epoch),
      lost: (connection) => this.lost(connection),
    }
  }

  /** Fetches the routing table and opens a connection to every endpoint; one must succeed. */
  async open(): Promise<void> {
    await this.refresh()
    const opening = this.members.map((member) => member.connection?.opened())
    const results = await Promise.allSettled(opening)
    if (results.some((result) => result.status === 'fulfilled')) return
    this.close()
    throw (
      this.lastError ?? new WeirError('UNAVAILABLE', 'the job has no query server at the moment')
    )
  }

  /** The routing table last seen. */
  get routing(): RoutingTable | undefined {
    return this.table
  }

  /** Why no connection is open. */
  get reason(): WeirError {
    return new WeirError('UNAVAILABLE', 'no query server is connected; the client keeps trying', {
      cause: this.lastError,
    })
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

  /** Asks for the routing table again; concurrent calls share one request. */
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
        return await connected.routing()
      } catch {
        // A lost connection says nothing about the job: the bootstrap port is asked instead.
      }
    }
    const bootstrap = new ClientConnection(this.options.host, this.options.port, this.context)
    try {
      await bootstrap.opened()
      return await bootstrap.routing()
    } finally {
      bootstrap.close()
    }
  }

  private adopt(table: RoutingTable): void {
    if (this.isClosed) return
    this.table = table
    channels.routing.publish(table)
    // A job whose query threads are all being replaced: the old ones go on asking for the new table.
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

  /** A thread that stays away may have moved: from the second failure on the table is asked, too. */
  private reconnect(member: Member): void {
    if (member.failures > 1) this.refresh().catch((error) => this.noteFailure(error))
    if (this.members.includes(member)) this.connect(member)
  }

  private noteFailure(error: WeirError): void {
    this.lastError = error
  }

  private epochSeen(epoch: number): void {
    if (this.table === undefined || epoch === this.table.epoch || this.isClosed) return
    const now = this.options.clock.monotonicMs()
    if (now - this.refreshedAt < REFRESH_MS) return
    this.refreshedAt = now
    this.refresh().catch((error) => this.noteFailure(error))
  }

  /** Closes every connection; what is in flight fails with UNAVAILABLE. */
  close(): void {
    this.isClosed = true
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
