import { isWeirError, WeirError } from '../core/errors.ts'
import { asWeirError, writeErrorFrame } from '../wire/answer.ts'
import { ANSWER, type FrameReader, KIND, REQUEST_FLAG } from '../wire/frame.ts'
import type { FrameWriter } from '../wire/frame-writer.ts'
import type { PredictOptions } from '../wire/model-reader.ts'
import { RequestCursor } from '../wire/request.ts'
import { writeRouting } from '../wire/routing-table.ts'
import { statusOf } from '../wire/status.ts'
import {
  type AnswerWriter,
  type AsyncRequest,
  decodeAsync,
  deferredRequest,
  keysRequest,
  optionsOf,
} from './query-async-requests.ts'
import type { QueryBackend, ReadGroup } from './query-backend.ts'
import type { QueryMetrics } from './query-metrics.ts'
import type { ResolvedQueryOptions } from './query-options.ts'
import { isPacked, type SparseRequests, sparseRequest } from './query-sparse-requests.ts'
import type { SyncRequests } from './query-sync-requests.ts'

/** What the requests of all connections of a server share. */
export interface RequestContext {
  readonly options: ResolvedQueryOptions
  readonly backend: QueryBackend
  readonly metrics: QueryMetrics
  readonly sync: SyncRequests
  readonly sparse: SparseRequests
}

/** Where the answers of a connection go. */
export interface ConnectionOutput {
  readonly writer: FrameWriter
  /** Largest frame the client accepts. */
  readonly clientFrameBytes: number
  /** Whether answers can still be sent. */
  readonly isOpen: boolean
  /** Whether what was written should leave before more is. */
  isFull(): boolean
  /** Sends what was written, at the end of this turn of the loop. */
  flushSoon(): void
}

/** Answer frames of rows end once they are this long, so that output can be held back. */
const ROWS_FRAME_BYTES = 256 * 1024

/** Answers the requests of one connection. */
export class ConnectionRequests {
  private readonly context: RequestContext
  private readonly output: ConnectionOutput
  private readonly cursor = new RequestCursor()
  private waiting = 0
  /** Keys of the current ROWS frame still to answer, while the client does not read. */
  private rowsLeft = 0
  private deferredRows: string[] = []

  constructor(context: RequestContext, output: ConnectionOutput) {
    this.context = context
    this.output = output
  }

  /** Requests that wait for an asynchronous answer. */
  get outstanding(): number {
    return this.waiting
  }

  /** Whether `resume` has to finish the current frame before the next one is served. */
  get isSuspended(): boolean {
    return this.rowsLeft > 0
  }

  /** Serves the frame the reader stands on. Throws PROTOCOL_ERROR. */
  serve(frame: FrameReader): void {
    const { cursor, context } = this
    cursor.open(frame)
    context.metrics.asked(cursor.kind, Math.max(cursor.count, 1))
    if (cursor.kind >= KIND.predict && cursor.kind <= KIND.topK) this.attempt(this.serveState)
    else if (cursor.kind === KIND.routing) {
      writeRouting(this.output.writer, cursor.requestId, context.backend.routing())
    } else if (cursor.kind === KIND.ping) {
      this.output.writer.begin(KIND.ping + ANSWER, 0, cursor.requestId)
      this.output.writer.end(0)
    } else throw new WeirError('PROTOCOL_ERROR', `frame kind ${cursor.kind} does not exist`)
  }

  /** Goes on with a suspended frame. Throws PROTOCOL_ERROR. */
  resume(): void {
    if (this.rowsLeft > 0) this.attempt(this.continueRows)
  }

  /** A request that fails as a whole is answered with an error frame; a broken one is thrown. */
  private attempt(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.rowsLeft = 0
      this.output.writer.abandon()
      if (!isWeirError(error) || error.code === 'PROTOCOL_ERROR') throw error
      this.answerError(this.cursor.requestId, error)
    }
  }

  private readonly serveState = (): void => {
    const { cursor } = this
    cursor.readPreamble()
    if (cursor.requestId === 0) throw new WeirError('PROTOCOL_ERROR', 'request id 0 is reserved')
    const inPlace = cursor.kind === KIND.predict || cursor.kind === KIND.rows || isPacked(cursor)
    const group = inPlace ? this.open() : undefined
    if (group === undefined) this.start(decodeAsync(cursor))
    else if (cursor.kind === KIND.predict) this.servePredictions(group)
    else if (cursor.kind === KIND.sparseDot) this.serveSparseDots(group)
    else {
      this.rowsLeft = cursor.count
      this.deferredRows = []
      this.answerRows(group)
    }
  }

  private open(): ReadGroup | undefined {
    const { state, version, consistency } = this.cursor
    return this.context.backend.open(state, version, consistency)
  }

  private servePredictions(group: ReadGroup): void {
    const { cursor, context } = this
    const epoch = context.backend.routingEpoch()
    const bodyAt = cursor.at
    const deferred = context.sync.predict(cursor, group, this.output.writer, epoch)
    if (deferred === undefined) return
    cursor.at = bodyAt
    const { flags } = cursor
    const options: PredictOptions = {
      ...optionsOf(cursor),
      ...((flags & REQUEST_FLAG.coldLeft) === 0 ? {} : { coldLeft: cursor.text() }),
      ...((flags & REQUEST_FLAG.coldRight) === 0 ? {} : { coldRight: cursor.text() }),
    }
    const withEnvelopes = (flags & REQUEST_FLAG.envelope) !== 0
    const { state } = cursor
    this.start(deferredRequest(context.backend, state, deferred, options, withEnvelopes))
  }

  private serveSparseDots(group: ReadGroup): void {
    const { cursor, context } = this
    const epoch = context.backend.routingEpoch()
    const deferred = context.sparse.answer(cursor, group, this.output.writer, epoch)
    if (deferred === undefined) return
    const withEnvelopes = (cursor.flags & REQUEST_FLAG.envelope) !== 0
    this.start(sparseRequest(cursor.state, deferred, optionsOf(cursor), withEnvelopes))
  }

  /** The group of a suspended frame is stale: others have read since. */
  private readonly continueRows = (): void => {
    const group = this.open()
    if (group === undefined) {
      throw new WeirError('RESTORING', 'the state can no longer be read in place; ask again')
    }
    this.answerRows(group)
  }

  /** Answers rows in frames of bounded size until all are, or the output is full. */
  private answerRows(group: ReadGroup): void {
    const { cursor, context, output } = this
    const epoch = context.backend.routingEpoch()
    const frameBytes = Math.min(ROWS_FRAME_BYTES, output.clientFrameBytes)
    while (this.rowsLeft > 0) {
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
    }
    cursor.finish()
    const keys = this.deferredRows
    if (keys.length === 0) return
    this.deferredRows = []
    this.start(keysRequest(KIND.rows, cursor.state, keys, optionsOf(cursor)))
  }

  /** Runs a request whose answer comes later. Throws OVERLOADED. */
  private start(request: AsyncRequest): void {
    const { backend, options } = this.context
    const { kind, requestId } = this.cursor
    const limit = options.limits.maxOutstanding
    if (this.waiting > 0 && this.waiting + request.count > limit) {
      throw new WeirError(
        'OVERLOADED',
        `the connection has ${this.waiting} requests waiting and may have ${limit}`,
        { details: { limit } },
      )
    }
    this.waiting += request.count
    const startedAt = options.clock.monotonicMs()
    const settle = (answer: () => void): void => {
      this.waiting -= request.count
      this.context.metrics.latencyMs.observe(options.clock.monotonicMs() - startedAt)
      if (!this.output.isOpen) return
      answer()
      this.output.flushSoon()
    }
    request.run(backend.reader).then(
      (write) => settle(() => this.writeAnswer(kind, requestId, write)),
      (error) => settle(() => this.answerError(requestId, asWeirError(error))),
    )
  }

  private writeAnswer(kind: number, requestId: number, write: AnswerWriter): void {
    const { writer, clientFrameBytes } = this.output
    try {
      write({
        writer,
        kind,
        requestId,
        routingEpoch: this.context.backend.routingEpoch(),
        maxFrameBytes: clientFrameBytes,
        failed: (status) => this.context.metrics.failed(status),
      })
    } catch (error) {
      writer.abandon()
      this.answerError(requestId, asWeirError(error))
    }
  }

  /** Answers with an error frame; request id 0 stands for the connection. */
  answerError(requestId: number, error: WeirError): void {
    this.context.metrics.failed(statusOf(error.code))
    writeErrorFrame(this.output.writer, KIND.error, requestId, error)
  }
}
