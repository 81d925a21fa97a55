import { WeirError } from '../core/errors.ts'
import { callSpan, endWith } from '../core/tracing/call-span.ts'
import { type AnswerCursor, answerErrorOf, errorOfStatus } from '../wire/answer.ts'
import { ANSWER_FLAG, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type {
  Answer,
  Consistency,
  QueryOptions,
  SparseProduct,
  SparseVector,
} from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { writeSparseVector } from '../wire/sparse-vector.ts'
import { OK } from '../wire/status.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { ResolvedClientOptions } from './options.ts'
import { RequestBatch } from './request-batch.ts'

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

/** Terms that all sparse products of a batch share, with every default filled in. */
interface SparseTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  readonly deadlineMs: number
  /** The constant feature is added, and positions are not requested: they cost extra reads. */
  readonly isDecision: boolean
}

/** A sparse product that waits for its answer. */
interface SparseCall {
  readonly features: SparseVector
  readonly settle: (answer: Answer<SparseProduct>) => void
}

/** A sparse product of which the first try failed. */
interface FailedProduct extends SparseCall {
  readonly terms: SparseTerms
  /** Monotonic ms. */
  readonly deadlineAt: number
  readonly error: WeirError
}

/** Owner of the batches. */
interface SparseBatchOwner {
  /** A call failed: it is tried again, or its answer is the error. */
  failed(product: FailedProduct): void
  /** All calls of the batch are settled: it may be used again. */
  done(batch: SparseBatch): void
}

/** Sparse products that share a frame of packed vectors. */
class SparseBatch extends RequestBatch {
  terms: SparseTerms
  private readonly owner: SparseBatchOwner
  private waiting: SparseCall[] = []

  constructor(owner: SparseBatchOwner, terms: SparseTerms) {
    super()
    this.owner = owner
    this.terms = terms
  }

  /** Makes the batch empty, with these terms; the deadline counts from `now`. */
  begin(terms: SparseTerms, now: number): void {
    this.terms = terms
    this.restart(now + terms.deadlineMs)
    const flags = REQUEST_FLAG.packed | (terms.isDecision ? 0 : REQUEST_FLAG.envelope)
    beginRequest(this.writer, KIND.sparseDot, flags, 0, terms)
  }

  /** Bytes of the batch's buffer. */
  get keptBytes(): number {
    return this.writer.bytes.length
  }

  /** Appends a call. Throws INVALID_ARGUMENT. */
  add(call: SparseCall): void {
    const before = this.writer.length
    try {
      writeSparseVector(this.writer, call.features, this.terms.isDecision)
    } catch (error) {
      this.writer.length = before
      throw error
    }
    this.waiting.push(call)
    this.calls++
  }

  protected tooLarge(length: number, limit: number): WeirError {
    return new WeirError(
      'FRAME_TOO_LARGE',
      `the request takes ${length} bytes, the server accepts ${limit}; split the features and add up the sums`,
    )
  }

  answer(cursor: AnswerCursor, server: string): boolean {
    const failures = new Map<number, { readonly call: number; error: WeirError }>()
    try {
      for (let i = 0; i < cursor.count; i++) {
        const status = cursor.uint8()
        cursor.uint8()
        if (status === OK) this.settle(cursor, server)
        else if (status === DEFERRED) this.defer(this.nextOpen())
        else failures.set(i, { call: this.nextOpen(), error: this.errorOf(status) })
      }
      if ((cursor.flags & ANSWER_FLAG.details) !== 0) readDetails(cursor, failures)
    } finally {
      for (const { call, error } of failures.values()) this.failCall(call, error)
    }
    return this.finishIfAnswered()
  }

  private settle(cursor: AnswerCursor, server: string): void {
    if ((cursor.flags & ANSWER_FLAG.envelope) !== 0) cursor.itemEnvelope()
    const value = { sum: cursor.float64(), unknown: cursor.uint32() }
    const call = this.waiting[this.nextOpen()]!
    call.settle({ ok: true, value, envelope: cursor.envelope(server) })
  }

  private errorOf(status: number): WeirError {
    return errorOfStatus(status, this.terms.state)
  }

  protected failCall(call: number, error: WeirError): void {
    const { terms, deadlineAt } = this
    this.owner.failed({ ...this.waiting[call]!, terms, deadlineAt, error })
  }

  protected get deadlineMs(): number {
    return this.terms.deadlineMs
  }

  protected done(): void {
    this.waiting = []
    this.owner.done(this)
  }
}

/** Reads the messages of failed answers, which follow the last answer. */
function readDetails(
  cursor: AnswerCursor,
  failures: ReadonlyMap<number, { error: WeirError }>,
): void {
  for (const [i, error] of cursor.details()) {
    const failure = failures.get(i)
    if (failure !== undefined) failure.error = error
  }
}
