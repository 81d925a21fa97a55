import { assertNever, WeirError } from '../../../core/errors.ts'
import { encodeControlBatch } from '../../../wire/batch/control-record.ts'
import { producerEpochOf, producerIdOf } from '../../../wire/batch/record-batch-format.ts'
import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import { isDamage } from '../storage/damage.ts'
import type { PartitionWriter } from '../storage/partition-writer.ts'
import type { TransactionDescription } from './log-writer.ts'
import { type StatesLog, StoredTransactions } from './stored-transactions.ts'
import {
  decideEnd,
  isAbandoned,
  KEPT_OUTCOMES,
  type TransactionLifetime,
  type TransactionState,
} from './transaction-state.ts'

/** The parts of the log that the coordinator uses. */
export interface CoordinatorLog extends StatesLog {
  /** Forces a partition to the disk. */
  syncPartition(partition: PartitionWriter): Promise<void>
  /** The partition with the name `topic/number`; undefined when its topic was deleted. */
  partition(name: string): Promise<PartitionWriter | undefined>
}

/** A batch of a transaction, with the partition to which it is appended. */
export interface TransactionalAppend {
  /** Name of the partition, `topic/number`. */
  readonly name: string
  readonly writer: PartitionWriter
  readonly batch: Uint8Array
}

const MAX_EPOCH = 32_767

/**
 * Coordinator of the transactions of a log. The decision to commit or abort is durable before the
 * first marker is written, so that after a crash a transaction ends the same way in every partition.
 */
export class TransactionCoordinator {
  private readonly log: CoordinatorLog
  private readonly states: StoredTransactions
  /** The last operation of each transactional id, after which the next one runs. */
  private readonly queues = new Map<string, Promise<unknown>>()

  constructor(log: CoordinatorLog) {
    this.log = log
    this.states = new StoredTransactions(log)
  }

  /**
   * Reads the stored states. The process that wrote them may have died before it forced them, so they are
   * forced before markers or callers rely on them.
   */
  async load(): Promise<void> {
    await this.states.load()
    if (this.states.all().some(({ state }) => state !== 'empty')) await this.states.sync()
  }

  /** Stores all states again, after the partition that holds them has failed and was opened again. */
  storeAgain(): Promise<void> {
    return this.states.storeAgain()
  }

  /** Open transactions of a partition: producer id and first possible offset. */
  openIn(name: string): [producerId: number, firstOffset: number][] {
    const open: [number, number][] = []
    for (const { producerId, partitions } of this.states.all()) {
      const first = partitions[name]
      if (first !== undefined) open.push([producerId, first])
    }
    return open
  }

  /**
   * Writes the missing markers of transactions that were decided before a crash, and aborts those of processes
   * that a crash has ended.
   */
  async resume(): Promise<void> {
    for (const state of this.states.all()) {
      try {
        await this.resumeOne(state)
      } catch (error) {
        // Its decision stays stored, and its records invisible, until the topic can be opened.
        if (!isDamage(error)) throw error
      }
    }
  }

  private async resumeOne(state: TransactionState): Promise<void> {
    if (isAbandoned(state)) await this.end(state, false)
    else if (state.state === 'committing') await this.writeMarkers(state, true)
    else if (state.state === 'aborting') await this.writeMarkers(state, false)
    else if (state.isHandedOver === true) await this.states.store({ ...state, isHandedOver: false })
  }

  /** Notes for the next owner that the processes of the open transactions live. */
  async handOver(): Promise<void> {
    for (const state of this.states.all()) {
      if (isAbandoned(state)) await this.states.store({ ...state, isHandedOver: true })
    }
  }

  /** Aborts the transactions of a session that has ended: its epochs by transactional id. */
  async endSession(epochs: ReadonlyMap<string, number>): Promise<void> {
    for (const [id, epoch] of epochs) {
      await this.exclusively(id, async () => {
        const state = this.states.get(id)
        if (state?.lifetime !== 'session' || state.epoch !== epoch) return
        // One without records ends too: its first batch may be on its way.
        if (state.state === 'empty' || state.state === 'ongoing') await this.end(state, false)
      })
    }
  }

  /** See LogWriter. */
  initProducer(
    transactionalId: string,
    lifetime: TransactionLifetime = 'handle',
  ): Promise<ProducerIdentity> {
    return this.exclusively(transactionalId, async () => {
      let known = this.states.get(transactionalId)
      if (known?.state === 'ongoing') known = await this.end(known, false)
      // A decided end that failed halfway is finished first: without its markers it would be forgotten.
      else if (known?.state === 'committing') known = await this.writeMarkers(known, true)
      else if (known?.state === 'aborting') known = await this.writeMarkers(known, false)
      const fresh = known === undefined || known.epoch >= MAX_EPOCH
      const producerId = fresh ? this.states.newProducerId() : known!.producerId
      const epoch = fresh ? 0 : known!.epoch + 1
      const outcomes = known?.outcomes ?? []
      const changedMs = this.log.clock.nowMs()
      const state = { transactionalId, producerId, epoch, outcomes, changedMs }
      await this.states.store({ ...state, state: 'empty', partitions: {}, lifetime })
      return { transactionalId, producerId, epoch }
    })
  }

  /** Appends a transactional batch, after storing that its partition takes part. */
  async append(
    transactionalId: string,
    { name, writer, batch }: TransactionalAppend,
  ): Promise<number> {
    const queued = await this.exclusively(transactionalId, async () => {
      let state = this.requireOpen(
        transactionalId,
        producerIdOf(batch, 0),
        producerEpochOf(batch, 0),
      )
      if (state.partitions[name] === undefined) {
        const first = writer.endOffset
        const partitions = { ...state.partitions, [name]: first }
        state = { ...state, state: 'ongoing', partitions }
        await this.states.store(state)
        // Without a durable state its records would be visible after a power cut.
        await this.states.sync()
        writer.transactions.open(state.producerId, first)
      }
      // In an object, because the next operation of the id must not wait for this write.
      return { written: writer.append(batch) }
    })
    return await queued.written
  }

  private requireOpen(id: string, producerId: number, epoch: number): TransactionState {
    const state = this.states.get(id)
    if (state === undefined) {
      const message = `the transactional id "${id}" was not used for so long that the log has removed it; another transaction takes its place`
      throw new WeirError('TRANSACTION_ABORTED', message)
    }
    if (state.producerId !== producerId || state.epoch !== epoch) throw fenced(id, epoch, state)
    if (state.state !== 'empty' && state.state !== 'ongoing') {
      throw new WeirError(
        'TRANSACTION_ABORTED',
        `the transaction of "${id}" has ended, as after its timeout; begin a new one`,
      )
    }
    return state
  }

  /** See LogWriter. */
  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    const { transactionalId, epoch } = producer
    return this.exclusively(transactionalId, async () => {
      const state = this.states.get(transactionalId)
      if (state === undefined) throw unknownTransaction(transactionalId)
      const decision = decideEnd(state, producer, commit)
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
    if (Object.keys(state.partitions).length > 0) {
      await this.states.store(decided)
      await this.states.sync()
    }
    return await this.writeMarkers(decided, commit)
  }

  /** Writes the marker of each partition, and stores that the transaction has ended. */
  private async writeMarkers(
    decided: TransactionState,
    commit: boolean,
  ): Promise<TransactionState> {
    const writes = Object.entries(decided.partitions).map(async ([name, firstOffset]) => {
      const partition = await this.log.partition(name)
      if (partition !== undefined)
        await this.writeMarker(partition, decided, { firstOffset, commit })
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
    await this.states.store(ended)
    return ended
  }

  private async writeMarker(
    partition: PartitionWriter,
    state: TransactionState,
    { firstOffset, commit }: { readonly firstOffset: number; readonly commit: boolean },
  ): Promise<void> {
    const { producerId } = state
    // All batches of the transaction are queued, so their offsets are below the current end.
    const lastOffset = partition.endOffset
    if (!commit) await partition.addAborted({ producerId, firstOffset, lastOffset })
    const now = this.log.clock.nowMs()
    const marker = encodeControlBatch(commit ? 'commit' : 'abort', state, now)
    await partition.append(marker, () => partition.transactions.end(producerId))
    // The aborted range ends at the marker: no other record may get the marker's offset.
    if (!commit) await this.log.syncPartition(partition)
  }

  /** See LogWriter. */
  list(prefix: string): TransactionDescription[] {
    return this.states
      .all()
      .filter(({ transactionalId }) => transactionalId.startsWith(prefix))
      .map(describe)
  }

  /**
   * Aborts transactions that have been open for longer than `timeoutMs`, and removes ids that were not
   * used for `expiryMs`.
   */
  async expire(timeoutMs: number, expiryMs: number): Promise<void> {
    const now = this.log.clock.nowMs()
    for (const { transactionalId } of this.states.all()) {
      await this.exclusively(transactionalId, async () => {
        const state = this.states.get(transactionalId)
        if (state === undefined) return
        const age = now - state.changedMs
        if (state.state === 'ongoing' && age > timeoutMs) await this.end(state, false)
        else if (state.state !== 'ongoing' && age > expiryMs)
          await this.states.remove(transactionalId)
      })
    }
  }

  /** Runs `work` after all earlier operations of the same transactional id. */
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
