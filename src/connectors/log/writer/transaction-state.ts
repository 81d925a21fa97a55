import { WeirError } from '../../../core/errors.ts'
import type { ProducerIdentity } from '../../transactions/producer-identity.ts'

/**
 * What ends a transaction that its producer does not end. `handle`: nothing but its timeout, because a checkpoint
 * may have its handle, which commits it after a crash. `session`: the end of the process that began it.
 */
export type TransactionLifetime = 'handle' | 'session'

/** How one epoch of a transactional id ended. */
export interface TransactionOutcome {
  readonly producerId: number
  readonly epoch: number
  readonly committed: boolean
}

/** State of a transactional id: one record of the topic `__transactions`, JSON, keyed by id. */
export interface TransactionState {
  readonly transactionalId: string
  readonly producerId: number
  readonly epoch: number
  /**
   * `empty`: nothing written. `ongoing`: data written. `committing`, `aborting`: decided, markers
   * are being written. `ended`: the epoch is over; the next transaction needs a new one.
   */
  readonly state: 'empty' | 'ongoing' | 'committing' | 'aborting' | 'ended'
  /** Partition (`topic/number`) to the first offset that the transaction may have there. */
  readonly partitions: Readonly<Record<string, number>>
  /** The last outcomes, newest last, so that a commit or abort can be repeated after a crash. */
  readonly outcomes: readonly TransactionOutcome[]
  /** When the state changed, ms since 1970. */
  readonly changedMs: number
  /** Missing: `handle`. */
  readonly lifetime?: TransactionLifetime
  /** Whether the owner of the log closed it in order while the process of a `session` transaction lived. */
  readonly isHandedOver?: boolean
}

/** Version of the record format. */
const TRANSACTION_STATE_VERSION = 1
/** Outcomes kept per id: a checkpoint older than this many transactions cannot be committed again. */
export const KEPT_OUTCOMES = 64

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Encodes a state as the record's value. */
export function encodeTransactionState(state: TransactionState): Uint8Array {
  return encoder.encode(JSON.stringify({ version: TRANSACTION_STATE_VERSION, ...state }))
}

/** Decodes a record's value. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function decodeTransactionState(bytes: Uint8Array): TransactionState {
  let parsed: TransactionState & { readonly version: number }
  try {
    parsed = JSON.parse(decoder.decode(bytes)) as typeof parsed
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', 'a record of __transactions is broken', { cause })
  }
  const { version, ...state } = parsed
  if (version !== TRANSACTION_STATE_VERSION) {
    throw new WeirError('UNSUPPORTED_VERSION', `transaction state ${version}; this build reads 1`)
  }
  return state
}

/** What to do when a producer asks for the end of its transaction. */
export type EndDecision =
  | 'write-markers'
  | 'nothing-written'
  | 'already-done'
  | 'ended-otherwise'
  | 'fenced'

/** Decides how the transaction of a producer's epoch ends, from the state of its transactional id. */
export function decideEnd(
  state: TransactionState,
  { producerId, epoch }: Pick<ProducerIdentity, 'producerId' | 'epoch'>,
  commit: boolean,
): EndDecision {
  const outcome = state.outcomes.find(
    (candidate) => candidate.producerId === producerId && candidate.epoch === epoch,
  )
  if (outcome !== undefined)
    return outcome.committed === commit ? 'already-done' : 'ended-otherwise'
  if (state.producerId !== producerId || state.epoch !== epoch) return 'fenced'
  return state.state === 'empty' ? 'nothing-written' : 'write-markers'
}

/**
 * Whether an open transaction belongs to a process that has ended, as seen by one that opens the log: an owner
 * that was killed has taken the others' connections with it.
 */
export function isAbandoned({ state, lifetime, isHandedOver }: TransactionState): boolean {
  return state === 'ongoing' && lifetime === 'session' && isHandedOver !== true
}
