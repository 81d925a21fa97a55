import { beginAnswer, writeItemEnvelope } from '../wire/answer.ts'
import { ANSWER, ANSWER_FLAG, DEFERRED, ITEM_FLAG, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type { RequestCursor } from '../wire/request.ts'
import { OK } from '../wire/status.ts'
import { GroupEnvelope } from './group-envelope.ts'
import { NO_ENVELOPE } from './query-answers.ts'
import {
  type DeferredPredictions,
  type KeySpan,
  PAIRS_AHEAD,
  PairKeys,
  type ReadGroup,
  ReadOutcome,
} from './query-backend.ts'
import type { QueryMetrics } from './query-metrics.ts'

const LEFT_COLD = ITEM_FLAG.leftCold
const RIGHT_COLD = ITEM_FLAG.rightCold

/**
 * The hot path: answers predictions and rows from memory, reading the request where it lies and
 * writing the answer into the connection's output. Allocates nothing per prediction.
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
   * Answers a PREDICT frame whose preamble was read. Returns what it deferred. Throws
   * PROTOCOL_ERROR; the half-written answer is then abandoned by the caller.
   */
  predict(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
  ): DeferredPredictions | undefined {
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    const coldLeft = this.coldKey(cursor, REQUEST_FLAG.coldLeft, this.left)
    const coldRight = this.coldKey(cursor, REQUEST_FLAG.coldRight, this.right)
    this.begin(cursor, group, writer, routingEpoch, withEnvelopes)
    this.readPairs(cursor)
    const { outcome, keys } = this
    let deferred: number[] | undefined
    for (let i = 0; i < cursor.count; i++) {
      if (i % PAIRS_AHEAD === 0) {
        group.readAhead(keys, i, Math.min(PAIRS_AHEAD, cursor.count - i))
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
    writer.end(cursor.count)
    return deferred === undefined ? undefined : ownKeys(cursor.bytes, deferred)
  }

  /** Finds the keys of all predictions of the frame. Throws PROTOCOL_ERROR. */
  private readPairs(cursor: RequestCursor): void {
    const count = 2 * cursor.count
    const { keys } = this
    keys.open(cursor.bytes, cursor.count)
    const { at, length } = keys
    for (let n = 0; n < count; n++) {
      cursor.nextKey()
      at[n] = cursor.keyAt
      length[n] = cursor.keyLength
    }
    cursor.finish()
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
   * full; returns how many it answered and appends keys out of reach to `deferred`.
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
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    this.begin(cursor, group, writer, routingEpoch, withEnvelopes)
    const outcome = this.outcome
    let answered = 0
    while (answered < remaining && writer.frameBytes < maxAnswerBytes) {
      cursor.nextKey()
      const status = group.row(cursor.bytes, cursor.keyAt, cursor.keyLength, outcome)
      writer.uint8(status)
      writer.uint8(0)
      if (status === OK) {
        if (withEnvelopes) writeItemEnvelope(writer, outcome)
        writer.uint32(outcome.row.length)
        writer.raw(outcome.row)
      } else if (status === DEFERRED) deferred.push(cursor.decode(cursor.keyAt, cursor.keyLength))
      else this.metrics.failed(status)
      answered++
    }
    writer.end(answered)
    return answered
  }

  private begin(
    cursor: RequestCursor,
    group: ReadGroup,
    writer: FrameWriter,
    routingEpoch: number,
    withEnvelopes: boolean,
  ): void {
    const envelope = this.envelope.of(group, routingEpoch)
    const kind = (cursor.kind === KIND.predict ? KIND.predict : KIND.rows) + ANSWER
    const flags = withEnvelopes ? ANSWER_FLAG.envelope : 0
    beginAnswer(writer, kind, flags, cursor.requestId, envelope)
  }
}

/** Deferred keys in bytes of their own: those of the frame are overwritten by the next one. */
function ownKeys(bytes: Uint8Array, spans: number[]): DeferredPredictions {
  const from = spans[0]!
  const last = spans.length - 2
  const own = bytes.slice(from, spans[last]! + spans[last + 1]!)
  for (let i = 0; i < spans.length; i += 2) spans[i]! -= from
  return { bytes: own, spans }
}
