import { isWeirError, WeirError } from '../core/errors.ts'
import type { Answer, Prediction, PredictOptions } from '../wire/model-reader.ts'
import { decideRetry } from './backoff.ts'
import type { ResolvedClientOptions } from './client-options.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { channels } from './diagnostics.ts'
import { type FailedPrediction, PredictBatch, type PredictTerms } from './predict-batch.ts'

const KEPT_BATCHES = 256
/** Batches smaller than this wait for the end of the turn: a frame costs as much as their calls. */
const SMALL_BATCH = 32
/** A batch is sent when its frame is this long, however few calls it holds. */
const BATCH_BYTES = 64 * 1024

/**
 * The client's hot path. Concurrent predictions with the same terms share a frame; a full frame
 * leaves at once, so that the server works while the caller goes on asking, the rest when the turn
 * of the loop ends.
 */
export class Predictions {
  private readonly options: ResolvedClientOptions
  private readonly pool: ConnectionPool
  private readonly idle: PredictBatch[] = []
  /** Batches that take calls; the one used last comes first. */
  private open: PredictBatch[] = []
  private flushScheduled = false
  private inFlight = 0
  /** The most that was under way lately. */
  private usualInFlight = 0
  private isClosed = false

  constructor(options: ResolvedClientOptions, pool: ConnectionPool) {
    this.options = options
    this.pool = pool
  }

  /** Predictions that wait for an answer. */
  get outstanding(): number {
    return this.inFlight
  }

  /** Asks for one prediction; `withEnvelope` makes the promise one of an answer. */
  ask(
    state: string,
    left: string,
    right: string,
    options: PredictOptions,
    withEnvelope: boolean,
  ): Promise<Prediction | Answer<Prediction>> {
    if (this.inFlight >= this.options.maxInFlight || this.isClosed) return this.refuse()
    const first = this.open[0]
    const batch =
      first?.matches(state, options, withEnvelope, this.options.deadlineMs) === true
        ? first
        : this.batchFor(state, options, withEnvelope)
    let promise: Promise<Prediction | Answer<Prediction>>
    try {
      promise = batch.add(left, right)
    } catch (error) {
      return Promise.reject(error)
    }
    this.inFlight++
    if (this.inFlight > this.usualInFlight) this.usualInFlight = this.inFlight
    if (this.isFull(batch)) this.sendFull(batch)
    return promise
  }

  /**
   * With half of what is under way in one frame, one half is answered while the other one is asked:
   * larger frames would make client and server wait for each other in turn.
   */
  private isFull({ calls, frameBytes }: PredictBatch): boolean {
    if (calls < SMALL_BATCH) return frameBytes > BATCH_BYTES || calls >= this.options.maxBatch
    return (
      2 * calls >= this.usualInFlight || calls >= this.options.maxBatch || frameBytes > BATCH_BYTES
    )
  }

  private refuse(): Promise<never> {
    if (this.isClosed) return Promise.reject(new WeirError('UNAVAILABLE', 'the client is closed'))
    const { maxInFlight } = this.options
    return Promise.reject(
      new WeirError('OVERLOADED', `${maxInFlight} calls wait for answers; await some of them`, {
        details: { limit: maxInFlight },
      }),
    )
  }

  private batchFor(state: string, options: PredictOptions, withEnvelope: boolean): PredictBatch {
    const { deadlineMs } = this.options
    const known = this.open.findIndex((batch) =>
      batch.matches(state, options, withEnvelope, deadlineMs),
    )
    if (known >= 0) {
      const batch = this.open[known]!
      this.open[known] = this.open[0]!
      this.open[0] = batch
      return batch
    }
    return this.begin({
      state,
      version: options.version ?? 0,
      consistency: options.consistency ?? LIVE,
      coldLeft: options.coldLeft,
      coldRight: options.coldRight,
      deadlineMs: options.deadlineMs ?? deadlineMs,
      withEnvelope,
      attempt: 1,
      hint: undefined,
    })
  }

  private begin(terms: PredictTerms): PredictBatch {
    const batch = this.idle.pop() ?? new PredictBatch(this, terms)
    batch.begin(terms, this.options.clock.monotonicMs())
    this.open.unshift(batch)
    if (!this.flushScheduled) {
      this.flushScheduled = true
      // After every continuation of this turn, before any I/O: measured as fast as a microtask, and
      // it collects more; setImmediate cost a quarter of the throughput at 64 outstanding calls.
      process.nextTick(this.flush)
    }
    return batch
  }

  private sendFull(batch: PredictBatch): void {
    this.open.splice(this.open.indexOf(batch), 1)
    this.send(batch)?.flush()
  }

  private readonly flush = (): void => {
    this.flushScheduled = false
    const batches = this.open
    if (batches.length === 0) return
    this.open = []
    for (const batch of batches) this.send(batch)?.flush()
  }

  private send(batch: PredictBatch): ReturnType<ConnectionPool['pick']> {
    this.usualInFlight -= (this.usualInFlight - this.inFlight) >> 4
    const connection = this.pool.pick(batch.hint)
    if (connection === undefined) batch.fail(this.pool.reason)
    else batch.sendOn(connection)
    return connection
  }

  /** Nothing of the batch is awaited any more. */
  done(batch: PredictBatch): void {
    this.inFlight -= batch.calls
    if (this.idle.length < KEPT_BATCHES) this.idle.push(batch)
  }

  /** Tries a failed call again, or gives its caller the error. */
  failed(call: FailedPrediction): void {
    const { options } = this
    const left = call.deadlineAt - options.clock.monotonicMs()
    const { attempt } = call.terms
    const decision = decideRetry(call.error, attempt, left, options.retry, options.random)
    if (decision.kind !== 'retry' || this.isClosed) {
      this.reject(call, decision.kind === 'too-late' ? tooLate(call) : call.error)
      return
    }
    const { waitMs } = decision
    channels.retry.publish({ code: call.error.code, attempt, waitMs })
    options.clock.after(waitMs, () => this.retry(call))
  }

  private reject(call: FailedPrediction, error: WeirError): void {
    if (call.terms.withEnvelope) call.resolve({ ok: false, error })
    else call.reject(error)
  }

  private retry(call: FailedPrediction): void {
    const left = call.deadlineAt - this.options.clock.monotonicMs()
    const deadlineMs = Math.max(1, Math.ceil(left))
    const hint = hintOf(call.error)
    const terms = { ...call.terms, deadlineMs, attempt: call.terms.attempt + 1, hint }
    const batch = this.begin(terms)
    batch.append(call.left, call.right, call.resolve, call.reject)
    this.inFlight++
    this.open.splice(this.open.indexOf(batch), 1)
    this.send(batch)
  }

  /** Refuses further calls; what waits fails when its connection closes. */
  close(): void {
    this.isClosed = true
  }
}

const LIVE = { level: 'live' } as const

/** Where a NOT_OWNER answer says the key lives. */
export function hintOf(error: WeirError): string | undefined {
  if (!isWeirError(error, 'NOT_OWNER')) return undefined
  const endpoint = error.details['endpoint']
  return typeof endpoint === 'string' ? endpoint : undefined
}

function tooLate(call: FailedPrediction): WeirError {
  return new WeirError(
    'DEADLINE_EXCEEDED',
    `no answer before the deadline; the last try failed: ${call.error.message}`,
    { cause: call.error, details: { lastError: call.error.code } },
  )
}
