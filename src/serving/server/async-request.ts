import type { QueryBackend } from '../port/query-backend.ts'
import type { RequestOwner } from '../port/request-owner.ts'
import type { AnswerTarget } from './answers.ts'

/** Writes the answer of an asynchronous request into its target. */
export type AnswerWriter = (target: AnswerTarget) => void

/** Terms under which a part of a request runs. */
export interface AsyncTerms {
  readonly backend: QueryBackend
  /** Time that is left for it. */
  readonly deadlineMs: number
  readonly owner: RequestOwner
  /** Most bytes of answers that it may read; at least one answer comes, whatever its size. */
  readonly maxBytes: number
}

/** Answers to some requests of a frame. */
export interface AnswerPart {
  /** Requests of the frame that it answers, at least 1 unless the frame is empty. */
  readonly count: number
  readonly write: AnswerWriter
}

/**
 * A decoded frame that is answered later, in parts, so that neither its work nor its answer is unbounded.
 */
export interface AsyncRequest {
  /** Requests in the frame. */
  readonly count: number
  /** Most requests of it that run at a time. @default what the output has room for */
  readonly mostAtOnce?: number
  /** Answers the requests from number `from` on, at most `most` of them. */
  run(terms: AsyncTerms, from: number, most: number): Promise<AnswerPart>
  /** Copies what it reads from the bytes of its frame: it does not begin while they are there. */
  leaveFrame?(): void
  /** Gives its buffers back: no part of it runs, and none will. */
  release?(): void
}
