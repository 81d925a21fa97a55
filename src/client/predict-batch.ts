import { WeirError } from '../core/errors.ts'
import {
  type AnswerCursor,
  errorOfStatus,
  ITEM_ENVELOPE_BYTES,
  SCORE_BYTES,
} from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'
import { ANSWER_FLAG, DEFERRED, ITEM_FLAG, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import { FrameWriter } from '../wire/frame-writer.ts'
import { readFloat32, writeUint32 } from '../wire/little-endian.ts'
import type { Answer, Consistency, Prediction, PredictOptions } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { OK } from '../wire/status.ts'
import type { ClientConnection } from './client-connection.ts'
import { type InFlight, noAnswerWithin } from './in-flight.ts'

/** What all predictions of a batch share, with every default filled in. */
export interface PredictTerms {
  readonly state: string
  readonly version: number
  readonly consistency: Consistency
  readonly coldLeft: string | undefined
  readonly coldRight: string | undefined
  readonly deadlineMs: number
  /** Calls want `Answer<Prediction>`, not `Prediction`. */
  readonly withEnvelope: boolean
  /** 1 for a first try. */
  readonly attempt: number
  /** Server (`host:port`) that a NOT_OWNER answer named. */
  readonly hint: string | undefined
}

/** A call's way out: `Prediction`, or `Answer<Prediction>` when the terms say so. */
export type Settle = (value: Prediction | Answer<Prediction>) => void
export type Reject = (error: WeirError) => void

/** A prediction that failed, as the client's retry gets it. */
export interface FailedPrediction {
  readonly terms: PredictTerms
  /** Monotonic ms. */
  readonly deadlineAt: number
  readonly left: string
  readonly right: string
  readonly resolve: Settle
  readonly reject: Reject
  readonly error: WeirError
}

/** What a batch needs of its client. */
export interface BatchOwner {
  /** A call failed: it is tried again or rejected. */
  failed(call: FailedPrediction): void
  /** Nothing of the batch is awaited any more: it may be used again. */
  done(batch: PredictBatch): void
}

let executorResolve: Settle
let executorReject: Reject
/** One executor for every promise: a closure per call would be the largest cost of a prediction. */
const captureSettlers = (resolve: (value: never) => void, reject: Reject): void => {
  executorResolve = resolve as Settle
  executorReject = reject
}

/**
 * Predictions of one turn of the loop with the same terms: one request frame. Calls are encoded as
 * they come; their promises are settled in a loop when the answer frame comes. Batches are pooled.
 */
export class PredictBatch implements InFlight {
  requestId = 0
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  /** Calls in the batch. */
  calls = 0
  connection: ClientConnection | undefined
  private terms: PredictTerms
  private readonly owner: BatchOwner
  private readonly writer = new FrameWriter(4096)
  private readonly lefts: string[] = []
  private readonly rights: string[] = []
  private readonly resolves: Settle[] = []
  private readonly rejects: Reject[] = []
  /** Next call, in order, that no answer frame has covered. */
  private nextCall = 0
  /** Calls whose answers were deferred, oldest first. */
  private deferred: number[] = []

  constructor(owner: BatchOwner, terms: PredictTerms) {
    this.owner = owner
    this.terms = terms
  }

  /** Makes the batch an empty one with these terms; the deadline counts from `now`. */
  begin(terms: PredictTerms, now: number): void {
    this.terms = terms
    this.deadlineAt = now + terms.deadlineMs
    this.calls = 0
    this.nextCall = 0
    this.writer.reset()
    const flags =
      (terms.withEnvelope ? REQUEST_FLAG.envelope : 0) |
      (terms.coldLeft === undefined ? 0 : REQUEST_FLAG.coldLeft) |
      (terms.coldRight === undefined ? 0 : REQUEST_FLAG.coldRight)
    beginRequest(this.writer, KIND.predict, flags, 0, terms)
    if (terms.coldLeft !== undefined) this.writer.key(terms.coldLeft)
    if (terms.coldRight !== undefined) this.writer.key(terms.coldRight)
  }

  /** Whether a call with these options belongs into this batch. */
  matches(
    state: string,
    options: PredictOptions,
    withEnvelope: boolean,
    defaultDeadlineMs: number,
  ): boolean {
    const { terms } = this
    return (
      terms.state === state &&
      terms.withEnvelope === withEnvelope &&
      terms.coldLeft === options.coldLeft &&
      terms.coldRight === options.coldRight &&
      terms.version === (options.version ?? 0) &&
      terms.deadlineMs === (options.deadlineMs ?? defaultDeadlineMs) &&
      terms.attempt === 1 &&
      sameConsistency(terms.consistency, options.consistency)
    )
  }

  /** Bytes of the frame so far. */
  get frameBytes(): number {
    return this.writer.length
  }

  /** Appends a call whose promise is settled elsewhere. Throws KEY_TOO_LONG. */
  append(left: string, right: string, resolve: Settle, reject: Reject): void {
    const before = this.writer.length
    try {
      this.writer.key(left)
      this.writer.key(right)
    } catch (error) {
      this.writer.length = before
      throw error
    }
    const at = this.calls++
    this.lefts[at] = left
    this.rights[at] = right
    this.resolves[at] = resolve
    this.rejects[at] = reject
  }

  /** Appends a call and returns its promise. Throws KEY_TOO_LONG. */
  add(left: string, right: string): Promise<Prediction | Answer<Prediction>> {
    const promise = new Promise<Prediction | Answer<Prediction>>(captureSettlers)
    this.append(left, right, executorResolve, executorReject)
    return promise
  }

  /** Where the batch wants to go. */
  get hint(): string | undefined {
    return this.terms.hint
  }

  /** Ends the frame and sends it. */
  sendOn(connection: ClientConnection): void {
    this.writer.end(this.calls)
    if (this.writer.length - 4 > connection.maxFrameBytes) {
      this.fail(
        new WeirError('FRAME_TOO_LARGE', `the server accepts ${connection.maxFrameBytes} bytes`),
      )
      return
    }
    this.connection = connection
    this.requestId = connection.newRequestId()
    writeUint32(this.writer.bytes, 8, this.requestId)
    connection.send(this, this.writer.written())
  }

  answer(cursor: AnswerCursor, server: string): boolean {
    const withEnvelope = (cursor.flags & ANSWER_FLAG.envelope) !== 0
    const details = this.detailsOf(cursor, withEnvelope)
    for (let i = 0; i < cursor.count; i++) {
      const at = cursor.take(SCORE_BYTES)
      const status = cursor.bytes[at]!
      const flags = cursor.bytes[at + 1]!
      if (withEnvelope) cursor.itemEnvelope()
      const call = this.nextOpen()
      if (status === OK) {
        const prediction: Prediction = {
          score: readFloat32(cursor.bytes, at + 2),
          leftCold: (flags & ITEM_FLAG.leftCold) !== 0,
          rightCold: (flags & ITEM_FLAG.rightCold) !== 0,
        }
        const resolve = this.resolves[call]!
        if (this.terms.withEnvelope) resolve(answerOf(prediction, cursor, server))
        else resolve(prediction)
      } else if (status === DEFERRED) this.deferred.push(call)
      else this.failCall(call, details?.get(i) ?? this.errorOf(status, call))
    }
    const isDone = this.nextCall === this.calls && this.deferred.length === 0
    if (isDone) this.finish()
    return isDone
  }

  private nextOpen(): number {
    if (this.nextCall < this.calls) return this.nextCall++
    const call = this.deferred.shift()
    if (call === undefined) {
      throw new WeirError('PROTOCOL_ERROR', 'the server answered more predictions than were asked')
    }
    return call
  }

  /** Messages stand behind the answers, which have a fixed width. */
  private detailsOf(
    cursor: AnswerCursor,
    withEnvelope: boolean,
  ): Map<number, WeirError> | undefined {
    if ((cursor.flags & ANSWER_FLAG.details) === 0) return undefined
    const at = cursor.at
    cursor.take(cursor.count * (SCORE_BYTES + (withEnvelope ? ITEM_ENVELOPE_BYTES : 0)))
    const details = cursor.details()
    cursor.at = at
    return details
  }

  private errorOf(status: number, call: number): WeirError {
    const { state } = this.terms
    return errorOfStatus(status, `${state}: ${this.lefts[call]} with ${this.rights[call]}`)
  }

  private failCall(call: number, error: WeirError): void {
    this.owner.failed({
      terms: this.terms,
      deadlineAt: this.deadlineAt,
      left: this.lefts[call]!,
      right: this.rights[call]!,
      resolve: this.resolves[call]!,
      reject: this.rejects[call]!,
      error,
    })
  }

  fail(error: WeirError): void {
    while (this.nextCall < this.calls) this.failCall(this.nextCall++, error)
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

function answerOf(
  prediction: Prediction,
  cursor: AnswerCursor,
  server: string,
): Answer<Prediction> {
  return { ok: true, value: prediction, envelope: cursor.envelope(server) }
}

function sameConsistency(a: Consistency, b: Consistency | undefined): boolean {
  if (b === undefined) return a.level === 'live'
  if (a === b) return true
  if (a.level === 'at-least' && b.level === 'at-least') {
    return a.partition === b.partition && a.offset === b.offset
  }
  if (a.level === 'bounded' && b.level === 'bounded') return a.maxAgeMs === b.maxAgeMs
  return a.level === b.level && a.level !== 'at-least' && a.level !== 'bounded'
}
