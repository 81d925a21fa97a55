import { WeirError } from '../core/errors.ts'
import { type AnswerCursor, errorOfStatus } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'
import { ANSWER_FLAG, DEFERRED, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import { FrameWriter } from '../wire/frame-writer.ts'
import { writeUint32 } from '../wire/little-endian.ts'
import type { Answer, Consistency, SparseProduct, SparseVector } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { writeSparseVector } from '../wire/sparse-vector.ts'
import { OK } from '../wire/status.ts'
import type { ClientConnection } from './client-connection.ts'
import { type InFlight, noAnswerWithin } from './in-flight.ts'

/** What all sparse products of a batch share, with every default filled in. */
export interface SparseTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  readonly deadlineMs: number
  /** The constant feature is added, and positions are not asked for: they cost reads of their own. */
  readonly isDecision: boolean
}

/** A sparse product that waits for its answer. */
export interface SparseCall {
  readonly features: SparseVector
  readonly settle: (answer: Answer<SparseProduct>) => void
}

/** What a batch needs of its client. */
export interface SparseBatchOwner {
  /** A call failed: it is tried again, or its answer is the error. */
  failed(call: SparseCall, terms: SparseTerms, deadlineAt: number, error: WeirError): void
  /** Nothing of the batch is awaited any more: it may be used again. */
  done(batch: SparseBatch): void
}

/**
 * Sparse products of one turn of the loop with the same terms: one request frame of packed vectors,
 * encoded as they come. Batches are pooled.
 */
export class SparseBatch implements InFlight {
  requestId = 0
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  terms: SparseTerms
  private readonly owner: SparseBatchOwner
  private readonly writer = new FrameWriter(4096)
  private connection: ClientConnection | undefined
  private waiting: SparseCall[] = []
  /** Next call, in order, that no answer frame has covered. */
  private nextCall = 0
  /** Calls whose answers were deferred, oldest first. */
  private deferred: SparseCall[] = []

  constructor(owner: SparseBatchOwner, terms: SparseTerms) {
    this.owner = owner
    this.terms = terms
  }

  /** Makes the batch an empty one with these terms; the deadline counts from `now`. */
  begin(terms: SparseTerms, now: number): void {
    this.terms = terms
    this.deadlineAt = now + terms.deadlineMs
    this.waiting = []
    this.nextCall = 0
    this.writer.reset()
    const flags = REQUEST_FLAG.packed | (terms.isDecision ? 0 : REQUEST_FLAG.envelope)
    beginRequest(this.writer, KIND.sparseDot, flags, 0, terms)
  }

  /** Calls in the batch. */
  get calls(): number {
    return this.waiting.length
  }

  /** Bytes of the frame so far. */
  get frameBytes(): number {
    return this.writer.length
  }

  /** Bytes that the batch keeps. */
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
  }

  /** Ends the frame and sends it. */
  sendOn(connection: ClientConnection): void {
    this.writer.end(this.calls)
    if (this.writer.length - 4 > connection.maxFrameBytes) {
      this.fail(
        new WeirError(
          'FRAME_TOO_LARGE',
          `the request takes ${this.writer.length} bytes, the server accepts ${connection.maxFrameBytes}; split the features and add up the sums`,
        ),
      )
      return
    }
    this.connection = connection
    this.requestId = connection.newRequestId()
    writeUint32(this.writer.bytes, 8, this.requestId)
    connection.send(this, this.writer.written())
  }

  answer(cursor: AnswerCursor, server: string): boolean {
    const failures = new Map<number, { readonly call: SparseCall; error: WeirError }>()
    try {
      for (let i = 0; i < cursor.count; i++) {
        const status = cursor.uint8()
        cursor.uint8()
        if (status === OK) this.settle(cursor, server)
        else if (status === DEFERRED) this.deferred.push(this.nextOpen())
        else failures.set(i, { call: this.nextOpen(), error: this.errorOf(status) })
      }
      if ((cursor.flags & ANSWER_FLAG.details) !== 0) readDetails(cursor, failures)
    } finally {
      for (const { call, error } of failures.values()) this.failCall(call, error)
    }
    const isDone = this.nextCall === this.calls && this.deferred.length === 0
    if (isDone) this.finish()
    return isDone
  }

  private settle(cursor: AnswerCursor, server: string): void {
    if ((cursor.flags & ANSWER_FLAG.envelope) !== 0) cursor.itemEnvelope()
    const value = { sum: cursor.float64(), unknown: cursor.uint32() }
    this.nextOpen().settle({ ok: true, value, envelope: cursor.envelope(server) })
  }

  private errorOf(status: number): WeirError {
    return errorOfStatus(status, this.terms.state)
  }

  private nextOpen(): SparseCall {
    const call = this.nextCall < this.calls ? this.waiting[this.nextCall++] : this.deferred.shift()
    if (call !== undefined) return call
    throw new WeirError('PROTOCOL_ERROR', 'the server answered more products than were asked')
  }

  private failCall(call: SparseCall | undefined, error: WeirError): void {
    if (call !== undefined) this.owner.failed(call, this.terms, this.deadlineAt, error)
  }

  fail(error: WeirError): void {
    while (this.nextCall < this.calls) this.failCall(this.waiting[this.nextCall++], error)
    for (const call of this.deferred) this.failCall(call, error)
    this.finish()
  }

  expire(): void {
    this.connection?.forget(this)
    this.fail(noAnswerWithin(this.terms.deadlineMs))
  }

  private finish(): void {
    this.deferred = []
    this.connection = undefined
    this.owner.done(this)
  }
}

/** The messages of failed answers, which stand behind the last answer. */
function readDetails(
  cursor: AnswerCursor,
  failures: ReadonlyMap<number, { error: WeirError }>,
): void {
  for (const [i, error] of cursor.details()) {
    const failure = failures.get(i)
    if (failure !== undefined) failure.error = error
  }
}
