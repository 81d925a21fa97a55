import { WeirError } from '../core/errors.ts'
import type { TraceContext } from '../core/tracing/context.ts'
import type { AnswerCursor } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'
import { FrameWriter } from '../wire/frame-writer.ts'
import { writeUint32 } from '../wire/little-endian.ts'
import type { ClientConnection } from './connection.ts'
import { type InFlight, noAnswerWithin } from './in-flight.ts'

/**
 * Calls of one turn of the event loop with the same terms: one request frame, encoded call by call. Calls
 * are numbered in their order. An answer frame covers the oldest open calls; calls that it defers move to
 * the end. Batches are pooled.
 */
export abstract class RequestBatch implements InFlight {
  requestId = 0
  deadlineAt = 0
  previousEntry: DeadlineEntry | undefined = undefined
  nextEntry: DeadlineEntry | undefined = undefined
  trace: TraceContext | undefined = undefined
  /** Calls in the batch. */
  calls = 0
  protected writer = new FrameWriter(4096)
  private connection: ClientConnection | undefined
  /** Next call, in order, that no answer frame has covered. */
  private nextCall = 0
  /** Calls whose answers were deferred, oldest first. */
  private deferred: number[] = []

  /** Makes the batch empty; its calls fail at `deadlineAt`. */
  protected restart(deadlineAt: number): void {
    this.deadlineAt = deadlineAt
    this.trace = undefined
    this.calls = 0
    this.nextCall = 0
    this.writer.reset()
  }

  /** Bytes of the frame so far. */
  get frameBytes(): number {
    return this.writer.length
  }

  /** Ends the frame and sends it. */
  sendOn(connection: ClientConnection): void {
    this.writer.end(this.calls)
    const { length } = this.writer
    if (length - 4 > connection.maxFrameBytes) {
      this.fail(this.tooLarge(length, connection.maxFrameBytes))
      return
    }
    this.connection = connection
    this.requestId = connection.newRequestId()
    writeUint32(this.writer.bytes, 8, this.requestId)
    this.writer = connection.send(this, this.writer)
  }

  abstract answer(cursor: AnswerCursor, server: string): boolean

  /** FRAME_TOO_LARGE of a frame of `length` bytes. */
  protected abstract tooLarge(length: number, limit: number): WeirError

  /** A call failed: it is tried again, or its answer is the error. */
  protected abstract failCall(call: number, error: WeirError): void

  /** Time limit of the calls in ms. */
  protected abstract get deadlineMs(): number

  /** All calls of the batch are settled: it may be used again. */
  protected abstract done(): void

  /** The call that the next answer is for. Throws PROTOCOL_ERROR. */
  protected nextOpen(): number {
    if (this.nextCall < this.calls) return this.nextCall++
    const call = this.deferred.shift()
    if (call !== undefined) return call
    throw new WeirError('PROTOCOL_ERROR', 'the server answered more calls than were asked')
  }

  /** The call is answered in a later frame. */
  protected defer(call: number): void {
    this.deferred.push(call)
  }

  /** After an answer frame: whether every call is answered. */
  protected finishIfAnswered(): boolean {
    if (this.nextCall < this.calls || this.deferred.length > 0) return false
    this.finish()
    return true
  }

  fail(error: WeirError): void {
    while (this.nextCall < this.calls) this.failCall(this.nextCall++, error)
    for (const call of this.deferred) this.failCall(call, error)
    this.deferred = []
    this.finish()
  }

  expire(): void {
    this.connection?.forget(this)
    this.fail(noAnswerWithin(this.deadlineMs))
  }

  private finish(): void {
    this.connection = undefined
    this.done()
  }
}
