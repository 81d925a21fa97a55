import { WeirError } from '../core/errors.ts'
import {
  type AnswerCursor,
  errorOfStatus,
  ITEM_ENVELOPE_BYTES,
  SCORE_BYTES,
} from '../wire/answer.ts'
import { ANSWER_FLAG, DEFERRED, ITEM_FLAG, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import { readFloat32 } from '../wire/little-endian.ts'
import type { Answer, Consistency, Prediction, PredictOptions } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { OK } from '../wire/status.ts'
import { RequestBatch } from './request-batch.ts'

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

/** Predictions that share a frame; their promises are settled in a loop when the answer frame comes. */
export class PredictBatch extends RequestBatch {
  private terms: PredictTerms
  private readonly owner: BatchOwner
  private readonly lefts: string[] = []
  private readonly rights: string[] = []
  private readonly resolves: Settle[] = []
  private readonly rejects: Reject[] = []

  constructor(owner: BatchOwner, terms: PredictTerms) {
    super()
    this.owner = owner
    this.terms = terms
  }

  /** Makes the batch an empty one with these terms; the deadline counts from `now`. */
  begin(terms: PredictTerms, now: number): void {
    this.terms = terms
    this.restart(now + terms.deadlineMs)
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

  protected tooLarge(_length: number, limit: number): WeirError {
    return new WeirError('FRAME_TOO_LARGE', `the server accepts ${limit} bytes`)
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
      } else if (status === DEFERRED) this.defer(call)
      else this.failCall(call, details?.get(i) ?? this.errorOf(status, call))
    }
    return this.finishIfAnswered()
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

  protected failCall(call: number, error: WeirError): void {
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

  protected get deadlineMs(): number {
    return this.terms.deadlineMs
  }

  protected done(): void {
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
