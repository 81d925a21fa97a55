import type { DeadlineEntry } from '../../wire/deadline-wheel.ts'
import type { InferAnswer } from '../port/request.ts'

/** Request of this thread that has not ended, by its slot. */
export class PendingRequest implements DeadlineEntry {
  readonly slot: number
  readonly deadlineAt: number
  previousEntry: DeadlineEntry | undefined
  nextEntry: DeadlineEntry | undefined
  /** The caller has its answer or error; the slot still belongs to a worker. */
  isSettled = false
  readonly resolve: (answer: InferAnswer) => void
  readonly reject: (error: unknown) => void
  stopListening: (() => void) | undefined
  /** Slot of the copy for a second worker; -1 when there is none. */
  twin = -1
  hedge: HedgeTimer | undefined
  private readonly onExpire: (request: PendingRequest) => void

  constructor(
    slot: number,
    deadlineAt: number,
    callbacks: {
      readonly resolve: (answer: InferAnswer) => void
      readonly reject: (error: unknown) => void
      readonly onExpire: (request: PendingRequest) => void
    },
  ) {
    this.slot = slot
    this.deadlineAt = deadlineAt
    this.resolve = callbacks.resolve
    this.reject = callbacks.reject
    this.onExpire = callbacks.onExpire
  }

  expire(): void {
    this.onExpire(this)
  }
}

/** Entry of the wheel that gives a request to a second worker. */
export class HedgeTimer implements DeadlineEntry {
  deadlineAt: number
  previousEntry: DeadlineEntry | undefined
  nextEntry: DeadlineEntry | undefined
  private readonly request: PendingRequest
  private readonly onDue: (request: PendingRequest) => void

  constructor(
    request: PendingRequest,
    deadlineAt: number,
    onDue: (request: PendingRequest) => void,
  ) {
    this.request = request
    this.deadlineAt = deadlineAt
    this.onDue = onDue
  }

  expire(): void {
    this.onDue(this.request)
  }
}
