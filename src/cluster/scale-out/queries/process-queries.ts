import type { Clock } from '../../../core/clock.ts'
import { isWeirError, type WeirError } from '../../../core/errors.ts'
import type { AccessShare } from '../../../http/access/control.ts'
import type { CheckpointStorage } from '../../../runtime/checkpoint/storage/checkpoint-storage.ts'
import type { ServingPort } from '../../../runtime/protocol/serving-port.ts'
import type { LocalModelReader } from '../../../serving/reader/model-reader.ts'
import type { QueryLimits } from '../../../serving/server/options.ts'
import { QueryServer } from '../../../serving/server/query-server.ts'
import type { TlsFiles } from '../../../serving/threads/messages.ts'
import type { QueryableStateInfo, RoutingTable } from '../../../wire/routing-table.ts'
import type { OwnerMap } from '../decisions/assignment-data.ts'
import { leaseRulesOf } from '../decisions/lease.ts'
import { LiveRights } from './live-rights.ts'
import { noOwners, type Owners, ownersOf } from './owners.ts'
import { PartitionReader, type StateKeys } from './partition-reader.ts'
import { findPrevious, markSettled } from './previous-owner.ts'
import { ProcessBackend, type ProcessState } from './process-backend.ts'
import { queryWay } from './query-way.ts'

/** Time between two looks at the owner before, ms. */
const LOOK_AGAIN_MS = 500

/** Options of the query port of a process. */
export interface QueryPortOptions {
  readonly host: string
  /** Ports to try in turn until one is free; 0 lets the system choose. */
  readonly ports: readonly number[]
  /** Where clients reach it. @default host and port on which it listens */
  readonly advertise?: { readonly host: string; readonly port: number } | undefined
  readonly access: AccessShare
  readonly tls?: TlsFiles
  readonly limits?: Partial<QueryLimits>
}

/** Options of the queries of a process. */
export interface ProcessQueriesOptions extends QueryPortOptions {
  readonly job: string
  readonly partitions: number
  readonly sessionTimeoutMs: number
  readonly clock: Clock
  /** The storage of checkpoints, which has the claims of all owners. */
  readonly storage: CheckpointStorage
  /** Id under which the checkpoints of a job partition are stored. */
  readonly jobIdOf: (partition: number) => string
  /** Uids of the operators that are in job partition 0 alone. */
  readonly singles: ReadonlySet<string>
  readonly warn: (error: WeirError) => void
}

/** The query port of one process of a job, and the readers of the job partitions that run in it. */
export class ProcessQueries implements ProcessState, AsyncDisposable {
  private readonly options: ProcessQueriesOptions
  private readonly rights: LiveRights
  private readonly readers = new Map<number, PartitionReader>()
  /** States of partitions that have run here: a table without them would hide them while partitions move. */
  private readonly known = new Map<string, QueryableStateInfo>()
  private readonly server: QueryServer
  private address = { host: '', port: 0 }
  private present: Owners
  private isClosed = false

  private constructor(options: ProcessQueriesOptions) {
    const { clock, sessionTimeoutMs, partitions, host, ports, access, tls, limits, job } = options
    this.options = options
    this.rights = new LiveRights(clock, leaseRulesOf(sessionTimeoutMs))
    this.present = noOwners(partitions)
    this.server = new QueryServer(new ProcessBackend(this), {
      ...{ host, ports, access, job, clock },
      server: `process-${process.pid}`,
      ...(tls === undefined ? {} : { tls }),
      ...(limits === undefined ? {} : { limits }),
    })
  }

  /** Opens the port. Rejects with CONNECTOR_FAILED. */
  static async open(options: ProcessQueriesOptions): Promise<ProcessQueries> {
    const queries = new ProcessQueries(options)
    const port = await queries.server.listen()
    queries.address = options.advertise ?? { host: options.host, port }
    return queries
  }

  /** Port on which it listens. */
  get port(): number {
    return this.server.port
  }

  /** Where clients reach it, `host:port`. */
  get self(): string {
    return `${this.address.host}:${this.address.port}`
  }

  /** Where others reach its port, for its data in the group. */
  get way(): string {
    return queryWay(this.address.host, this.address.port)
  }

  get owners(): Owners {
    return this.present
  }

  /** A generation of the group has begun: these are the owners. */
  assigned(generation: number, map: OwnerMap): void {
    this.present = ownersOf(generation, map)
  }

  /** The group has answered a request that was sent at this time, monotonic ms. */
  answered(sentAtMs: number): void {
    this.rights.answered(sentAtMs)
  }

  /** The membership is lost. */
  lost(): void {
    this.rights.lost()
  }

  /** The port of the runtime to the reader of a partition that starts. */
  readerFor(partition: number): ServingPort {
    this.stopped(partition)
    const reader: PartitionReader = new PartitionReader({
      clock: this.options.clock,
      server: String(partition),
      running: () => this.running(partition, reader),
    })
    this.readers.set(partition, reader)
    return reader
  }

  /** The partition ends here, or is handed over: nothing is answered for it any more. */
  stopped(partition: number): void {
    this.keepStates()
    this.rights.stopped(partition)
    this.readers.get(partition)?.close()
    this.readers.delete(partition)
  }

  readerOf(partition: number): LocalModelReader | undefined {
    return this.readers.get(partition)?.reader
  }

  keysOf(state: string): StateKeys | undefined {
    for (const reader of this.readers.values()) {
      const keys = reader.keysOf(state)
      if (keys !== undefined) return keys
    }
    return undefined
  }

  isSingle(operatorUid: string): boolean {
    return this.options.singles.has(operatorUid)
  }

  mayAnswer(partition: number): boolean {
    return this.rights.mayAnswer(partition)
  }

  routing(): RoutingTable {
    this.keepStates()
    const { epoch, partitions, endpoints, owners } = this.present
    return {
      epoch,
      job: this.options.job,
      endpoints,
      states: [...this.known.values()],
      sources: [],
      shares: { partitions, owners },
    }
  }

  /** Accepts other tokens from now on; connections with a token that is gone are closed. */
  replaceAccess(access: AccessShare): void {
    this.server.replaceAccess(access)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    for (const partition of [...this.readers.keys()]) this.stopped(partition)
    await this.server.close()
  }

  private keepStates(): void {
    for (const reader of this.readers.values()) {
      for (const state of reader.states()) {
        const keys = reader.keysOf(state.name)
        if (keys === undefined) continue
        const { operatorUid, keyGroups } = keys
        const shares = this.isSingle(operatorUid) ? 1 : keyGroups
        this.known.set(state.name, { ...state, keyGroups: shares })
      }
    }
  }

  /** The partition has claimed its folder: looks at who had it before, until that one can answer no more. */
  private running(partition: number, reader: PartitionReader): void {
    const { clock, storage, jobIdOf, warn } = this.options
    const { rights } = this
    const isCurrent = (): boolean => !this.isClosed && this.readers.get(partition) === reader
    if (!isCurrent()) return
    rights.claimed(partition)
    const look = async (): Promise<void> => {
      const jobId = jobIdOf(partition)
      const found = await findPrevious(storage, jobId)
      if (!isCurrent()) return
      if (found !== undefined) rights.found(partition, found.previous)
      if (!rights.isSettled(partition)) clock.after(LOOK_AGAIN_MS, again)
      else if (found !== undefined) await markSettled(storage, jobId, found.generation)
    }
    const again = (): void => {
      if (!isCurrent()) return
      look().catch((error: unknown) => {
        if (isWeirError(error)) warn(error)
        clock.after(LOOK_AGAIN_MS, again)
      })
    }
    again()
  }
}
