import { WeirError } from '../../../core/errors.ts'
import type { ProducerIdentity } from '../../transactions/producer-identity.ts'
import type { TopicConfig } from '../storage/topic-config.ts'
import type { LogWriter, TransactionDescription } from './log-writer.ts'
import {
  HANDED_OVER,
  REMOTE_REVISION,
  type RemoteCall,
  type RemotePort,
  type RemoteReply,
} from './remote-protocol.ts'
import type { TransactionLifetime } from './transaction-state.ts'

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: WeirError) => void
}

/** Buffers of appended batches that are kept for the next ones. */
const MAX_SPARE = 16

/** The owner of the log has closed it in order and has not executed the call. */
export class HandoverError extends WeirError {
  constructor() {
    super('LOG_LOCKED', 'the process that owned the log has closed it; open the log again')
  }
}

/** Writer of a log that another thread, or another process of this machine, owns. */
export class RemoteLogWriter implements LogWriter {
  private readonly port: RemotePort
  private readonly pending = new Map<number, PendingCall>()
  private readonly opening: Promise<unknown>
  private readonly spare: ArrayBuffer[] = []
  private lastId = 0
  private closed = false
  /** Error of the calls after the end. */
  private errorAtEnd: () => WeirError

  /** `ownerGoneError`: makes the error of calls after the other end has closed. */
  constructor(port: RemotePort, ownerGoneError: () => WeirError) {
    this.port = port
    this.errorAtEnd = ownerGoneError
    this.opening = new Promise((resolve, reject) => this.pending.set(0, { resolve, reject }))
    this.opening.catch(() => undefined)
    port.on('message', (reply) => {
      if (isReply(reply)) this.receive(reply)
      else port.close()
    })
    port.on('close', () => this.end(ownerGoneError))
  }

  /** Resolves when the owner serves. Throws LOG_LOCKED, and what opening the log threw. */
  async opened(): Promise<void> {
    if ((await this.opening) === REMOTE_REVISION) return
    this.port.close()
    throw new WeirError('LOG_LOCKED', 'the log belongs to a process of another release of Weir')
  }

  private receive({ id, value, buffer, failure }: RemoteReply): void {
    if (buffer !== undefined && this.spare.length < MAX_SPARE) this.spare.push(buffer)
    if (id === HANDED_OVER) this.end(() => new HandoverError())
    const call = this.pending.get(id)
    this.pending.delete(id)
    // Only pending calls keep the thread alive.
    if (this.pending.size === 0) this.port.unref()
    if (failure === undefined) call?.resolve(value)
    else call?.reject(new WeirError(failure.code, failure.message, { details: failure.details }))
  }

  private end(errorOf: () => WeirError): void {
    if (this.closed) return
    this.closed = true
    this.errorAtEnd = errorOf
    for (const { reject } of this.pending.values()) reject(errorOf())
    this.pending.clear()
  }

  private call<Result>(
    request: RemoteCall,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result> {
    if (this.closed) return Promise.reject(this.errorAtEnd())
    const id = ++this.lastId
    return new Promise<Result>((resolve, reject) => {
      this.pending.set(id, { resolve: resolve as (value: unknown) => void, reject })
      this.port.ref()
      this.port.postMessage({ ...request, id }, transfer)
    })
  }

  createTopic(topic: string, config: Partial<TopicConfig>): Promise<void> {
    return this.call({ method: 'createTopic', args: [topic, config] })
  }

  setPartitions(topic: string, partitions: number): Promise<void> {
    return this.call({ method: 'setPartitions', args: [topic, partitions] })
  }

  deleteTopic(topic: string): Promise<void> {
    return this.call({ method: 'deleteTopic', args: [topic] })
  }

  deleteRecords(topic: string, partition: number, before: number): Promise<void> {
    return this.call({ method: 'deleteRecords', args: [topic, partition, before] })
  }

  eraseRecords(topic: string, partition: number, offsets: readonly number[]): Promise<number> {
    return this.call({ method: 'eraseRecords', args: [topic, partition, offsets] })
  }

  append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    const args: Parameters<LogWriter['append']> = [topic, partition, batch, transactionalId]
    return this.call({ method: 'append', args }, [batch.buffer])
  }

  spareBuffer(): ArrayBuffer | undefined {
    return this.spare.pop()
  }

  sync(topic: string): Promise<void> {
    return this.call({ method: 'sync', args: [topic] })
  }

  initProducer(transactionalId: string, lifetime?: TransactionLifetime): Promise<ProducerIdentity> {
    return this.call({ method: 'initProducer', args: [transactionalId, lifetime] })
  }

  endTransaction(producer: ProducerIdentity, commit: boolean): Promise<void> {
    return this.call({ method: 'endTransaction', args: [producer, commit] })
  }

  listTransactions(prefix: string): Promise<readonly TransactionDescription[]> {
    return this.call({ method: 'listTransactions', args: [prefix] })
  }

  clean(): Promise<void> {
    return this.call({ method: 'clean', args: [] })
  }

  close(): Promise<void> {
    this.port.close()
    return Promise.resolve()
  }
}

function isReply(message: unknown): message is RemoteReply {
  return (
    typeof message === 'object' &&
    message !== null &&
    'id' in message &&
    typeof message.id === 'number'
  )
}
