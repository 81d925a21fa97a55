import { sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { SinkWriterContext } from '../../operators/sink.ts'
import type { KafkaCluster } from './kafka-cluster.ts'
import type { KafkaCommittable } from './kafka-committable.ts'
import { KAFKA_ERRORS, kafkaErrorOf } from './kafka-errors.ts'
import {
  endTransaction,
  isFenced,
  type TransactionIdentity,
  transactionIdentity,
} from './kafka-identity.ts'
import {
  type TransactionOutcome,
  type TransactionWitness,
  transactionOutcome,
} from './kafka-transaction-outcome.ts'
import {
  describeKafkaTransaction,
  type KafkaTransaction,
  listKafkaTransactions,
} from './kafka-transactions.ts'

const VISIBLE_TIMEOUT_MS = 5_000
const VISIBLE_POLL_MS = 2

/**
 * Transactional ids of one sink subtask: `<prefix>/<job>/<operator>/<subtask>/<generation>/<number>`.
 * An id is used again only after its last transaction was committed, each time with a new epoch, and
 * a generation never, so that an old handle can neither commit a later transaction nor be overtaken.
 */
export class KafkaTransactionPool {
  private readonly cluster: KafkaCluster
  private readonly timeoutMs: number
  private readonly operatorPrefix: string
  private readonly subtask: number
  private readonly parallelism: number
  private readonly generation: number
  private readonly free: string[] = []
  /** Ids that are in use, or prepared and not committed, with their epochs. */
  private readonly issued = new Map<string, number>()
  private created = 0
  private spare: TransactionIdentity | undefined

  private constructor(
    cluster: KafkaCluster,
    timeoutMs: number,
    prefix: string,
    context: SinkWriterContext,
    generation: number,
  ) {
    this.cluster = cluster
    this.timeoutMs = timeoutMs
    this.operatorPrefix = operatorPrefix(prefix, context)
    this.subtask = context.subtask
    this.parallelism = context.parallelism
    this.generation = generation
  }

  /** A pool of a new generation. */
  static async open(
    cluster: KafkaCluster,
    timeoutMs: number,
    prefix: string,
    context: SinkWriterContext,
  ): Promise<KafkaTransactionPool> {
    const mine = `${operatorPrefix(prefix, context)}${context.subtask}/`
    const known = await listKafkaTransactions(cluster, mine)
    const generation = Math.max(0, ...known.map((entry) => placeOf(entry).generation)) + 1
    return new KafkaTransactionPool(cluster, timeoutMs, prefix, context, generation)
  }

  /**
   * Fences what ran before: aborts what earlier generations of this subtask, and of subtasks that no
   * longer exist and fall to it, left open, and takes the ids of the last of them away from a writer
   * that may still be alive.
   */
  async abortLeftovers(): Promise<void> {
    const known = await listKafkaTransactions(this.cluster, this.operatorPrefix)
    await Promise.all(
      known
        .filter((entry) => this.isLeftover(entry))
        .map(({ transactionalId }) =>
          transactionIdentity(this.cluster, transactionalId, this.timeoutMs),
        ),
    )
  }

  private isLeftover(entry: KafkaTransaction): boolean {
    const { subtask, generation } = placeOf(entry)
    const isOpen = entry.state === 'Ongoing'
    if (subtask === this.subtask) {
      return generation === this.generation - 1 || (isOpen && generation < this.generation)
    }
    return isOpen && subtask >= this.parallelism && subtask % this.parallelism === this.subtask
  }

  /** A producer with an epoch that was never used. */
  async next(): Promise<TransactionIdentity> {
    const id = this.free.shift() ?? this.newId()
    const identity = await transactionIdentity(this.cluster, id, this.timeoutMs)
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
  takeSpare(): TransactionIdentity {
    const spare = this.spare
    if (spare === undefined) {
      throw new WeirError('ILLEGAL_STATE', 'a checkpoint was prepared while one was being prepared')
    }
    this.spare = undefined
    return spare
  }

  /** Whether the transaction is of this pool and was not committed yet. */
  isOpen({ transactionalId, epoch }: TransactionIdentity): boolean {
    return this.issued.get(transactionalId) === epoch
  }

  /** The transaction was committed: its id may be used again. Repeating it is harmless. */
  release(identity: TransactionIdentity): void {
    const { transactionalId } = identity
    if (!this.isOpen(identity)) return
    this.issued.delete(transactionalId)
    this.free.push(transactionalId)
  }
}

/**
 * Commits a prepared transaction. A restored handle may have been committed before (`mayBeDone`):
 * when its id has a newer epoch, or is forgotten, the marker in the log decides, and an aborted one
 * is an error, for its records are lost. For a handle of this life a newer epoch means that a
 * successor took over, or that the broker's timeout aborted it.
 */
export async function commitPrepared(
  cluster: KafkaCluster,
  { identity, witness }: KafkaCommittable,
  mayBeDone: boolean,
): Promise<void> {
  try {
    await endTransaction(cluster, identity, true)
    await untilVisible(cluster, identity.transactionalId)
  } catch (error) {
    const isForgotten = kafkaErrorOf(error) === KAFKA_ERRORS.INVALID_PRODUCER_ID_MAPPING
    if (!isFenced(error) && !(mayBeDone && isForgotten)) throw error
    const outcome =
      mayBeDone && witness !== undefined
        ? await untilDecided(cluster, identity, witness)
        : 'unknown'
    if (outcome === 'committed') return
    if (outcome === 'aborted' || (await timedOut(cluster, identity))) throw lost(identity, error)
    // Without a marker to look at: an id is used again only after its commit.
    if (!mayBeDone || outcome === 'open') throw error
  }
}

/** A fenced transaction is decided; its marker follows within milliseconds. */
async function untilDecided(
  cluster: KafkaCluster,
  identity: TransactionIdentity,
  witness: TransactionWitness,
): Promise<TransactionOutcome> {
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + VISIBLE_TIMEOUT_MS
  for (;;) {
    const outcome = await transactionOutcome(cluster, identity, witness)
    if (outcome !== 'open' || clock.monotonicMs() > giveUpAt) return outcome
    await sleep(clock, VISIBLE_POLL_MS)
  }
}

/** Whether the coordinator's last deed on the id was to abort this transaction. */
async function timedOut(cluster: KafkaCluster, identity: TransactionIdentity): Promise<boolean> {
  const now = await describeKafkaTransaction(cluster, identity.transactionalId)
  return now?.state.endsWith('Abort') === true && now.epoch === identity.epoch + 1
}

function lost({ transactionalId }: TransactionIdentity, cause: unknown): WeirError {
  const message = `the prepared transaction "${transactionalId}" was aborted, by the broker after its timeout or by a job that took its id over: the records of that checkpoint are lost from the topic; raise transactionTimeoutMs above the longest outage, and restore an older checkpoint to write them again`
  return new WeirError('INVALID_TRANSACTION', message, { cause })
}

/**
 * The coordinator answers a commit when it is decided; its markers follow within milliseconds. That
 * they do is certain, so nothing fails when they take longer than is worth waiting for.
 */
async function untilVisible(cluster: KafkaCluster, transactionalId: string): Promise<void> {
  const { clock } = cluster
  const giveUpAt = clock.monotonicMs() + VISIBLE_TIMEOUT_MS
  while (clock.monotonicMs() < giveUpAt) {
    const now = await describeKafkaTransaction(cluster, transactionalId)
    if (now?.state !== 'PrepareCommit') return
    await sleep(clock, VISIBLE_POLL_MS)
  }
}

/** Job and operator are encoded so that their slashes cannot be mistaken for ours. */
function operatorPrefix(prefix: string, context: SinkWriterContext): string {
  return `${prefix}/${encodeURIComponent(context.jobName)}/${encodeURIComponent(context.operatorUid)}/`
}

function placeOf({ transactionalId }: KafkaTransaction): { subtask: number; generation: number } {
  const parts = transactionalId.split('/')
  return { subtask: Number(parts.at(-3)), generation: Number(parts.at(-2)) }
}
