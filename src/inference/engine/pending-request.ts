import type { DeadlineEntry } from '../../wire/deadline-wheel.ts'
import type { InferAnswer, InferRequest } from '../port/request.ts'

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
  /** As `Asker.group`; undefined for a request of this process. */
  readonly group: object | undefined
  private readonly onExpire: (request: PendingRequest) => void
  private readonly onGivenUp: (request: PendingRequest, reason: unknown) => void

  constructor(
    slot: number,
    { deadlineAt, group }: { readonly deadlineAt: number; readonly group: object | undefined },
    callbacks: {
      readonly resolve: (answer: InferAnswer) => void
      readonly reject: (error: unknown) => void
      readonly onExpire: (request: PendingRequest) => void
      readonly onGivenUp: (request: PendingRequest, reason: unknown) => void
    },
  ) {
    this.slot = slot
    this.deadlineAt = deadlineAt
    this.group = group
    this.resolve = callbacks.resolve
    this.reject = callbacks.reject
    this.onExpire = callbacks.onExpire
    this.onGivenUp = callbacks.onGivenUp
  }

  expire(): void {
    this.onExpire(this)
  }

  giveUp(reason: unknown): void {
    this.onGivenUp(this, reason)
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

/** Gives up a request with the reason when its client is gone, or its signal aborts; returns what ends that. */
export function whenGivenUp(
  { signal, asker }: Pick<InferRequest, 'signal' | 'asker'>,
  pending: PendingRequest,
): (() => void) | undefined {
  const stopListening = asker?.onGone(() => pending.giveUp(asker.gone))
  if (signal === undefined) return stopListening
  const onAbort = (): void => pending.giveUp(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  return () => {
    stopListening?.()
    signal.removeEventListener('abort', onAbort)
  }
}

/** How many requests that have not ended each group of askers has in a queue, the one with the most first. */
export type GroupCounts = ReadonlyMap<object, number>

/** The counts of the groups of some requests; those of this process itself have no group. */
export function groupCounts(pending: Iterable<PendingRequest>): GroupCounts {
  const counts = new Map<object, number>()
  for (const { group, isSettled } of pending) {
    if (group !== undefined && !isSettled) counts.set(group, (counts.get(group) ?? 0) + 1)
  }
  return new Map([...counts].sort(([, a], [, b]) => b - a))
}

/**
 * The requests that may give way to one more of a group, those of who has the most first, and of them the newest: all whose
 * group has no fewer than the other one then. A second worker may have one with a twin already.
 */
export function givingWay(
  pending: ReadonlyMap<number, PendingRequest>,
  counts: GroupCounts,
  to: object | undefined,
): readonly PendingRequest[] {
  const own = to === undefined ? 0 : (counts.get(to) ?? 0)
  const hasMore = ({ group, isSettled, twin }: PendingRequest): boolean =>
    group !== undefined && group !== to && !isSettled && twin < 0 && counts.get(group)! > own + 1
  const countOf = ({ group }: PendingRequest): number => counts.get(group!)!
  return [...pending.values()]
    .filter(hasMore)
    .reverse()
    .sort((a, b) => countOf(b) - countOf(a))
}
