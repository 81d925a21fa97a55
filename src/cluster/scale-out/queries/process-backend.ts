import { WeirError } from '../../../core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../core/key-group.ts'
import type { QueryBackend, ScanRange } from '../../../serving/port/query-backend.ts'
import { refusingReader } from '../../../serving/port/refusing-reader.ts'
import type { OwnedQueryOptions } from '../../../serving/port/request-owner.ts'
import type { ScanPage } from '../../../serving/port/scan-page.ts'
import type { ValuesOptions } from '../../../serving/reader/typed-reads.ts'
import type { Answer, Consistency, ModelReader, QueryOptions } from '../../../wire/model-reader.ts'
import type { RoutingTable } from '../../../wire/routing-table.ts'
import { askedKey } from '../../../wire/state/formatted-key.ts'
import { type Owners, ownerOf } from './owners.ts'
import type { StateKeys } from './partition-reader.ts'

/** Time after which a client asks again for a partition that no process answers for yet, ms. */
const RETRY_MS = 50

/** Reads of the state of one job partition. */
export type PartitionReads = Pick<ModelReader, 'rows' | 'values'> & Pick<QueryBackend, 'scanPage'>

/** What a process knows of its job partitions. */
export interface ProcessState {
  readonly owners: Owners
  /** Where clients reach this process, `host:port`. */
  readonly self: string
  /** The reader of a partition that runs here. */
  readerOf(partition: number): PartitionReads | undefined
  /** The keys of a state of a partition that runs here; undefined where none of them has opened it. */
  keysOf(state: string): StateKeys | undefined
  /** Whether all keys of an operator are in job partition 0. */
  isSingle(operatorUid: string): boolean
  /** Whether an answer that is made now for the partition may be `live`. */
  mayAnswer(partition: number): boolean
  routing(): RoutingTable
}

/**
 * Answers requests for the job partitions that this process owns, each by the reader of its partition, and says for
 * every other key who owns it. What needs keys of several processes at once is refused.
 */
export class ProcessBackend implements QueryBackend {
  readonly reader: ModelReader
  private readonly state: ProcessState

  constructor(state: ProcessState) {
    this.state = state
    this.reader = {
      ...refusingReader(() => unsupported('this request')),
      rows: (name, keys, options) =>
        this.each(name, keys, options, (reader, own) => reader.rows(name, own, options)),
      values: (name, keys, options: ValuesOptions = {}) =>
        this.each(name, keys, options, (reader, own) => reader.values(name, own, options)),
    }
  }

  open(state: string, _version: number, consistency: Consistency): undefined {
    requireLive(state, consistency)
    return undefined
  }

  async predictDeferred(): Promise<never> {
    throw unsupported('a prediction')
  }

  async topKRanked(): Promise<never> {
    throw unsupported('a list of the best')
  }

  /** Of one job partition: a client merges those of all. */
  async scanPage(name: string, range: ScanRange, options: OwnedQueryOptions): Promise<ScanPage> {
    const { partition } = range
    requireLive(name, options.consistency)
    if (partition === undefined) throw unsupported('a scan by a client of an earlier version')
    const { state } = this
    if (partition >= state.owners.partitions) {
      const message = `there is no job partition ${partition}; fetch the routing table`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    const reader = state.readerOf(partition)
    if (reader === undefined || !state.mayAnswer(partition)) throw this.refusalOf(partition)
    const page = await reader.scanPage(name, range, options)
    if (state.readerOf(partition) !== reader || !state.mayAnswer(partition)) {
      throw this.refusalOf(partition)
    }
    return page
  }

  routingEpoch(): number {
    return this.state.owners.epoch
  }

  routing(): RoutingTable {
    return this.state.routing()
  }

  /** Answers in the order of the keys, each of the partition of its key. */
  private async each<T>(
    name: string,
    keys: readonly string[],
    options: QueryOptions | undefined,
    read: (reader: PartitionReads, keys: readonly string[]) => Promise<Answer<T>[]>,
  ): Promise<Answer<T>[]> {
    requireLive(name, options?.consistency)
    const partitions = this.partitionsOf(name, keys)
    const answers: (Answer<T> | undefined)[] = new Array(keys.length)
    const parts = [...Map.groupBy(keys.keys(), (at) => partitions[at]!)]
    await Promise.all(
      parts.map(async ([partition, places]) => {
        const own = places.map((at) => keys[at]!)
        const got = await this.part(partition, (reader) => read(reader, own), own.length)
        for (const [n, at] of places.entries()) answers[at] = got[n]
      }),
    )
    // A slot may have ended early: answers behind the first gap are read again with the next keys.
    const gap = keys.findIndex((_, at) => answers[at] === undefined)
    return (gap < 0 ? answers : answers.slice(0, gap)) as Answer<T>[]
  }

  /** The answers of one partition. Who may answer is looked at before the read, and again once it is done. */
  private async part<T>(
    partition: number,
    read: (reader: PartitionReads) => Promise<Answer<T>[]>,
    count: number,
  ): Promise<Answer<T>[]> {
    const { state } = this
    const refused = (): Answer<T>[] => {
      const error = this.refusalOf(partition)
      return Array.from({ length: count }, () => ({ ok: false, error }))
    }
    const reader = state.readerOf(partition)
    if (reader === undefined || !state.mayAnswer(partition)) return refused()
    const answers = await read(reader)
    if (state.readerOf(partition) !== reader || !state.mayAnswer(partition)) return refused()
    return answers.map((answer) => (answer.ok ? ofPartition(answer, partition) : answer))
  }

  /** The partition of each key. A state that is not known here is left to job partition 0, which has all states. */
  private partitionsOf(name: string, keys: readonly string[]): number[] {
    const { state } = this
    const found = state.keysOf(name)
    if (found === undefined || state.isSingle(found.operatorUid)) return keys.map(() => 0)
    const { keyGroups, keyFormat } = found
    const { partitions } = state.owners
    return keys.map((key) => {
      const group = keyGroupOf(askedKey(key, keyFormat), keyGroups)
      return subtaskOfKeyGroup(group, partitions, keyGroups)
    })
  }

  /** Why this process does not answer for a partition. */
  private refusalOf(partition: number): WeirError {
    const { owners, self } = this.state
    const owner = ownerOf(owners, partition)
    const { epoch } = owners
    if (owner === undefined || owner.server === self) {
      const message = `job partition ${partition} is being taken over (generation ${epoch}); ask again`
      return new WeirError('RESTORING', message, { details: { partition, retryAfterMs: RETRY_MS } })
    }
    return new WeirError(
      'NOT_OWNER',
      `job partition ${partition} belongs to ${owner.server} (generation ${epoch})`,
      { details: { partition, epoch, endpoint: owner.server } },
    )
  }
}

/** An answer with its job partition. How old the input before an exchange is, the process does not know. */
function ofPartition<T>(answer: Extract<Answer<T>, { ok: true }>, partition: number): Answer<T> {
  const { envelope } = answer
  return { ...answer, envelope: { ...envelope, ageMs: -1, servedBy: `partition/${partition}` } }
}

function requireLive(state: string, consistency: Consistency | undefined): void {
  if (consistency === undefined || consistency.level === 'live') return
  throw new WeirError(
    'UNSUPPORTED',
    `"${state}" is state of a job in many processes, which answers with the consistency live only, not ${consistency.level}`,
  )
}

function unsupported(what: string): WeirError {
  return new WeirError(
    'UNSUPPORTED',
    `${what} needs keys of several processes at once, which a job in many processes does not answer yet; ask for single keys or scan, or run the job in one process`,
  )
}
