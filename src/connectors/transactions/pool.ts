import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { ageMs, type Moment, momentOf } from '../../core/moment.ts'
import type { SinkWriterContext } from '../../operators/port/sink.ts'
import type { Committable } from './committable.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** A transactional id in the coordinator's list. */
export interface ListedTransaction {
  readonly transactionalId: string
  /** Whether it has a transaction with records that is neither committed nor aborted. */
  readonly isOpen: boolean
}

/** Transactions of a log or of a Kafka: the operations that sinks need. */
export interface TransactionStore {
  /** First part of the ids, ending in a slash, or empty. */
  readonly prefix: string
  /** A transaction that is open for longer is aborted, ms. */
  readonly timeoutMs: number
  /** The transactional ids that begin with `prefix`. */
  list(prefix: string): Promise<readonly ListedTransaction[]>
  /** Takes over an id with a new epoch and aborts the open transaction of its last user. */
  takeOver(transactionalId: string): Promise<ProducerIdentity>
  /** Whether the coordinator says that a transaction with records is neither committed nor aborted. */
  isOpen(identity: ProducerIdentity): Promise<boolean>
  /** Commits a prepared transaction. `mayBeDone`: it may have been committed before. */
  commit(committable: Committable, mayBeDone: boolean): Promise<void>
}

/** Use of a transactional id. */
interface IssuedId {
  readonly epoch: number
  readonly takenAt: Moment
}

/**
 * Transactional ids of one sink subtask: `<prefix><job>/<operator>/<subtask>/<generation>/<number>`.
 * An id is used again only after its last transaction was committed, each time with a new epoch. A
 * generation is never used again. So an old handle can neither commit a later transaction nor be
 * fenced by one.
 */
export class TransactionPool {
  private readonly store: TransactionStore
  private readonly operatorPrefix: string
  private readonly subtask: number
  private readonly parallelism: number
  private readonly generation: number
  private readonly free: string[] = []
  /** Ids that are in use, or prepared and not committed. */
  private readonly issued = new Map<string, IssuedId>()
  private readonly clock: Clock
  private created = 0
  private spare: ProducerIdentity | undefined

  private constructor(store: TransactionStore, context: SinkWriterContext, generation: number) {
    this.store = store
    this.operatorPrefix = operatorPrefix(store, context)
    this.subtask = context.subtask
    this.parallelism = context.parallelism
    this.generation = generation
    this.clock = context.clock
  }

  /** Opens a pool of a new generation. */
  static async open(store: TransactionStore, context: SinkWriterContext): Promise<TransactionPool> {
    const known = await store.list(`${operatorPrefix(store, context)}${context.subtask}/`)
    const generation = Math.max(0, ...known.map((entry) => positionOf(entry).generation)) + 1
    return new TransactionPool(store, context, generation)
  }

  /**
   * Aborts the open transactions of earlier generations of this subtask, and of removed subtasks that
   * this one is responsible for. Takes over the ids of the last generation too, because its writer may
   * still run.
   */
  async abortLeftovers(): Promise<void> {
    const known = await this.store.list(this.operatorPrefix)
    await Promise.all(
      known
        .filter((entry) => this.isLeftover(entry))
        .map(({ transactionalId }) => this.store.takeOver(transactionalId)),
    )
  }

  private isLeftover(entry: ListedTransaction): boolean {
    const { subtask, generation } = positionOf(entry)
    const { isOpen } = entry
    if (subtask === this.subtask) {
      return generation === this.generation - 1 || (isOpen && generation < this.generation)
    }
    return isOpen && subtask >= this.parallelism && subtask % this.parallelism === this.subtask
  }

  /** An identity with an epoch that was never used. */
  async next(): Promise<ProducerIdentity> {
    const id = this.free.shift() ?? this.newId()
    const takenAt = momentOf(this.clock)
    const identity = await this.store.takeOver(id)
    this.issued.set(id, { epoch: identity.epoch, takenAt })
    return identity
  }

  private newId(): string {
    this.created += 1
    return `${this.operatorPrefix}${this.subtask}/${this.generation}/${this.created}`
  }

  /** Prepares the identity that `takeSpare` returns. */
  async prepareSpare(): Promise<void> {
    this.spare ??= await this.next()
  }

  /** The identity of the next transaction. Throws ILLEGAL_STATE when none is prepared. */
  takeSpare(): ProducerIdentity {
    const spare = this.spare
    if (spare === undefined) {
      throw new WeirError(
        'ILLEGAL_STATE',
        'a checkpoint was prepared while another one was being prepared',
      )
    }
    this.spare = undefined
    return spare
  }

  /**
   * Whether an identity without records is so old that a newer one takes its place, if there is one. A
   * coordinator removes an id that is not used for long (Kafka after 7 days by default).
   */
  isStale({ transactionalId }: ProducerIdentity): boolean {
    const issued = this.issued.get(transactionalId)
    if (issued === undefined || this.spare === undefined) return false
    return ageMs(this.clock, issued.takenAt) > this.store.timeoutMs
  }

  /** Takes back an identity under which nothing was written. */
  release({ transactionalId }: ProducerIdentity): void {
    if (this.issued.delete(transactionalId)) this.free.push(transactionalId)
  }

  /** Commits a prepared transaction: its id can be used again. Repeating it is harmless. */
  async commit(committable: Committable): Promise<void> {
    const { transactionalId, epoch } = committable.identity
    const isOurs = (): boolean => this.issued.get(transactionalId)?.epoch === epoch
    await this.store.commit(committable, !isOurs())
    if (isOurs()) this.release(committable.identity)
  }
}

/** Job and operator are encoded, because their names may contain slashes. */
function operatorPrefix({ prefix }: TransactionStore, context: SinkWriterContext): string {
  return `${prefix}${encodeURIComponent(context.jobName)}/${encodeURIComponent(context.operatorUid)}/`
}

/** Subtask and generation in an id. */
function positionOf({ transactionalId }: ListedTransaction): {
  subtask: number
  generation: number
} {
  const parts = transactionalId.split('/')
  return { subtask: Number(parts.at(-3)), generation: Number(parts.at(-2)) }
}
