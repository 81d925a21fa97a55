import { WeirError } from '../core/errors.ts'
import { type AnswerCursor, errorOfStatus } from '../wire/answer.ts'
import { ANSWER_FLAG, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { Answer, Consistency, SparseProduct, SparseVector } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { writeSparseVector } from '../wire/sparse-vector.ts'
import { OK } from '../wire/status.ts'
import { RequestBatch } from './request-batch.ts'

/** Terms that all sparse products of a batch share, with every default filled in. */
export interface SparseTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  readonly deadlineMs: number
  /** The constant feature is added, and positions are not requested: they cost extra reads. */
  readonly isDecision: boolean
}

/** A sparse product that waits for its answer. */
export interface SparseCall {
  readonly features: SparseVector
  readonly settle: (answer: Answer<SparseProduct>) => void
}

/** A sparse product of which the first try failed. */
export interface FailedProduct extends SparseCall {
  readonly terms: SparseTerms
  /** Monotonic ms. */
  readonly deadlineAt: number
  readonly error: WeirError
}

/** Owner of the batches. */
export interface SparseBatchOwner {
  /** A call failed: it is tried again, or its answer is the error. */
  failed(product: FailedProduct): void
  /** All calls of the batch are settled: it may be used again. */
  done(batch: SparseBatch): void
}

/** Sparse products that share a frame of packed vectors. */
export class SparseBatch extends RequestBatch {
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
