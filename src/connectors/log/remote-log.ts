import { assertNever, type ErrorCode, type ErrorDetails, WeirError } from '../../core/errors.ts'
import type { LogBackend, ProducerIdentity, TransactionDescription } from './log-backend.ts'
import type { TopicConfig } from './topic-config.ts'

/** A call of a LogBackend method from another thread. */
export type RemoteRequest = {
  readonly id: number
} & (
  | { readonly method: 'createTopic'; readonly args: Parameters<LogBackend['createTopic']> }
  | { readonly method: 'setPartitions'; readonly args: Parameters<LogBackend['setPartitions']> }
  | { readonly method: 'deleteTopic'; readonly args: Parameters<LogBackend['deleteTopic']> }
  | { readonly method: 'append'; readonly args: Parameters<LogBackend['append']> }
  | { readonly method: 'sync'; readonly args: Parameters<LogBackend['sync']> }
  | { readonly method: 'initProducer'; readonly args: Parameters<LogBackend['initProducer']> }
  | { readonly method: 'endTransaction'; readonly args: Parameters<LogBackend['endTransaction']> }
  | {
      readonly method: 'listTransactions'
      readonly args: Parameters<LogBackend['listTransactions']>
    }
  | { readonly method: 'clean'; readonly args: Parameters<LogBackend['clean']> }
)

/** Runs a request on the owner's side. */
export function callBackend(backend: LogBackend, request: RemoteRequest): Promise<unknown> {
  switch (request.method) {
    case 'createTopic':
      return backend.createTopic(...request.args)
    case 'setPartitions':
      return backend.setPartitions(...request.args)
    case 'deleteTopic':
      return backend.deleteTopic(...request.args)
    case 'append':
      return backend.append(...request.args)
    case 'sync':
      return backend.sync(...request.args)
    case 'initProducer':
      return backend.initProducer(...request.args)
    case 'endTransaction':
      return backend.endTransaction(...request.args)
    case 'listTransactions':
      return backend.listTransactions(...request.args)
    case 'clean':
      return backend.clean(...request.args)
    default:
      return assertNever(request)
  }
}

/** What joins a caller and the owner of a log: a message port between threads, a socket between processes. */
export interface RemotePort {
  /** `message` or `close`. */
  on(event: string, listener: (message: unknown) => void): unknown
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void
  ref(): void
  unref(): void
  close(): void
}

/** Revision of requests and replies, which the owner tells first; another process may be of another build. */
export const REMOTE_REVISION = 1

/** The answer to a request; id 0 answers the opening with the revision. */
export interface RemoteReply {
  readonly id: number
  readonly value?: unknown
  readonly failure?: {
    readonly code: ErrorCode
    readonly message: string
    readonly details: ErrorDetails
  }
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: WeirError) => void
}

/** A log that another thread, or another process of this machine, owns. */
export class RemoteLog implements LogBackend {
  private readonly port: RemotePort
  private readonly gone: () => WeirError
  private readonly waiting = new Map<number, Waiting>()
  private readonly opening: Promise<unknown>
  private lastId = 0
  private closed = false

  /** `gone`: the error of calls when the other end has gone. */
  constructor(port: RemotePort, gone: () => WeirError) {
    this.port = port
    this.gone = gone
    this.opening = new Promise((resolve, reject) => this.waiting.set(0, { resolve, reject }))
    this.opening.catch(() => undefined)
    port.on('message', (reply) => this.receive(reply as RemoteReply))
    port.on('close', () => this.ownerGone())
  }

  /** Resolves when the owner serves. Throws LOG_LOCKED and what opening threw. */
  async opened(): Promise<void> {
    if ((await this.opening) === REMOTE_REVISION) return
    this.port.close()
    throw new WeirError('LOG_LOCKED', 'the log belongs to a process of another release of Weir')
  }

  private receive({ id, value, failure }: RemoteReply): void {
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    // Only calls under way keep the thread alive.
    if (this.waiting.size === 0) this.port.unref()
    if (failure === undefined) waiting?.resolve(value)
    else waiting?.reject(new WeirError(failure.code, failure.message, { details: failure.details }))
  }

  private ownerGone(): void {
    this.closed = true
    for (const { reject } of this.waiting.values()) reject(this.gone())
    this.waiting.clear()
  }

  private call<Result>(
    request: RemoteRequest extends infer R ? (R extends unknown ? Omit<R, 'id'> : never) : never,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Result> {
    if (this.closed) return Promise.reject(this.gone())
    const id = ++this.lastId
    return new Promise<Result>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
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

  append(
    topic: string,
    partition: number,
    batch: Uint8Array<ArrayBuffer>,
    transactionalId?: string,
  ): Promise<number> {
    const args: Parameters<LogBackend['append']> = [topic, partition, batch, transactionalId]
    return this.call({ method: 'append', args }, [batch.buffer])
  }

  sync(topic: string): Promise<void> {
    return this.call({ method: 'sync', args: [topic] })
  }

  initProducer(transactionalId: string): Promise<ProducerIdentity> {
    return this.call({ method: 'initProducer', args: [transactionalId] })
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
