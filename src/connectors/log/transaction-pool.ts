import { WeirError } from '../../core/errors.ts'
import type { SinkWriterContext } from '../../operators/sink.ts'
import type { LogBackend, ProducerIdentity } from './log-backend.ts'

/**
 * Transactional ids of one sink subtask: `<job>/<operator>/<subtask>/<generation>/<number>`. An id
 * is used again only after its last transaction was committed, and a generation never, so that a
 * prepared transaction is never overtaken by a newer one of the same id.
 */
export class TransactionPool {
  private readonly backend: LogBackend
  private readonly operatorPrefix: string
  private readonly subtask: number
  private readonly parallelism: number
  private readonly generation: number
  private readonly free: string[] = []
  private created = 0
  private spare: ProducerIdentity | undefined

  private constructor(backend: LogBackend, context: SinkWriterContext, generation: number) {
    this.backend = backend
    this.operatorPrefix = operatorPrefix(context)
    this.subtask = context.subtask
    this.parallelism = context.parallelism
    this.generation = generation
  }

  /** A pool of a new generation. */
  static async open(backend: LogBackend, context: SinkWriterContext): Promise<TransactionPool> {
    const prefix = `${operatorPrefix(context)}${context.subtask}/`
    const known = await backend.listTransactions(prefix)
    const generations = known.map((entry) => Number(entry.transactionalId.split('/').at(-2)))
    return new TransactionPool(backend, context, Math.max(0, ...generations) + 1)
  }

  /**
   * Aborts what earlier generations of this subtask, and of subtasks that no longer exist and fall
   * to it, left open.
   */
  async abortLeftovers(): Promise<void> {
    for (const entry of await this.backend.listTransactions(this.operatorPrefix)) {
      if (entry.state !== 'ongoing') continue
      const parts = entry.transactionalId.split('/')
      const subtask = Number(parts.at(-3))
      const mine = subtask === this.subtask && Number(parts.at(-2)) < this.generation
      const orphan = subtask >= this.parallelism && subtask % this.parallelism === this.subtask
      if (mine || orphan) await this.backend.endTransaction(entry, false)
    }
  }

  /** A producer with an epoch that was never used. */
  async next(): Promise<ProducerIdentity> {
    const id = this.free.shift() ?? this.newId()
    return await this.backend.initProducer(id)
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

  /** The id's transaction was committed: it may be used again. */
  release(transactionalId: string): void {
    const own = `${this.operatorPrefix}${this.subtask}/${this.generation}/`
    if (transactionalId.startsWith(own)) this.free.push(transactionalId)
  }
}

/** Job and operator are encoded so that their slashes cannot be mistaken for ours. */
function operatorPrefix(context: SinkWriterContext): string {
  return `${encodeURIComponent(context.jobName)}/${encodeURIComponent(context.operatorUid)}/`
}
