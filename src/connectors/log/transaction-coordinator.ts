import { encodeControlBatch } from '../../batch/control-record.ts'
import { producerEpochOf, producerIdOf } from '../../batch/record-batch-format.ts'
import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../batch/record-batch-writer.ts'
import type { Clock } from '../../core/clock.ts'
import { assertNever, WeirError } from '../../core/errors.ts'
import type { ProducerIdentity, TransactionDescription } from './log-backend.ts'
import type { PartitionLog } from './partition-log.ts'
import { PartitionReader } from './partition-reader.ts'
import {
  decideEnd,
  decodeTransactionState,
  encodeTransactionState,
  KEPT_OUTCOMES,
  type TransactionState,
} from './transaction-state.ts'

/** What the coordinator needs of the log. */
export interface CoordinatorLog {
  readonly clock: Clock
  /** The internal topic's one partition. */
  states(): Promise<PartitionLog>
  /** A partition by `topic/number`; undefined when its topic is gone. */
  partition(name: string): Promise<PartitionLog | undefined>
}

const MAX_EPOCH = 32_767
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Keeps the transactions of a log. The decision to commit or abort is durable before the first
 * marker is written, so that after a crash every partition ends the same way.
 */
export class TransactionCoordinator {
  private readonly log: CoordinatorLog
  private readonly states = new Map<string, TransactionState>()
  /** The last piece of work of each id; its next piece runs after it. */
  private readonly queues = new Map<string, Promise<unknown>>()
  private nextProducerId = 1

  constructor(log: CoordinatorLog) {
    this.log = log
  }

  /** Reads the stored states. */
  async load(): Promise<void> {
    const partition = await this.log.states()
    const reader = new PartitionReader(partition.path, { isolation: 'read_uncommitted' })
    const records = new RecordBatchReader()
    try {
      let offset = reader.status().logStart
      for (;;) {
        const fetched = await reader.fetch(offset, new Uint8Array(256 * 1024))
        if (fetched === undefined) return
        for (let at = 0; at < fetched.end; ) {
          at = records.open(fetched.bytes, at, false)
          while (records.next()) this.restore(records)
        }
        offset = fetched.nextOffset
      }
    } finally {
      reader.close()
    }
  }

  private restore(record: RecordBatchReader): void {
    const id = decoder.decode(record.key() ?? new Uint8Array(0))
    const value = record.value()
    if (value === null) {
      this.states.delete(id)
      return
    }
    const state = decodeTransactionState(value)
    this.states.set(id, state)
    this.nextProducerId = Math.max(this.nextProducerId, state.producerId + 1)
  }

  /** Open transactions of a partition: producer id and first possible offset. */
  openIn(name: string): [producerId: number, firstOffset: number][] {
    const open: [number, number][] = []
    for (const { producerId, partitions } of this.states.values()) {
      const first = partitions[name]
      if (first !== undefined) open.push([producerId, first])
    }
    return open
  }

  /** Finishes what was decided before a crash. */
  async resume(): Promise<void> {
    for (const state of [...this.states.values()]) {
      if (state.state === 'committing') await this.writeMarkers(state, true)
      if (state.state === 'aborting') await this.writeMarkers(state, false)
    }
  }

  /** See LogBackend. */
  initProducer(transactionalId: string): Promise<ProducerIdentity> {
    return this.exclusively(transactionalId, async () => {
      let known = this.states.get(transactionalId)
      if (known?.state === 'ongoing') known = await this.end(known, false)
      const fresh = known === undefined || known.epoch >= MAX_EPOCH
      const producerId = fresh ? this.nextProducerId++ : known!.producerId
      const epoch = fresh ? 0 : known!.epoch + 1
      const outcomes = known?.outcomes ?? []
      const changedMs = this.log.clock.nowMs()
      const state = { transactionalId, producerId, epoch, outcomes, changedMs }
      await this.store({ ...state, state: 'empty', partitions: {} })
      return { transactionalId, producerId, epoch }
    })
  }

  /** Appends a transactional batch, first noting that its partition takes part. */
  async append(
    transactionalId: string,
    name: string,
    partition: PartitionLog,
    batch: Uint8Array,
  ): Promise<number> {
    const queued = await this.exclusively(transactionalId, async () => {
      let state = this.requireOpen(
        transactionalId,
        producerIdOf(batch, 0),
        producerEpochOf(batch, 0),
      )
      if (state.partitions[name] === undefined) {
        const first = partition.endOffset
        const partitions = { ...state.partitions, [name]: first }
        state = { ...state, state: 'ongoing', partitions }
        await this.store(state)
        partition.transactions.open(state.producerId, first)
      }
      // Wrapped, for the next piece of work must not wait for this write.
      return { written: partition.append(batch) }
    })
    return await queued.written
  }

  private requireOpen(id: string, producerId: number, epoch: number): TransactionState {
    const state = this.states.get(id)
    if (state === undefined) throw unknownTransaction(id)
    if (state.producerId !== producerId || state.epoch !== epoch) throw fenced(id, epoch, state)
    if (state.state !== 'empty' && state.state !== 'ongoing') {
      throw new WeirError('INVALID_TRANSACTION', `the transaction of "${id}" has ended; begin anew`)
    }
    return state
  }

  /** See LogBackend. */
  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    const { transactionalId, producerId, epoch } = producer
    return this.exclusively(transactionalId, async () => {
      const state = this.states.get(transactionalId)
      if (state === undefined) throw unknownTransaction(transactionalId)
      const decision = decideEnd(state, producerId, epoch, commit)
      switch (decision) {
        case 'already-done':
          return
        case 'write-markers':
        case 'nothing-written':
          await this.end(state, commit)
          return
        case 'fenced':
          throw fenced(transactionalId, epoch, state)
        case 'ended-otherwise': {
          const was = commit ? 'aborted' : 'committed'
          const message = `the transaction of "${transactionalId}", epoch ${epoch}, was ${was}`
          throw new WeirError('INVALID_TRANSACTION', message)
        }
        default:
          return assertNever(decision)
      }
    })
  }

  private async end(state: TransactionState, commit: boolean): Promise<TransactionState> {
    const decided: TransactionState = { ...state, state: commit ? 'committing' : 'aborting' }
    if (Object.keys(state.partitions).length > 0) await this.store(decided)
    return await this.writeMarkers(decided, commit)
  }

  private async writeMarkers(
    decided: TransactionState,
    commit: boolean,
  ): Promise<TransactionState> {
    const writes = Object.entries(decided.partitions).map(async ([name, firstOffset]) => {
      const partition = await this.log.partition(name)
      if (partition !== undefined) await this.writeMarker(partition, decided, firstOffset, commit)
    })
    await Promise.all(writes)
    const { producerId, epoch } = decided
    const outcomes = [...decided.outcomes, { producerId, epoch, committed: commit }]
    const ended: TransactionState = {
      ...decided,
      state: 'ended',
      partitions: {},
      outcomes: outcomes.slice(-KEPT_OUTCOMES),
      changedMs: this.log.clock.nowMs(),
    }
    await this.store(ended)
    return ended
  }

  private async writeMarker(
    partition: PartitionLog,
    { producerId, epoch }: TransactionState,
    firstOffset: number,
    commit: boolean,
  ): Promise<void> {
    // All batches of the transaction are queued, so they lie below the present end.
    const lastOffset = partition.endOffset
    if (!commit) await partition.transactions.addAborted({ producerId, firstOffset, lastOffset })
    const now = this.log.clock.nowMs()
    const marker = encodeControlBatch(commit ? 'commit' : 'abort', producerId, epoch, now)
    await partition.append(marker, () => partition.transactions.end(producerId))
  }

  /** See LogBackend. */
  list(prefix: string): TransactionDescription[] {
    return [...this.states.values()]
      .filter(({ transactionalId }) => transactionalId.startsWith(prefix))
      .map(describe)
  }

  /**
   * Aborts transactions that have been open for longer than `timeoutMs`, and forgets ids that nothing
   * has used for `expiryMs`.
   */
  async expire(timeoutMs: number, expiryMs: number): Promise<void> {
    const now = this.log.clock.nowMs()
    for (const { transactionalId } of [...this.states.values()]) {
      await this.exclusively(transactionalId, async () => {
        const state = this.states.get(transactionalId)
        if (state === undefined) return
        const age = now - state.changedMs
        if (state.state === 'ongoing' && age > timeoutMs) await this.end(state, false)
        else if (state.state !== 'ongoing' && age > expiryMs) await this.forget(transactionalId)
      })
    }
  }

  private async forget(id: string): Promise<void> {
    this.states.delete(id)
    await this.write(id, null)
  }

  private async store(state: TransactionState): Promise<void> {
    await this.write(state.transactionalId, encodeTransactionState(state))
    this.states.set(state.transactionalId, state)
  }

  private async write(id: string, value: Uint8Array | null): Promise<void> {
    const writer = new RecordBatchWriter(1024)
    writer.append(encoder.encode(id), value, this.log.clock.nowMs())
    await (await this.log.states()).append(writer.take())
  }

  /** Runs `work` after all earlier work of the same transactional id. */
  private exclusively<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.queues.get(id) ?? Promise.resolve()
    const result = before.then(work)
    const settled = result.then(
      () => undefined,
      () => undefined,
    )
    this.queues.set(id, settled)
    void settled.then(() => {
      if (this.queues.get(id) === settled) this.queues.delete(id)
    })
    return result
  }
}

function describe(state: TransactionState): TransactionDescription {
  const { transactionalId, producerId, epoch } = state
  return { transactionalId, producerId, epoch, state: describeState(state) }
}

function describeState({ state, outcomes }: TransactionState): TransactionDescription['state'] {
  if (state === 'empty') return 'empty'
  if (state !== 'ended') return 'ongoing'
  return outcomes.at(-1)?.committed === true ? 'committed' : 'aborted'
}

function unknownTransaction(id: string): WeirError {
  return new WeirError('INVALID_TRANSACTION', `the transactional id "${id}" is not known`)
}

function fenced(id: string, epoch: number, state: TransactionState): WeirError {
  const message = `epoch ${epoch} of "${id}" is fenced: a newer producer has epoch ${state.epoch}`
  return new WeirError('TRANSACTION_FENCED', message, { details: { transactionalId: id, epoch } })
}
