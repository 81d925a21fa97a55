import { WeirError } from '../core/errors.ts'
import type { TraceContext } from '../core/tracing/context.ts'
import type { AnswerCursor } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'

/** A request frame whose answers are awaited. */
export interface InFlight extends DeadlineEntry {
  /** Set by the connection that sends it. */
  requestId: number
  /** Span of the call, when it is traced. */
  readonly trace: TraceContext | undefined
  /** Calls in the frame. */
  readonly calls: number
  /** Reads one answer frame; true when all calls are answered. Throws PROTOCOL_ERROR. */
  answer(cursor: AnswerCursor, server: string): boolean
  /** No answer will follow: every call that is still open fails with `error`. */
  fail(error: WeirError): void
}

/** DEADLINE_EXCEEDED of a call that was given `deadlineMs`. */
export function noAnswerWithin(deadlineMs: number): WeirError {
  return new WeirError('DEADLINE_EXCEEDED', `no answer within ${deadlineMs} ms; retry`)
}
