import type { Cancel } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { Serializer } from '../../core/serializer.ts'
import { type DeferringOperator, IN_FLIGHT_RECORDS } from '../port/deferring.ts'
import type { OperatorContext } from '../port/operator.ts'
import { refusePromise } from '../port/refuse-promise.ts'
import { PlainProcessContext } from '../process/context.ts'
import { UserFunctionOperator } from '../process/user-function-operator.ts'
import { Fifo } from './fifo.ts'
import type { AsyncFunction } from './function.ts'
import {
  type InFlight,
  OrderedInFlight,
  type PendingRecord,
  UnorderedInFlight,
} from './in-flight.ts'
import { decodeInFlight, encodeInFlight, type StoredRecord } from './in-flight-state.ts'
import type { AsyncRetryStrategy } from './retry-strategy.ts'

/** Options of the operator of an asynchronous function. */
export interface AsyncWaitOptions<IN, OUT> {
  readonly userFunction: AsyncFunction<IN, OUT>
  /** `ordered`: results have the order of their records; `unordered`: only watermarks keep their place. */
  readonly mode: 'ordered' | 'unordered'
  /** Most records in flight. */
  readonly capacity: number
  /** Longest time of a record with all its calls, ms; undefined: no limit. */
  readonly timeoutMs: number | undefined
  readonly retryStrategy: AsyncRetryStrategy<OUT> | undefined
  /** Encodes the records in flight in a checkpoint. */
  readonly serializer: Serializer<unknown>
}

interface AsyncRecord extends StoredRecord, PendingRecord {
  attempts: number
  deadlineMs: number
}

/**
 * The operator of an `AsyncFunction`. Records in flight are part of a checkpoint, and a restored job calls the
 * function for them again.
 */
export class AsyncWaitOperator<IN, OUT>
  extends UserFunctionOperator<AsyncFunction<IN, OUT>>
  implements DeferringOperator
{
  private readonly options: AsyncWaitOptions<IN, OUT>
  private readonly inFlight: InFlight<AsyncRecord>
  /** Records that came when it was full, such as several of one call of the operator before. */
  private readonly waiting = new Fifo<AsyncRecord>()
  /** Records that were called and have no results, in the order of their deadlines. */
  private readonly called = new Set<AsyncRecord>()
  private started = 0
  private cancelTimeout: Cancel | undefined
  private failure: { readonly error: unknown } | undefined
  private closed = false

  constructor(options: AsyncWaitOptions<IN, OUT>) {
    super(options.userFunction)
    this.options = options
    this.inFlight = options.mode === 'ordered' ? new OrderedInFlight() : new UnorderedInFlight()
  }

  override async open(context: OperatorContext): Promise<void> {
    this.context = context
    const { serializer } = this.options
    await this.openFunction(new PlainProcessContext(context))
    for (const entry of context.operatorState.restored(IN_FLIGHT_RECORDS)) {
      this.accept(decodeInFlight(entry, serializer))
    }
  }

  get isFull(): boolean {
    return this.inFlight.size >= this.options.capacity
  }

  processElement(_input: number, value: unknown, timestamp: number): void {
    const { partition, offset, source = 0 } = this.context.position()
    this.accept({ value, timestamp, position: { partition, offset, source } })
  }

  emitNext(): boolean {
    if (this.failure !== undefined) throw this.failure.error
    const record = this.inFlight.next()
    if (record === undefined) return false
    this.context.resumeAt(record.position)
    for (const result of record.results!) this.emit(result, record.timestamp)
    this.started -= 1
    const next = this.waiting.shift()
    if (next !== undefined) this.start(next)
    return true
  }

  afterInFlight(action: () => void, isBorder: boolean): void {
    this.inFlight.after(action, isBorder)
  }

  override prepareSnapshot(checkpointId: number): void | Promise<void> {
    const { serializer } = this.options
    const entries = Array.from(this.inFlight.records(), (record) =>
      encodeInFlight(record, serializer),
    )
    this.context.operatorState.update(IN_FLIGHT_RECORDS, 'split', entries)
    return super.prepareSnapshot(checkpointId)
  }

  override close(): void | Promise<void> {
    this.closed = true
    this.cancelTimeout?.()
    return super.close()
  }

  /** Emits one result of a record. */
  protected emit(result: unknown, timestamp: number): void {
    this.context.output.collect(result, timestamp)
  }

  private accept(stored: StoredRecord): void {
    const record: AsyncRecord = { ...stored, results: undefined, attempts: 0, deadlineMs: 0 }
    this.inFlight.add(record)
    if (this.started < this.options.capacity) this.start(record)
    else this.waiting.push(record)
  }

  private start(record: AsyncRecord): void {
    const { timeoutMs } = this.options
    this.started += 1
    if (timeoutMs !== undefined) {
      record.deadlineMs = this.context.clock.monotonicMs() + timeoutMs
      this.called.add(record)
      if (this.cancelTimeout === undefined) this.awaitTimeout(timeoutMs)
    }
    this.invoke(record)
  }

  private invoke(record: AsyncRecord): void {
    record.attempts += 1
    let promise: PromiseLike<unknown> | undefined
    try {
      promise = this.options.userFunction.asyncInvoke(record.value as IN)
    } catch (error) {
      this.rejected(record, error)
      return
    }
    if (typeof promise?.then !== 'function') {
      this.fail(this.wrongInvoke(`returned ${kindOf(promise)}, not a promise`))
      return
    }
    promise.then(
      (results) => this.resolved(record, results),
      (error) => this.rejected(record, error),
    )
  }

  private resolved(record: AsyncRecord, results: unknown): void {
    if (this.isOver(record)) return
    if (!Array.isArray(results)) {
      this.fail(this.wrongInvoke(`resolved to ${kindOf(results)}, not to an array of results`))
    } else if (!this.retries(record, (strategy) => strategy.retriesResults(results))) {
      this.complete(record, results)
    }
  }

  private rejected(record: AsyncRecord, error: unknown): void {
    if (this.isOver(record)) return
    if (!this.retries(record, (strategy) => strategy.retriesError(error))) this.fail(error)
  }

  /** Calls the function again later, if the strategy says so. */
  private retries(
    record: AsyncRecord,
    asksForRetry: (strategy: AsyncRetryStrategy<OUT>) => boolean,
  ): boolean {
    const { retryStrategy } = this.options
    if (retryStrategy === undefined || record.attempts >= retryStrategy.maxAttempts) return false
    try {
      const asks = asksForRetry(retryStrategy)
      refusePromise(asks, 'the condition of the retry strategy')
      if (!asks) return false
      this.context.clock.after(retryStrategy.delayMs(record.attempts), () => {
        if (!this.isOver(record)) this.invoke(record)
      })
    } catch (error) {
      this.fail(error)
    }
    return true
  }

  private complete(record: AsyncRecord, results: readonly unknown[]): void {
    record.results = results
    this.called.delete(record)
    this.inFlight.completed(record)
    this.context.wake()
  }

  private isOver(record: AsyncRecord): boolean {
    return this.closed || record.results !== undefined
  }

  /** The job fails in the next call of the runtime. */
  private fail(error: unknown): void {
    this.failure ??= { error }
    this.context.wake()
  }

  private awaitTimeout(delayMs: number): void {
    this.cancelTimeout = this.context.clock.after(delayMs, () => this.expire())
  }

  /** Ends the records whose time is over, and waits for the next deadline. */
  private expire(): void {
    this.cancelTimeout = undefined
    const nowMs = this.context.clock.monotonicMs()
    for (const record of this.called) {
      if (record.deadlineMs > nowMs) {
        this.awaitTimeout(record.deadlineMs - nowMs)
        return
      }
      this.timeOut(record)
    }
  }

  private timeOut(record: AsyncRecord): void {
    const { userFunction, timeoutMs } = this.options
    this.called.delete(record)
    if (userFunction.timeout === undefined) {
      const sentence = `asyncInvoke of operator "${this.context.name}" has no result after ${timeoutMs} ms and ${record.attempts} calls: allow more time, or give the function a timeout method, whose results are taken instead`
      this.fail(new WeirError('DEADLINE_EXCEEDED', sentence))
      return
    }
    try {
      const results: unknown = userFunction.timeout(record.value as IN)
      refusePromise(results, 'timeout')
      if (Array.isArray(results)) this.complete(record, results)
      else this.fail(this.wrongTimeout(results))
    } catch (error) {
      this.fail(error)
    }
  }

  private wrongInvoke(what: string): WeirError {
    return new WeirError(
      'INVALID_ARGUMENT',
      `asyncInvoke of operator "${this.context.name}" ${what}: return a promise of an array, which is empty for no result`,
    )
  }

  private wrongTimeout(results: unknown): WeirError {
    return new WeirError(
      'INVALID_ARGUMENT',
      `timeout of operator "${this.context.name}" returned ${kindOf(results)}, not an array of results: return an array, which is empty for no result`,
    )
  }
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : value === undefined ? 'nothing' : `a ${typeof value}`
}
