import { WeirError } from '../core/errors.ts'
import {
  type AnswerCursor,
  errorOfStatus,
  ITEM_ENVELOPE_BYTES,
  SCORE_BYTES,
} from '../wire/answer.ts'
import { ANSWER_FLAG, DEFERRED, ITEM_FLAG, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import { readFloat32 } from '../wire/little-endian.ts'
import type { Answer, Consistency, Prediction, PredictOptions } from '../wire/model-reader.ts'
import { beginRequest } from '../wire/request.ts'
import { OK } from '../wire/status.ts'
import { hintOf } from './owners/key-owners.ts'
import { RequestBatch } from './request-batch.ts'

/** Terms that all predictions of a batch share, with every default filled in. */
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
  /** Error of the try before, which may name a server. */
  readonly before: WeirError | undefined
}

/** Resolves a call with a `Prediction`, or with an `Answer<Prediction>` if the terms say so. */
export type Settle = (value: Prediction | Answer<Prediction>) => void
export type Reject = (error: WeirError) => void

/** A prediction that failed, for the client's retries. */
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

/** Owner of the batches. */
export interface BatchOwner {
  /** A call failed: it is tried again or rejected. */
  failed(call: FailedPrediction): void
  /** All calls of the batch are settled: it may be used again. */
  done(batch: PredictBatch): void
}

/** Begins a frame of predictions: the terms and the stand-in keys. */
export function beginPredictions(writer: FrameWriter, terms: PredictTerms): void {
  const flags =
    (terms.withEnvelope ? REQUEST_FLAG.envelope : 0) |
    (terms.coldLeft === undefined ? 0 : REQUEST_FLAG.coldLeft) |
    (terms.coldRight === undefined ? 0 : REQUEST_FLAG.coldRight)
  beginRequest(writer, KIND.predict, flags, 0, terms)
  if (terms.coldLeft !== undefined) writer.key(terms.coldLeft)
  if (terms.coldRight !== undefined) writer.key(terms.coldRight)
}

/** Messages of the failed predictions of a frame: they follow the answers, which have a fixed width. */
export function detailsOf(
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

let executorResolve: Settle
let executorReject: Reject
/** One executor for every promise: a closure per call would be the largest cost of a prediction. */
const captureSettlers = (resolve: (value: never) => void, reject: Reject): void => {
  executorResolve = resolve as Settle
  executorReject = reject
}

/** Predictions that share a frame. One loop settles their promises when the answer frame comes. */
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

  /** Makes the batch empty, with these terms; the deadline counts from `now`. */
  begin(terms: PredictTerms, now: number): void {
    this.terms = terms
    this.restart(now + terms.deadlineMs)
    beginPredictions(this.writer, terms)
  }

  /** Whether a call with these options belongs to this batch. */
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

  /** Preferred server (`host:port`), if any. */
  get hint(): string | undefined {
    return hintOf(this.terms.before)
  }

  protected tooLarge(_length: number, limit: number): WeirError {
    return new WeirError('FRAME_TOO_LARGE', `the server accepts ${limit} bytes`)
  }

  answer(cursor: AnswerCursor, server: string): boolean {
    const withEnvelope = (cursor.flags & ANSWER_FLAG.envelope) !== 0
    const details = detailsOf(cursor, withEnvelope)
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
