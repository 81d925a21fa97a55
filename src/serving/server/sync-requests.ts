import { ITEM_ENVELOPE_BYTES, writeItemEnvelope } from '../../wire/answer.ts'
import { DEFERRED, ITEM_FLAG, KIND, REQUEST_FLAG } from '../../wire/frame.ts'
import type { FrameWriter } from '../../wire/frame-writer.ts'
import type { RequestCursor } from '../../wire/request.ts'
import { OK } from '../../wire/status.ts'
import {
  type DeferredPredictions,
  type KeySpan,
  PAIRS_AHEAD,
  PairKeys,
  type ReadGroup,
  ReadOutcome,
} from '../port/query-backend.ts'
import { NO_ENVELOPE } from './answers.ts'
import { GroupEnvelope } from './group-envelope.ts'
import type { QueryMetrics } from './metrics.ts'
import type { SlicedPredictions } from './sliced-predictions.ts'

const LEFT_COLD = ITEM_FLAG.leftCold
/** Bytes of a row's answer besides its floats. */
const ROW_HEADER_BYTES = 6 + ITEM_ENVELOPE_BYTES
const RIGHT_COLD = ITEM_FLAG.rightCold

/**
 * The hot path: answers predictions and rows from memory. It reads the request in place, writes the
 * answer into the connection's output, and allocates nothing per prediction.
 */
export class SyncRequests {
  private readonly outcome = new ReadOutcome()
  private readonly keys = new PairKeys()
  private readonly metrics: QueryMetrics
  private readonly left: KeySpan = { bytes: new Uint8Array(0), at: 0, length: 0 }
  private readonly right: KeySpan = { bytes: new Uint8Array(0), at: 0, length: 0 }
  private readonly envelope = new GroupEnvelope()

  constructor(metrics: QueryMetrics) {
    this.metrics = metrics
  }

  /**
   * Answers a PREDICT frame whose preamble was read. Returns the deferred predictions. Throws
   * PROTOCOL_ERROR; the caller then abandons the half-written answer.
   */
  predict(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
  ): DeferredPredictions | undefined {
    const coldLeft = this.coldKey(cursor, REQUEST_FLAG.coldLeft, this.left)
    const coldRight = this.coldKey(cursor, REQUEST_FLAG.coldRight, this.right)
    const withEnvelopes = this.envelope.begin(writer, cursor, KIND.predict, group, routingEpoch)
    this.readPairs(cursor, cursor.count)
    cursor.finish()
    const deferred = this.answerPairs(
      cursor.count,
      group,
      writer,
      withEnvelopes,
      coldLeft,
      coldRight,
    )
    writer.end(cursor.count)
    return deferred === undefined ? undefined : ownKeys(cursor.bytes, deferred)
  }

  /** Begins the answer to a PREDICT frame that `predictSlice` continues; as `predict`, at its first key. */
  beginSlices(
    cursor: RequestCursor,
    group: ReadGroup,
    sliced: SlicedPredictions,
    routingEpoch: number,
  ): void {
    cursor.at = sliced.bodyAt
    sliced.start(group)
    // Spans of their own: other frames are answered between two slices.
    sliced.coldLeft = this.coldKey(cursor, REQUEST_FLAG.coldLeft, { ...this.left })
    sliced.coldRight = this.coldKey(cursor, REQUEST_FLAG.coldRight, { ...this.right })
    this.envelope.begin(sliced.writer, cursor, KIND.predict, group, routingEpoch)
  }

  /**
   * Answers the next predictions of a large frame. Returns whether all are answered, and then ends the frame.
   * Throws PROTOCOL_ERROR.
   */
  predictSlice(cursor: RequestCursor, group: ReadGroup, sliced: SlicedPredictions): boolean {
    const { writer, coldLeft, coldRight } = sliced
    const count = sliced.nextOf(cursor.count)
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    this.readPairs(cursor, count)
    const deferred = this.answerPairs(count, group, writer, withEnvelopes, coldLeft, coldRight)
    if (deferred !== undefined) for (const span of deferred) sliced.deferred.push(span)
    sliced.answered += count
    if (sliced.answered < cursor.count) return false
    cursor.finish()
    writer.end(cursor.count)
    return true
  }

  /** The deferred predictions of a large frame. */
  deferredOf(cursor: RequestCursor, sliced: SlicedPredictions): DeferredPredictions | undefined {
    return sliced.deferred.length === 0 ? undefined : ownKeys(cursor.bytes, sliced.deferred)
  }

  /** Answers the pairs in `keys`. Returns the places of the keys of deferred ones. */
  private answerPairs(
    count: number,
    group: ReadGroup,
    writer: FrameWriter,
    withEnvelopes: boolean,
    coldLeft: KeySpan | undefined,
    coldRight: KeySpan | undefined,
  ): number[] | undefined {
    const { outcome, keys } = this
    outcome.withPosition = withEnvelopes
    let deferred: number[] | undefined
    for (let i = 0; i < count; i++) {
      if (i % PAIRS_AHEAD === 0) {
        group.readAhead(keys, i, Math.min(PAIRS_AHEAD, count - i))
      }
      const status = group.predict(keys, i, coldLeft, coldRight, outcome)
      if (status === OK) this.writeScore(writer, outcome, withEnvelopes)
      else {
        writer.scoreItem(status, 0, 0)
        if (withEnvelopes) writeItemEnvelope(writer, NO_ENVELOPE)
        if (status === DEFERRED) {
          const { at, length } = keys
          deferred ??= []
          deferred.push(at[2 * i]!, length[2 * i]!, at[2 * i + 1]!, length[2 * i + 1]!)
        } else this.metrics.failed(status)
      }
    }
    return deferred
  }

  /** Finds the keys of the next predictions of the frame. Throws PROTOCOL_ERROR. */
  private readPairs(cursor: RequestCursor, pairs: number): void {
    const count = 2 * pairs
    const { keys } = this
    keys.open(cursor.bytes, pairs)
    const { at, length } = keys
    for (let n = 0; n < count; n++) {
      cursor.nextKey()
      at[n] = cursor.keyAt
      length[n] = cursor.keyLength
    }
  }

  private writeScore(writer: FrameWriter, outcome: ReadOutcome, withEnvelope: boolean): void {
    const flags = (outcome.leftCold ? LEFT_COLD : 0) | (outcome.rightCold ? RIGHT_COLD : 0)
    writer.scoreItem(OK, flags, outcome.score)
    if (withEnvelope) writeItemEnvelope(writer, outcome)
  }

  private coldKey(cursor: RequestCursor, flag: number, span: KeySpan): KeySpan | undefined {
    if ((cursor.flags & flag) === 0) return undefined
    cursor.nextKey()
    span.bytes = cursor.bytes
    span.at = cursor.keyAt
    span.length = cursor.keyLength
    return span
  }

  /**
   * Answers the next keys of a ROWS frame until `remaining` are answered or the answer frame is
   * full. Returns the number of answers, and appends deferred keys to `deferred`.
   */
  rows(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
    remaining: number,
    maxAnswerBytes: number,
    deferred: string[],
  ): number {
    const withEnvelopes = this.envelope.begin(writer, cursor, KIND.rows, group, routingEpoch)
    const outcome = this.outcome
    let answered = 0
    let largest = 0
    while (answered < remaining && writer.frameBytes + largest < maxAnswerBytes) {
      cursor.nextKey()
      const status = group.row(cursor.bytes, cursor.keyAt, cursor.keyLength, outcome)
      writer.uint8(status)
      writer.uint8(0)
      if (status === OK) {
        if (withEnvelopes) writeItemEnvelope(writer, outcome)
        writer.uint32(outcome.row.length)
        writer.raw(outcome.row)
        if (outcome.row.length + ROW_HEADER_BYTES > largest) {
          largest = outcome.row.length + ROW_HEADER_BYTES
        }
      } else if (status === DEFERRED) deferred.push(cursor.decode(cursor.keyAt, cursor.keyLength))
      else this.metrics.failed(status)
      answered++
    }
    writer.end(answered)
    return answered
  }
}

/** A copy of the deferred keys: the next frame overwrites this one's bytes. */
function ownKeys(bytes: Uint8Array, spans: number[]): DeferredPredictions {
  const from = spans[0]!
  const last = spans.length - 2
  const own = bytes.slice(from, spans[last]! + spans[last + 1]!)
  for (let i = 0; i < spans.length; i += 2) spans[i]! -= from
  return { bytes: own, spans }
}
