import type { Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { ageMs, type Deadline, type Moment } from '../../core/moment.ts'
import type { TransactionStore } from './pool.ts'
import type { ProducerIdentity } from './producer-identity.ts'

/** What is known of an open transaction from its age. */
export type TransactionHealth =
  /** Too young to have been aborted. */
  | 'alive'
  /** Its coordinator is asked. */
  | 'in-doubt'
  /** Aborted, or about to be, so that its commit may come too late. */
  | 'expired'

/** From this part of the timeout on, the coordinator is asked. */
const DOUBTFUL_PART = 0.5
/** From this part of the timeout on, a commit may come too late. */
const EXPIRED_PART = 0.95

/** Judges an open transaction by its age and its timeout, ms. */
export function transactionHealth(age: number, timeoutMs: number): TransactionHealth {
  if (age > timeoutMs * EXPIRED_PART) return 'expired'
  return age > timeoutMs * DOUBTFUL_PART ? 'in-doubt' : 'alive'
}

interface PreparedTransaction {
  readonly identity: ProducerIdentity
  /** A moment before its first record. */
  readonly began: Moment
}

/**
 * The transactions of one subtask that are prepared and not committed: of the checkpoint that is being taken,
 * and of earlier ones that have not completed. A checkpoint must not count when one of them is aborted.
 */
export class PreparedTransactions {
  private readonly store: TransactionStore
  private readonly clock: Clock
  private readonly prepared = new Map<string, PreparedTransaction>()

  constructor(store: TransactionStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /** Adds a transaction that began not before `began`. */
  add(identity: ProducerIdentity, began: Moment): void {
    this.prepared.set(identity.transactionalId, { identity, began })
  }

  /** Removes a transaction that is committed. */
  remove({ transactionalId }: ProducerIdentity): void {
    this.prepared.delete(transactionalId)
  }

  /** Checks that each of them can still be committed. Throws TRANSACTION_ABORTED. */
  async requireAlive(): Promise<void> {
    await Promise.all([...this.prepared.values()].map((one) => this.requireOne(one)))
  }

  private async requireOne({ identity, began }: PreparedTransaction): Promise<void> {
    const { clock, store } = this
    const age = ageMs(clock, began)
    const health = transactionHealth(age, store.timeoutMs)
    if (health === 'alive') return
    if (health === 'in-doubt' && (await store.isOpen(identity))) return
    throw lost(identity, age, store.timeoutMs)
  }

  /** Until when the oldest of them can be committed; undefined when there is none. */
  get commitBy(): Deadline | undefined {
    const limitMs = this.store.timeoutMs * EXPIRED_PART
    const oldest = [...this.prepared.values()].reduce<Moment | undefined>(
      (first, { began }) =>
        first === undefined || began.monotonicMs < first.monotonicMs ? began : first,
      undefined,
    )
    return oldest === undefined ? undefined : { began: oldest, limitMs }
  }
}

function lost({ transactionalId }: ProducerIdentity, age: number, timeoutMs: number): WeirError {
  const seconds = (age / 1000).toFixed(1)
  const message = `the prepared transaction "${transactionalId}" has been open for ${seconds} s and was aborted, or is about to be, by its timeout of ${timeoutMs} ms: the checkpoint does not count, and the job writes the records again from the one before; make transactionTimeoutMs longer than the time between two checkpoints plus the longest outage`
  return new WeirError('TRANSACTION_ABORTED', message, { details: { transactionalId, timeoutMs } })
}
