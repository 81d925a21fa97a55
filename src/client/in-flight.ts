import { WeirError } from '../core/errors.ts'
import type { AnswerCursor } from '../wire/answer.ts'
import type { DeadlineEntry } from '../wire/deadline-wheel.ts'

/** A request frame whose answers are awaited. */
export interface InFlight extends DeadlineEntry {
  /** Given by the connection that sends it. */
  requestId: number
  /** Calls that it stands for. */
  readonly calls: number
  /** Takes one answer frame; true when nothing is awaited any more. Throws PROTOCOL_ERROR. */
  answer(cursor: AnswerCursor, server: string): boolean
  /** Nothing more will come: every call that is still open fails with `error`. */
  fail(error: WeirError): void
}

/** DEADLINE_EXCEEDED of a call that was given `deadlineMs`. */
export function noAnswerWithin(deadlineMs: number): WeirError {
  return new WeirError('DEADLINE_EXCEEDED', `no answer within ${deadlineMs} ms; retry`)
}
