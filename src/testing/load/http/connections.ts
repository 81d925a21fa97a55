import type { Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { DeadlineWheel } from '../../../wire/deadline-wheel.ts'
import { type HttpAddress, HttpConnection } from './connection.ts'
import type { HttpResponse } from './response-reader.ts'

/** Options of HTTP connections. */
export interface HttpConnectionsOptions {
  readonly address: HttpAddress
  /** Most connections that are open at a time. */
  readonly maxConnections: number
  /** Milliseconds until DEADLINE_EXCEEDED, from the call on. */
  readonly timeoutMs: number
  readonly clock: Clock
}

interface Waiting {
  readonly request: string | Uint8Array
  readonly deadlineAt: number
  readonly answer: PromiseWithResolvers<HttpResponse>
}

/** Keep-alive connections to one server, opened as they are needed. */
export class HttpConnections implements Disposable {
  private readonly options: HttpConnectionsOptions
  private readonly wheel: DeadlineWheel
  private readonly all: HttpConnection[] = []
  private readonly free: HttpConnection[] = []
  /** Requests that wait for a free connection, oldest first. */
  private readonly queue: Waiting[] = []

  constructor(options: HttpConnectionsOptions) {
    this.options = options
    this.wheel = new DeadlineWheel(options.clock)
  }

  /**
   * The answer to a request; its body is valid until the next turn of the event loop. Rejects with
   * UNAVAILABLE, PROTOCOL_ERROR, DEADLINE_EXCEEDED.
   */
  ask(request: string | Uint8Array): Promise<HttpResponse> {
    const deadlineAt = this.options.clock.monotonicMs() + this.options.timeoutMs
    const connection = this.free.pop() ?? this.another()
    if (connection !== undefined) return this.askOn(connection, request, deadlineAt)
    const answer = Promise.withResolvers<HttpResponse>()
    this.queue.push({ request, deadlineAt, answer })
    return answer.promise
  }

  private another(): HttpConnection | undefined {
    if (this.all.length >= this.options.maxConnections) return undefined
    const connection = new HttpConnection(this.options.address)
    this.all.push(connection)
    return connection
  }

  private async askOn(
    connection: HttpConnection,
    request: string | Uint8Array,
    deadlineAt: number,
  ): Promise<HttpResponse> {
    connection.deadlineAt = deadlineAt
    this.wheel.add(connection)
    try {
      return await connection.ask(request)
    } finally {
      this.wheel.remove(connection)
      this.release(connection)
    }
  }

  private release(connection: HttpConnection): void {
    const nowMs = this.options.clock.monotonicMs()
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) {
      const { request, deadlineAt, answer } = next
      if (deadlineAt > nowMs) {
        this.askOn(connection, request, deadlineAt).then(answer.resolve, answer.reject)
        return
      }
      answer.reject(
        new WeirError(
          'DEADLINE_EXCEEDED',
          `all ${this.options.maxConnections} connections were in use; raise --max-connections`,
        ),
      )
    }
    this.free.push(connection)
  }

  [Symbol.dispose](): void {
    this.wheel.close()
    for (const connection of this.all) connection[Symbol.dispose]()
  }
}
