import { callSpan, endWith } from '../tracing/call-span.ts'
import { answerErrorOf } from '../wire/answer.ts'
import type { Answer, QueryOptions, SparseProduct, SparseVector } from '../wire/model-reader.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { ResolvedClientOptions } from './options.ts'
import { type FailedProduct, SparseBatch, type SparseTerms } from './sparse-batch.ts'

/** A batch is sent when its frame is this long, even with few calls. */
const BATCH_BYTES = 64 * 1024
/** Smaller batches wait for the end of the turn. */
const SMALL_BATCH = 8
const KEPT_BATCHES = 64
/** Batches with larger frames are not kept. */
const KEPT_BYTES = 1024 * 1024

/** Settles a product of which the first try failed, after further tries if they can help. */
export type RetrySparse = (product: FailedProduct) => void

/**
 * Sparse products that are asked for in one turn of the event loop share a frame, as predictions do.
 * Only first tries are batched: `retry` settles products that fail.
 */
export class SparseDots {
  private readonly options: ResolvedClientOptions
  private readonly pool: ConnectionPool
  private readonly retry: RetrySparse
  private readonly idle: SparseBatch[] = []
  private open: SparseBatch | undefined
  private flushScheduled = false
  private inFlight = 0
  /** Recent maximum of `inFlight`. */
  private usualInFlight = 0

  constructor(options: ResolvedClientOptions, pool: ConnectionPool, retry: RetrySparse) {
    this.options = options
    this.pool = pool
    this.retry = retry
  }

  /** Products that wait for an answer. */
  get outstanding(): number {
    return this.inFlight
  }

  /** Asks for one product: of the features and, if `isDecision`, the constant feature. */
  ask(
    state: string,
    features: SparseVector,
    options: QueryOptions,
    isDecision: boolean,
  ): Promise<Answer<SparseProduct>> {
    const span = callSpan('sparseDot', state)
    // A traced product has a frame of its own.
    if (span !== undefined) this.flush()
    const answer = new Promise<Answer<SparseProduct>>((settle) => {
      const batch = this.batchFor(state, options, isDecision)
      batch.trace = span
      try {
        batch.add({ features, settle })
      } catch (error) {
        settle({ ok: false, error: answerErrorOf(error) })
        return
      }
      if (++this.inFlight > this.usualInFlight) this.usualInFlight = this.inFlight
      if (span !== undefined || this.isFull(batch)) this.flush()
    })
    return span === undefined ? answer : endWith(span, answer)
  }

  private isFull({ calls, frameBytes }: SparseBatch): boolean {
    if (frameBytes > BATCH_BYTES || calls >= this.options.maxBatch) return true
    return calls >= SMALL_BATCH && 2 * calls >= this.usualInFlight
  }

  private batchFor(state: string, options: QueryOptions, isDecision: boolean): SparseBatch {
    const { deadlineMs } = this.options
    const terms: SparseTerms = {
      state,
      version: options.version ?? 0,
      consistency: options.consistency ?? LIVE,
      deadlineMs: options.deadlineMs ?? deadlineMs,
      isDecision,
    }
    if (this.open !== undefined) {
      if (sameTerms(this.open.terms, terms)) return this.open
      this.flush()
    }
    const batch = this.idle.pop() ?? new SparseBatch(this, terms)
    batch.begin(terms, this.options.clock.monotonicMs())
    this.open = batch
    if (!this.flushScheduled) {
      this.flushScheduled = true
      process.nextTick(this.flushAtEnd)
    }
    return batch
  }

  private readonly flushAtEnd = (): void => {
    this.flushScheduled = false
    this.flush()
  }

  private flush(): void {
    const batch = this.open
    if (batch === undefined) return
    this.open = undefined
    this.usualInFlight -= (this.usualInFlight - this.inFlight) >> 4
    if (batch.calls === 0) {
      this.keep(batch)
      return
    }
    const connection = this.pool.pick(undefined)
    if (connection === undefined) batch.fail(this.pool.reason)
    else {
      batch.sendOn(connection)
      connection.flush()
    }
  }

  /** All calls of the batch are settled. */
  done(batch: SparseBatch): void {
    this.inFlight -= batch.calls
    this.keep(batch)
  }

  private keep(batch: SparseBatch): void {
    const large = batch.keptBytes > KEPT_BYTES
    if (!large && this.idle.length < KEPT_BATCHES) this.idle.push(batch)
  }

  /** A call failed. */
  failed(product: FailedProduct): void {
    this.retry(product)
  }
}

const LIVE = { level: 'live' } as const

function sameTerms(a: SparseTerms, b: SparseTerms): boolean {
  return (
    a.state === b.state &&
    a.version === b.version &&
    a.deadlineMs === b.deadlineMs &&
    a.isDecision === b.isDecision &&
    a.consistency === b.consistency
  )
}
