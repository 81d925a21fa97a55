import { WeirError } from '../core/errors.ts'
import { callSpan, endWith } from '../core/tracing/call-span.ts'
import { tracer } from '../core/tracing/tracer.ts'
import type { EncodedPairs, PairPredictions } from '../wire/encoded-pairs.ts'
import type { Answer, Prediction, PredictOptions } from '../wire/model-reader.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { ResolvedClientOptions } from './options.ts'
import { framesOf, PairBatch, PairsCall } from './pair-batch.ts'
import { type FailedPrediction, PredictBatch, type PredictTerms } from './predict-batch.ts'
import type { Retries } from './retries.ts'

const KEPT_BATCHES = 256
/** Smaller batches wait for the end of the turn: a frame costs as much as this number of calls. */
const SMALL_BATCH = 32
/** A batch is sent when its frame is this long, even with few calls. */
const BATCH_BYTES = 64 * 1024
/** Most pairs of a frame of encoded pairs: the server works on it for a fraction of a millisecond. */
const PAIRS_OF_FRAME = 512

/**
 * The client's hot path. Concurrent predictions with the same terms share a frame. A full frame is sent
 * at once, so that the server works while the caller makes more calls; the rest is sent at the end of
 * the turn of the event loop.
 */
export class Predictions {
  private readonly options: ResolvedClientOptions
  private readonly pool: ConnectionPool
  private readonly retries: Retries
  private readonly idle: PredictBatch[] = []
  private readonly idlePairs: PairBatch[] = []
  /** Open batches, the one used last first. */
  private open: PredictBatch[] = []
  private flushScheduled = false
  private inFlight = 0
  /** Recent maximum of `inFlight`. */
  private usualInFlight = 0
  private isClosed = false

  constructor(options: ResolvedClientOptions, pool: ConnectionPool, retries: Retries) {
    this.options = options
    this.pool = pool
    this.retries = retries
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
    if (tracer?.current !== undefined) {
      return this.askTraced(left, right, this.termsOf(state, options, withEnvelope))
    }
    const first = this.open[0]
    let batch: PredictBatch
    let promise: Promise<Prediction | Answer<Prediction>>
    try {
      batch =
        first?.matches(state, options, withEnvelope, this.options.deadlineMs) === true
          ? first
          : this.batchFor(state, options, withEnvelope)
      promise = batch.add(left, right)
    } catch (error) {
      return Promise.reject(error)
    }
    this.inFlight++
    if (this.inFlight > this.usualInFlight) this.usualInFlight = this.inFlight
    if (this.isFull(batch)) this.sendFull(batch)
    return promise
  }

  /** Asks for one prediction in its own frame, below a span of the call. */
  private askTraced(
    left: string,
    right: string,
    terms: PredictTerms,
  ): Promise<Prediction | Answer<Prediction>> {
    const span = callSpan('predict', terms.state)!
    const batch = this.begin(terms)
    batch.trace = span
    this.open.splice(this.open.indexOf(batch), 1)
    let promise: Promise<Prediction | Answer<Prediction>>
    try {
      promise = batch.add(left, right)
    } catch (error) {
      this.idle.push(batch)
      return endWith(span, Promise.reject(error))
    }
    this.inFlight++
    this.send(batch)?.flush()
    return endWith(span, promise)
  }

  /** Asks for the predictions of pairs whose keys are encoded. Errors of single pairs are answers. */
  async askPairs(
    state: string,
    pairs: EncodedPairs,
    options: PredictOptions,
  ): Promise<PairPredictions> {
    const { maxInFlight } = this.options
    if (this.inFlight + pairs.count > maxInFlight || this.isClosed) return await this.refuse()
    const call = new PairsCall(pairs.count)
    const terms = this.termsOf(state, options, false)
    const now = this.options.clock.monotonicMs()
    const span = callSpan('predict', state)
    for (const frame of framesOf(pairs, PAIRS_OF_FRAME, BATCH_BYTES)) {
      const batch = this.idlePairs.pop() ?? new PairBatch(this)
      batch.begin(call, terms, frame, now)
      batch.trace = span
      this.inFlight += batch.calls
      const connection = this.pool.pick()
      if (connection === undefined) batch.fail(this.pool.reason)
      else batch.sendOn(connection)
    }
    return await (span === undefined ? call.predictions : endWith(span, call.predictions))
  }

  /**
   * A frame holds at most half of the usual calls in flight, so that one half is answered while the other
   * half is asked. With larger frames, client and server would wait for each other in turn.
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
    return this.begin(this.termsOf(state, options, withEnvelope))
  }

  private termsOf(state: string, options: PredictOptions, withEnvelope: boolean): PredictTerms {
    return {
      state,
      version: options.version ?? 0,
      consistency: options.consistency ?? LIVE,
      coldLeft: options.coldLeft,
      coldRight: options.coldRight,
      deadlineMs: options.deadlineMs ?? this.options.deadlineMs,
      withEnvelope,
      attempt: 1,
      before: undefined,
    }
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

  /** All calls of the batch are settled. */
  done(batch: PredictBatch): void {
    this.inFlight -= batch.calls
    if (this.idle.length < KEPT_BATCHES) this.idle.push(batch)
  }

  donePairs(batch: PairBatch): void {
    this.inFlight -= batch.calls
    if (this.idlePairs.length < KEPT_BATCHES) this.idlePairs.push(batch)
  }

  /** Tries a failed call again, or gives its caller the error. */
  failed(call: FailedPrediction): void {
    const { error, deadlineAt, terms } = call
    this.retries.next(
      { error, before: terms.before, deadlineAt, attempt: terms.attempt },
      () => this.retry(call),
      (last) => this.reject(call, last),
    )
  }

  private reject(call: FailedPrediction, error: WeirError): void {
    if (call.terms.withEnvelope) call.resolve({ ok: false, error })
    else call.reject(error)
  }

  private retry(call: FailedPrediction): void {
    const left = call.deadlineAt - this.options.clock.monotonicMs()
    const deadlineMs = Math.max(1, Math.ceil(left))
    const attempt = call.terms.attempt + 1
    const terms = { ...call.terms, deadlineMs, attempt, before: call.error }
    const batch = this.begin(terms)
    batch.append(call.left, call.right, call.resolve, call.reject)
    this.inFlight++
    this.open.splice(this.open.indexOf(batch), 1)
    this.send(batch)
  }

  /** Refuses further calls; waiting calls fail when their connection closes. */
  close(): void {
    this.isClosed = true
  }
}

const LIVE = { level: 'live' } as const
