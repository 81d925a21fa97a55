import { WeirError } from '../core/errors.ts'
import { type AnswerCursor, errorOfStatus, SCORE_BYTES } from '../wire/answer.ts'
import { type EncodedPairs, nextPair, type PairPredictions, pairAt } from '../wire/encoded-pairs.ts'
import { ANSWER_FLAG, DEFERRED, ITEM_FLAG } from '../wire/frame.ts'
import { readFloat32 } from '../wire/little-endian.ts'
import type { Answer, Prediction } from '../wire/model-reader.ts'
import { OK } from '../wire/status.ts'
import {
  beginPredictions,
  detailsOf,
  type FailedPrediction,
  type PredictTerms,
} from './predict-batch.ts'
import { RequestBatch } from './request-batch.ts'

/** Bytes of a prediction: score, version, flags. */
const PREDICTION_BYTES = 9
/** Calls share memory in pieces of so many bytes: an ArrayBuffer costs more than the views of it. */
const PIECE_BYTES = 64 * 1024

let piece = new ArrayBuffer(0)
let used = 0

/** Memory for the predictions of a call: a buffer, and where the call's part of it begins. */
function takeMemory(bytes: number): readonly [buffer: ArrayBuffer, at: number] {
  if (bytes > PIECE_BYTES / 4) return [new ArrayBuffer(bytes), 0]
  if (used + bytes > piece.byteLength) {
    piece = new ArrayBuffer(PIECE_BYTES)
    used = 0
  }
  const at = used
  used = (used + bytes + 3) & ~3
  return [piece, at]
}

/** Predictions of many pairs whose keys are bytes already; its frames fill one block of arrays. */
export class PairsCall implements PairPredictions {
  readonly scores: Float32Array
  readonly flags: Uint8Array
  readonly versions: Uint32Array
  readonly errors = new Map<number, WeirError>()
  private readonly settled = Promise.withResolvers<PairPredictions>()
  /** Pairs without a prediction or an error. */
  private open: number

  constructor(count: number) {
    const [memory, at] = takeMemory(PREDICTION_BYTES * count)
    this.scores = new Float32Array(memory, at, count)
    this.versions = new Uint32Array(memory, at + 4 * count, count)
    this.flags = new Uint8Array(memory, at + 8 * count, count)
    this.open = count
  }

  /** Resolves when every pair has a prediction or an error. */
  get predictions(): Promise<PairPredictions> {
    return this.settled.promise
  }

  /** A number of pairs more have their predictions. */
  answered(pairs: number): void {
    this.open -= pairs
    if (this.open === 0) this.settled.resolve(this)
  }

  /** The last answer of a pair that was asked alone. */
  settle(pair: number, answer: Answer<Prediction>): void {
    if (answer.ok) {
      const { score, leftCold, rightCold } = answer.value
      this.scores[pair] = score
      this.flags[pair] = (leftCold ? ITEM_FLAG.leftCold : 0) | (rightCold ? ITEM_FLAG.rightCold : 0)
      this.versions[pair] = answer.envelope.modelVersion
    } else this.errors.set(pair, answer.error)
    this.answered(1)
  }
}

/** Owner of the frames of pairs. */
export interface PairBatchOwner {
  /** A pair failed: it is tried again alone, or its answer is the error. */
  failed(call: FailedPrediction): void
  /** All pairs of the frame are answered or have failed. */
  donePairs(batch: PairBatch): void
}

/** What one frame of a `PairsCall` has. */
export interface PairFrame extends EncodedPairs {
  /** Number of its first pair in the call. */
  readonly first: number
}

/** One frame of a `PairsCall`. Nothing is allocated per pair, and frames are pooled. */
export class PairBatch extends RequestBatch {
  private readonly owner: PairBatchOwner
  private call!: PairsCall
  private terms!: PredictTerms
  private pairs!: PairFrame

  constructor(owner: PairBatchOwner) {
    super()
    this.owner = owner
  }

  /** Writes a frame of a call; the deadline counts from `now`. */
  begin(call: PairsCall, terms: PredictTerms, pairs: PairFrame, now: number): void {
    this.call = call
    this.terms = terms
    this.pairs = pairs
    this.restart(now + terms.deadlineMs)
    beginPredictions(this.writer, terms)
    this.writer.raw(pairs.bytes)
    this.calls = pairs.count
  }

  answer(cursor: AnswerCursor): boolean {
    const withEnvelope = (cursor.flags & ANSWER_FLAG.envelope) !== 0
    const details = detailsOf(cursor, withEnvelope)
    const { call } = this
    const { scores, flags, versions } = call
    const { first } = this.pairs
    let answered = 0
    for (let i = 0; i < cursor.count; i++) {
      const at = cursor.take(SCORE_BYTES)
      const status = cursor.bytes[at]!
      if (withEnvelope) cursor.itemEnvelope()
      const pair = this.nextOpen()
      if (status === OK) {
        scores[first + pair] = readFloat32(cursor.bytes, at + 2)
        flags[first + pair] = cursor.bytes[at + 1]!
        versions[first + pair] = cursor.modelVersion
        answered += 1
      } else if (status === DEFERRED) this.defer(pair)
      else this.failCall(pair, details?.get(i) ?? this.errorOf(status, pair))
    }
    const isFinished = this.finishIfAnswered()
    call.answered(answered)
    return isFinished
  }

  private keysOf(pair: number): readonly [left: string, right: string] {
    const { bytes } = this.pairs
    let at = 0
    for (let i = 0; i < pair; i++) at = nextPair(bytes, at)
    return pairAt(bytes, at)
  }

  private errorOf(status: number, pair: number): WeirError {
    const [left, right] = this.keysOf(pair)
    return errorOfStatus(status, `${this.terms.state}: ${left} with ${right}`)
  }

  protected failCall(pair: number, error: WeirError): void {
    const [left, right] = this.keysOf(pair)
    const { call, deadlineAt } = this
    const number = this.pairs.first + pair
    this.owner.failed({
      terms: { ...this.terms, withEnvelope: true },
      deadlineAt,
      left,
      right,
      resolve: (answer) => call.settle(number, answer as Answer<Prediction>),
      reject: (last) => call.settle(number, { ok: false, error: last }),
      error,
    })
  }

  protected tooLarge(_length: number, limit: number): WeirError {
    return new WeirError('FRAME_TOO_LARGE', `the server accepts ${limit} bytes`)
  }

  protected get deadlineMs(): number {
    return this.terms.deadlineMs
  }

  protected done(): void {
    this.owner.donePairs(this)
  }
}

/** Splits pairs into frames of at most `maxPairs` pairs, and of little more than `maxBytes` bytes. */
export function framesOf(pairs: EncodedPairs, maxPairs: number, maxBytes: number): PairFrame[] {
  const { count, bytes } = pairs
  if (count <= maxPairs && bytes.length <= maxBytes) return [{ first: 0, count, bytes }]
  const frames: PairFrame[] = []
  let first = 0
  let start = 0
  let at = 0
  for (let pair = 1; pair <= count; pair++) {
    at = nextPair(bytes, at)
    if (pair < count && pair - first < maxPairs && at - start < maxBytes) continue
    frames.push({ first, count: pair - first, bytes: bytes.subarray(start, at) })
    first = pair
    start = at
  }
  return frames
}
