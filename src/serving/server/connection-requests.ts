import { isWeirError, WeirError } from '../../core/errors.ts'
import { CONTEXT_BYTES, decodeContext, type TraceContext } from '../../core/tracing/context.ts'
import { SPAN_KIND } from '../../core/tracing/span.ts'
import { tracer } from '../../core/tracing/tracer.ts'
import { requireOn } from '../../http/access/control.ts'
import { furtherRequests, type RateBucket } from '../../http/access/rate-bucket.ts'
import { limitedError } from '../../http/access/refusals.ts'
import {
  ANSWERS_AT,
  answerErrorOf,
  ITEM_ENVELOPE_BYTES,
  SCORE_BYTES,
  writeErrorFrame,
} from '../../wire/answer.ts'
import { ANSWER, type FrameReader, KIND, nameOfKind, REQUEST_FLAG } from '../../wire/frame.ts'
import { RequestCursor } from '../../wire/request.ts'
import { writeRouting } from '../../wire/routing-table.ts'
import { statusOf } from '../../wire/status.ts'
import type { DeferredPredictions, ReadGroup } from '../port/query-backend.ts'
import type { AnswerWriter, AsyncRequest } from './async-request.ts'
import { deferredRequest, keysRequest, optionsOf, predictOptionsOf } from './async-requests.ts'
import type { ConnectionOutput } from './connection-output.ts'
import { modelsRequest } from './models-requests.ts'
import { type AnswerOutput, type PendingContext, PendingRequests } from './pending-requests.ts'
import { readableRouting } from './readable-routing.ts'
import { PREDICTIONS_PER_SLICE, SlicedPredictions } from './sliced-predictions.ts'
import { isPacked, type SparseRequests, sparseRequest } from './sparse-requests.ts'
import type { SyncRequests } from './sync-requests.ts'

/** Shared state of the requests of all connections of a server. */
export interface RequestContext extends PendingContext {
  readonly sync: SyncRequests
  readonly sparse: SparseRequests
}

/** Span of a client's call. */
interface TracedCaller extends TraceContext {
  /** Id of its request. */
  readonly requestId: number
}

/** An answer frame of rows ends at this length, so that the client's backpressure takes effect. */
const ROWS_FRAME_BYTES = 256 * 1024

/** Kinds of requests whose answer is one value in one frame. */
const SINGLE_ANSWERS: ReadonlySet<number> = new Set([
  KIND.topK,
  KIND.sparseDot,
  KIND.infer,
  KIND.models,
])

/** Bytes of a sparse product's answer: status, flags, sum and number of features without weight. */
const SPARSE_BYTES = 14

/**
 * Answers the requests of one connection. The file is long because every kind of frame shares its
 * counts and limits.
 */
export class ConnectionRequests implements AnswerOutput {
  private readonly context: RequestContext
  private readonly output: ConnectionOutput
  private readonly cursor = new RequestCursor()
  private readonly pending: PendingRequests
  /** Rate of the client's token; undefined without a limit. */
  rate: RateBucket | undefined
  /** Span of the client's call whose request comes next. */
  private caller: TracedCaller | undefined
  /** Bytes of the current frame. */
  private frameBytes = 0
  /** Keys of the current ROWS frame that are not answered yet. */
  private rowsLeft = 0
  private deferredRows: string[] = []
  /** The current PREDICT frame if it is large and not answered yet. */
  private sliced: SlicedPredictions | undefined

  constructor(context: RequestContext, output: ConnectionOutput) {
    this.context = context
    this.output = output
    this.pending = new PendingRequests(context, this)
  }

  /** Requests that wait for an asynchronous answer. */
  get outstanding(): number {
    return this.pending.outstanding
  }

  get room(): number {
    return this.output.room
  }

  /** The client has read something: requests that waited for room may run. */
  pump(): void {
    this.pending.pump()
  }

  /** The connection is gone: its work ends. */
  leave(): void {
    this.sliced = undefined
    this.pending.leave()
  }

  /** Releases memory that was not needed since the last call. */
  shrink(): void {
    this.pending.shrink()
  }

  /** Whether `resume` has to finish the current frame before the next one is served. */
  get isSuspended(): boolean {
    return this.rowsLeft > 0 || this.sliced !== undefined
  }

  /** Serves the reader's current frame. Throws PROTOCOL_ERROR when its request id is 0. */
  serve(frame: FrameReader): void {
    const { cursor, context } = this
    cursor.open(frame)
    this.frameBytes = frame.end - frame.start
    context.metrics.asked(cursor.kind, Math.max(cursor.count, 1))
    if (cursor.kind >= KIND.predict && cursor.kind <= KIND.topK) {
      if (this.caller === undefined) this.attempt(this.serveState)
      else this.serveTraced(this.caller, this.serveState)
    } else if (cursor.kind === KIND.infer || cursor.kind === KIND.models) {
      if (this.caller === undefined) this.attempt(this.serveModels)
      else this.serveTraced(this.caller, this.serveModels)
    } else if (cursor.kind === KIND.trace) this.attempt(this.takeTrace)
    else if (cursor.kind === KIND.routing) {
      const table = readableRouting(context.backend.routing(), this.output.principal)
      writeRouting(this.output.writer, cursor.requestId, table)
    } else if (cursor.kind === KIND.ping) {
      this.output.writer.begin(KIND.ping + ANSWER, 0, cursor.requestId)
      this.output.writer.end(0)
    } else this.attempt(this.refuseKind)
  }

  /** A request to models of any kind: always answered later. */
  private readonly serveModels = (): void => {
    const { cursor } = this
    if (cursor.requestId === 0) throw new WeirError('PROTOCOL_ERROR', 'request id 0 is reserved')
    cursor.readPreamble()
    if (this.rate !== undefined) this.takeFromRate(this.rate, 1)
    const { principal, address: from } = this.output
    this.start(modelsRequest(cursor, { principal, from, audit: this.context.options.audit }))
  }

  /** Keeps the span of the next request with this id. */
  private readonly takeTrace = (): void => {
    const { cursor } = this
    const context = decodeContext(cursor.bytes, cursor.take(CONTEXT_BYTES))
    cursor.finish()
    this.caller = context === undefined ? undefined : { ...context, requestId: cursor.requestId }
  }

  /** Serves the current frame below a span, if the frame is the one that was announced. */
  private serveTraced(caller: TracedCaller, serve: () => void): void {
    this.caller = undefined
    const { cursor, context } = this
    if (tracer === undefined || caller.requestId !== cursor.requestId) {
      this.attempt(serve)
      return
    }
    const span = tracer.child(caller, `weir.query ${nameOfKind(cursor.kind)}`, SPAN_KIND.server, {
      'weir.server': context.options.server,
      'weir.requests': cursor.count,
    })
    const before = this.pending.outstanding
    tracer.run(span, () => this.attempt(serve))
    span.set('weir.state', cursor.state)
    // What waits for a slot ends its span when it is answered.
    if (this.pending.outstanding === before) span.end()
  }

  private readonly refuseKind = (): void => {
    throw new WeirError('PROTOCOL_ERROR', `frame kind ${this.cursor.kind} does not exist`)
  }

  /** Continues a suspended frame. */
  resume(): void {
    if (this.rowsLeft > 0) this.attempt(this.continueRows)
    else if (this.sliced !== undefined) this.attempt(this.continuePredictions)
  }

  /**
   * Answers a request that fails as a whole with an error frame. A malformed request fails alone, too: the
   * next frame begins where this one's length says. Throws when the error has no request id to go to.
   */
  private attempt(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.rowsLeft = 0
      this.sliced = undefined
      this.output.writer.abandon()
      if (!isWeirError(error) || this.cursor.requestId === 0) throw error
      if (tracer !== undefined) tracer.current?.fail(error.code)
      this.answerError(this.cursor.requestId, error)
    }
  }

  private readonly serveState = (): void => {
    const { cursor } = this
    if (cursor.requestId === 0) throw new WeirError('PROTOCOL_ERROR', 'request id 0 is reserved')
    cursor.readPreamble()
    const { principal } = this.output
    if (principal?.rights !== undefined) {
      requireOn(principal, 'read', { kind: 'state', name: cursor.state })
    }
    if (this.rate !== undefined) this.takeFromRate(this.rate, cursor.count)
    if (cursor.kind === KIND.predict) this.requireFits(SCORE_BYTES)
    else if (isPacked(cursor)) this.requireFits(SPARSE_BYTES)
    const inPlace = cursor.kind === KIND.predict || cursor.kind === KIND.rows || isPacked(cursor)
    const group = inPlace ? this.open() : undefined
    if (group === undefined) this.pending.addFrame(cursor, this.frameBytes)
    else if (cursor.kind === KIND.predict) this.servePredictions(group)
    else if (cursor.kind === KIND.sparseDot) this.serveSparseDots(group)
    else {
      this.rowsLeft = cursor.count
      this.deferredRows = []
      this.answerRows(group)
    }
  }

  /** Throws OVERLOADED. */
  private takeFromRate(rate: RateBucket, requests: number): void {
    const counted = requests + furtherRequests({ bytes: this.frameBytes })
    const retryAfterMs = rate.take(counted, this.context.options.clock.monotonicMs())
    if (retryAfterMs > 0) throw limitedError(retryAfterMs)
  }

  /**
   * Answers of predictions and of packed sparse products, of `answerBytes` each, are in one frame. Throws
   * FRAME_TOO_LARGE when the client does not accept it.
   */
  private requireFits(answerBytes: number): void {
    const { cursor, output } = this
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    const each = answerBytes + (withEnvelopes ? ITEM_ENVELOPE_BYTES : 0)
    const bytes = ANSWERS_AT + cursor.count * each
    if (bytes > output.clientFrameBytes) throw tooLarge(bytes, output.clientFrameBytes)
  }

  private open(): ReadGroup | undefined {
    const { state, version, consistency } = this.cursor
    return this.context.backend.open(state, version, consistency)
  }

  private servePredictions(group: ReadGroup): void {
    const { cursor, context } = this
    const epoch = context.backend.routingEpoch()
    if (cursor.count > PREDICTIONS_PER_SLICE) {
      const { clock } = context.options
      this.sliced = new SlicedPredictions(cursor, () => clock.monotonicMs())
      context.sync.beginSlices(cursor, group, this.sliced, epoch)
      this.answerSlice(group, this.sliced)
      return
    }
    const bodyAt = cursor.at
    const deferred = context.sync.predict(cursor, group, this.output.writer, epoch)
    if (deferred !== undefined) this.startDeferred(deferred, bodyAt)
  }

  /** Continues a large PREDICT frame, or starts it again if its envelope would not hold for the rest. */
  private readonly continuePredictions = (): void => {
    const { cursor, context } = this
    const sliced = this.sliced!
    const group = this.open()
    if (group === undefined) {
      this.sliced = undefined
      cursor.at = sliced.bodyAt
      this.pending.addFrame(cursor, this.frameBytes)
      return
    }
    if (!sliced.continues(group, cursor.consistency.level)) {
      context.sync.beginSlices(cursor, group, sliced, context.backend.routingEpoch())
    }
    this.answerSlice(group, sliced)
  }

  private answerSlice(group: ReadGroup, sliced: SlicedPredictions): void {
    const { cursor, context, output } = this
    if (!context.sync.predictSlice(cursor, group, sliced)) return
    this.sliced = undefined
    output.writer.raw(sliced.writer.written())
    const deferred = context.sync.deferredOf(cursor, sliced)
    if (deferred !== undefined) this.startDeferred(deferred, sliced.bodyAt)
  }

  /** Answers the predictions later that could not be answered in place. */
  private startDeferred(deferred: DeferredPredictions, bodyAt: number): void {
    const { cursor } = this
    cursor.at = bodyAt
    const { flags } = cursor
    const options = predictOptionsOf(cursor)
    const withEnvelopes = (flags & REQUEST_FLAG.envelope) !== 0
    const { state } = cursor
    this.start(deferredRequest({ state, deferred, options, withEnvelopes }))
  }

  private serveSparseDots(group: ReadGroup): void {
    const { cursor, context } = this
    const epoch = context.backend.routingEpoch()
    const deferred = context.sparse.answer(cursor, group, this.output.writer, epoch)
    if (deferred === undefined) return
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    this.start(sparseRequest(cursor.state, deferred, optionsOf(cursor), withEnvelopes))
  }

  /** Opens the read group again: other requests have used it since the frame was suspended. */
  private readonly continueRows = (): void => {
    const group = this.open()
    if (group === undefined) {
      throw new WeirError('RESTORING', 'the state can no longer be read in place; ask again')
    }
    this.answerRows(group)
  }

  /** Answers rows in frames of bounded size, until all are answered or the output is full. */
  private answerRows(group: ReadGroup): void {
    const { cursor, context, output } = this
    const epoch = context.backend.routingEpoch()
    const frameBytes = Math.min(ROWS_FRAME_BYTES, output.clientFrameBytes)
    const isEmpty = cursor.count === 0
    while (this.rowsLeft > 0 || isEmpty) {
      if (output.isFull()) return
      this.rowsLeft -= context.sync.rows(
        cursor,
        group,
        output.writer,
        epoch,
        this.rowsLeft,
        frameBytes,
        this.deferredRows,
      )
      if (isEmpty) break
    }
    cursor.finish()
    const keys = this.deferredRows
    if (keys.length === 0) return
    this.deferredRows = []
    this.start(keysRequest(KIND.rows, cursor.state, keys, optionsOf(cursor)))
  }

  /** Runs a request that is answered later. Throws OVERLOADED. */
  private start(request: AsyncRequest): void {
    const { kind, requestId, deadlineMs } = this.cursor
    const { frameBytes } = this
    this.pending.add({ kind, requestId, request, deadlineMs, frameBytes })
  }

  answer(kind: number, requestId: number, write: AnswerWriter): number {
    if (!this.output.isOpen) return 0
    const { writer } = this.output
    const from = writer.length
    this.writeAnswer(kind, requestId, write)
    this.output.flushSoon()
    return writer.length - from
  }

  refuse(requestId: number, error: WeirError): void {
    if (!this.output.isOpen) return
    this.answerError(requestId, error)
    this.output.flushSoon()
  }

  private writeAnswer(kind: number, requestId: number, write: AnswerWriter): void {
    const { writer, clientFrameBytes } = this.output
    const from = writer.length
    try {
      write({
        writer,
        kind,
        requestId,
        routingEpoch: this.context.backend.routingEpoch(),
        maxFrameBytes: clientFrameBytes,
        failed: (status) => this.context.metrics.failed(status),
      })
      const bytes = writer.length - from
      const isSingle = SINGLE_ANSWERS.has(kind)
      if (isSingle && bytes > clientFrameBytes) {
        writer.length = from
        this.answerError(requestId, tooLarge(bytes, clientFrameBytes))
      }
    } catch (error) {
      writer.abandon()
      this.answerError(requestId, answerErrorOf(error))
    }
  }

  /** Answers with an error frame; request id 0 stands for the connection. */
  answerError(requestId: number, error: WeirError): void {
    this.context.metrics.failed(statusOf(error.code))
    writeErrorFrame(this.output.writer, KIND.error, requestId, error)
  }
}

function tooLarge(bytes: number, limit: number): WeirError {
  return new WeirError(
    'FRAME_TOO_LARGE',
    `the answer has ${bytes} bytes and the client accepts ${limit}; ask for less in one frame`,
  )
}
