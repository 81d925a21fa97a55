import { WeirError } from '../../core/errors.ts'
import type { SinkWriterContext } from '../../operators/sink.ts'
import type { ProducerIdentity } from '../log/log-backend.ts'
import type { Committable } from './committable.ts'

/** A transactional id as its coordinator lists it. */
export interface ListedTransaction {
  readonly transactionalId: string
  /** Whether a transaction of it has records and is neither committed nor aborted. */
  readonly isOpen: boolean
}

/** The transactions of a log or of a Kafka, as far as sinks need them. */
export interface TransactionStore {
  /** First part of the ids, ending in a slash, or empty. */
  readonly prefix: string
  /** The transactional ids that begin with `prefix`. */
  list(prefix: string): Promise<readonly ListedTransaction[]>
  /** Takes an id over with a new epoch; what its last user left open is aborted. */
  takeOver(transactionalId: string): Promise<ProducerIdentity>
  /** Commits a prepared transaction, which may have been committed before (`mayBeDone`). */
  commit(committable: Committable, mayBeDone: boolean): Promise<void>
}

/**
 * Transactional ids of one sink subtask: `<prefix><job>/<operator>/<subtask>/<generation>/<number>`.
 * An id is used again only after its last transaction was committed, each time with a new epoch, and
 * a generation never, so that an old handle can neither commit a later transaction nor be overtaken.
 */
export class TransactionPool {
  private readonly store: TransactionStore
  private readonly operatorPrefix: string
  private readonly subtask: number
  private readonly parallelism: number
  private readonly generation: number
  private readonly free: string[] = []
  /** Ids that are in use, or prepared and not committed, with their epochs. */
  private readonly issued = new Map<string, number>()
  private created = 0
  private spare: ProducerIdentity | undefined

  private constructor(store: TransactionStore, context: SinkWriterContext, generation: number) {
    this.store = store
    this.operatorPrefix = operatorPrefix(store, context)
    this.subtask = context.subtask
    this.parallelism = context.parallelism
    this.generation = generation
  }

  /** A pool of a new generation. */
  static async open(store: TransactionStore, context: SinkWriterContext): Promise<TransactionPool> {
    const known = await store.list(`${operatorPrefix(store, context)}${context.subtask}/`)
    const generation = Math.max(0, ...known.map((entry) => placeOf(entry).generation)) + 1
    return new TransactionPool(store, context, generation)
  }

  /**
   * Fences what ran before: aborts what earlier generations of this subtask, and of subtasks that no
   * longer exist and fall to it, left open, and takes the ids of the last of them away from a writer
   * that may still be alive.
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
    const { subtask, generation } = placeOf(entry)
    const { isOpen } = entry
    if (subtask === this.subtask) {
      return generation === this.generation - 1 || (isOpen && generation < this.generation)
    }
    return isOpen && subtask >= this.parallelism && subtask % this.parallelism === this.subtask
  }

  /** A producer with an epoch that was never used. */
  async next(): Promise<ProducerIdentity> {
    const id = this.free.shift() ?? this.newId()
    const identity = await this.store.takeOver(id)
    this.issued.set(id, identity.epoch)
    return identity
  }

  private newId(): string {
    this.created += 1
    return `${this.operatorPrefix}${this.subtask}/${this.generation}/${this.created}`
  }

  /** Readies the producer that `takeSpare` hands out. */
  async prepareSpare(): Promise<void> {
    this.spare ??= await this.next()
  }

  /** The producer of the next transaction. Throws ILLEGAL_STATE when none was readied. */
  takeSpare(): ProducerIdentity {
    const spare = this.spare
    if (spare === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'a checkpoint was prepared while one was being prepared')
    }
    this.spare = undefined
    return spare
  }

  /** Commits a prepared transaction: its id may be used again. Repeating it is harmless. */
  async commit(committable: Committable): Promise<void> {
    const { transactionalId, epoch } = committable.identity
    const isOurs = (): boolean => this.issued.get(transactionalId) === epoch
    await this.store.commit(committable, !isOurs())
    if (!isOurs()) return
    this.issued.delete(transactionalId)
    this.free.push(transactionalId)
  }
}

/** Job and operator are encoded so that their slashes cannot be mistaken for ours. */
function operatorPrefix({ prefix }: TransactionStore, context: SinkWriterContext): string {
  return `${prefix}${encodeURIComponent(context.jobName)}/${encodeURIComponent(context.operatorUid)}/`
}

function placeOf({ transactionalId }: ListedTransaction): { subtask: number; generation: number } {
  const parts = transactionalId.split('/')
  return { subtask: Number(parts.at(-3)), generation: Number(parts.at(-2)) }
}
