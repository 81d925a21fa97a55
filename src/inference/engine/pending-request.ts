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
  /** As `Asker.group`; undefined for a request of this process. */
  readonly group: object | undefined
  private readonly onExpire: (request: PendingRequest) => void

  constructor(
    slot: number,
    { deadlineAt, group }: { readonly deadlineAt: number; readonly group: object | undefined },
    callbacks: {
      readonly resolve: (answer: InferAnswer) => void
      readonly reject: (error: unknown) => void
      readonly onExpire: (request: PendingRequest) => void
    },
  ) {
    this.slot = slot
    this.deadlineAt = deadlineAt
    this.group = group
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

/** A group of askers, and how many of its requests have not ended. */
export interface GroupCount {
  readonly group: object
  readonly count: number
}

/** Who has the most requests in a queue; undefined where all are of this process itself. */
export function heaviestGroup(pending: Iterable<PendingRequest>): GroupCount | undefined {
  const counts = new Map<object, number>()
  let heaviest: GroupCount | undefined
  for (const { group, isSettled } of pending) {
    if (group === undefined || isSettled) continue
    const count = (counts.get(group) ?? 0) + 1
    counts.set(group, count)
    if (count > (heaviest?.count ?? 0)) heaviest = { group, count }
  }
  return heaviest
}

/**
 * The requests that may give way to one more of a group, the newest first: those of who has the most, where that leaves it
 * no fewer than the other. A second worker may have one with a twin already.
 */
export function givingWay(
  pending: ReadonlyMap<number, PendingRequest>,
  { group, count }: GroupCount,
  to: object | undefined,
): readonly PendingRequest[] {
  if (group === to) return []
  const all = [...pending.values()]
  const own = all.filter((one) => one.group === to && !one.isSettled).length
  if (own + 1 >= count) return []
  const isOf = (one: PendingRequest): boolean =>
    one.group === group && !one.isSettled && one.twin < 0
  return all.filter(isOf).reverse()
}
