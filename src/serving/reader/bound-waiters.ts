import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { Consistency } from '../../wire/model-reader.ts'
import type { RequestOwner } from '../port/request-owner.ts'

/** Time between two looks at the progress board. */
const LOOK_MS = 1

/** A request with a bound. */
export interface BoundRequest {
  readonly consistency: Consistency
  /** Model version that is read; 0 for typed state. */
  readonly version: number
  /** Set when the effects of the record are written: the slot must have applied this source as of then. */
  readonly returned?: { readonly source: number; readonly asOfMs: number }
  /** Monotonic time when it fails. */
  readonly deadline: number
  readonly owner: RequestOwner | undefined
  /** Its waits that have not ended, by slot. */
  waits?: Map<number, Promise<number>> | undefined
}

/** Progress of the slots as the waiters see it. */
export interface SlotBounds {
  readonly clock: Clock
  /** The slot's incarnation if it has reached the request's bound. */
  incarnationIfReached(slot: number, request: BoundRequest): number | undefined
}

interface Waiter {
  readonly slot: number
  readonly request: BoundRequest
  /** Waiters of one list are released in this order. */
  readonly rank: number
  settled: boolean
  resolve(incarnation: number): void
}

/** Waiters for the progress of one slot, or of one partition on it; the next one to release comes first. */
class WaiterList {
  private readonly heap: Waiter[] = []
  private settledCount = 0

  get size(): number {
    return this.heap.length - this.settledCount
  }

  /** The waiter to release next; undefined when none waits. */
  get first(): Waiter | undefined {
    while (this.heap[0]?.settled === true) {
      this.removeFirst()
      this.settledCount -= 1
    }
    return this.heap[0]
  }

  add(waiter: Waiter): void {
    const { heap } = this
    let at = heap.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]!.rank <= waiter.rank) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = waiter
  }

  /** A waiter has ended by its deadline or because its connection is gone. */
  settle(waiter: Waiter): void {
    waiter.settled = true
    this.settledCount += 1
    if (this.settledCount * 2 <= this.heap.length) return
    // Otherwise requests that are long gone would take memory until their bound is reached.
    const left = this.heap.filter(({ settled }) => !settled)
    this.heap.length = 0
    this.settledCount = 0
    for (const one of left) this.add(one)
  }

  removeFirst(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.rank < heap[child]!.rank) child += 1
      if (heap[child]!.rank >= last.rank) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

/**
 * Requests that wait until a slot has reached the bound they ask for. One timer looks at the progress of
 * all slots; of each list only the first waiter is compared, so that a look costs the same for one waiter
 * and for many thousands.
 */
export class BoundWaiters {
  private readonly bounds: SlotBounds
  private readonly lists = new Map<string, WaiterList>()
  private cancelLook: Cancel | undefined

  constructor(bounds: SlotBounds) {
    this.bounds = bounds
  }

  /** Requests that wait. */
  get size(): number {
    let size = 0
    for (const list of this.lists.values()) size += list.size
    return size
  }

  /**
   * Resolves with the slot's incarnation at the time when it had reached the bound. Throws NOT_UP_TO_BOUND
   * at the request's deadline, and the owner's error when the connection is gone.
   */
  wait(slot: number, request: BoundRequest): Promise<number> {
    const name = `${slot}/${listOf(request)}`
    let list = this.lists.get(name)
    if (list === undefined) {
      list = new WaiterList()
      this.lists.set(name, list)
    }
    this.cancelLook ??= this.bounds.clock.after(LOOK_MS, this.look)
    return this.enter(list, slot, request)
  }

  private enter(list: WaiterList, slot: number, request: BoundRequest): Promise<number> {
    const { clock } = this.bounds
    const { owner } = request
    return new Promise((resolve, reject) => {
      const stop = (error: WeirError): void => {
        if (waiter.settled) return
        cancel()
        stay?.()
        list.settle(waiter)
        reject(error)
      }
      const left = Math.max(0, request.deadline - clock.monotonicMs())
      const cancel = clock.after(left, () => stop(notReached(slot)))
      const stay = owner?.onGone(() => stop(owner.gone!))
      const release = (incarnation: number): void => {
        cancel()
        stay?.()
        resolve(incarnation)
      }
      const waiter = { slot, request, rank: rankOf(request), settled: false, resolve: release }
      list.add(waiter)
    })
  }

  private readonly look = (): void => {
    this.cancelLook = undefined
    for (const [name, list] of this.lists) {
      this.release(list)
      if (list.first === undefined) this.lists.delete(name)
    }
    if (this.lists.size > 0) this.cancelLook = this.bounds.clock.after(LOOK_MS, this.look)
  }

  private release(list: WaiterList): void {
    for (let waiter = list.first; waiter !== undefined; waiter = list.first) {
      const incarnation = this.bounds.incarnationIfReached(waiter.slot, waiter.request)
      if (incarnation === undefined) return
      list.removeFirst()
      waiter.settled = true
      waiter.resolve(incarnation)
    }
  }
}

/**
 * Name of the list of a request. A client cannot make any number of lists: the request was refused unless
 * its source, partition and version exist.
 */
function listOf({ consistency, version, returned }: BoundRequest): string {
  if (returned !== undefined) return `returned/${returned.source}`
  if (consistency.level !== 'at-least') return 'age'
  return `${consistency.source ?? 0}/${consistency.partition}/${version}`
}

/** Lower offsets are reached first, earlier times, and higher ages. */
function rankOf({ consistency, returned }: BoundRequest): number {
  if (returned !== undefined) return returned.asOfMs
  if (consistency.level === 'at-least') return consistency.offset
  return consistency.level === 'bounded' ? -consistency.maxAgeMs : 0
}

/** The error of a request whose deadline came before its bound. */
export function notReached(slot: number): WeirError {
  return new WeirError(
    'NOT_UP_TO_BOUND',
    `slot ${slot} has not reached the bound that was asked for; wait longer or relax it`,
    { details: { slot } },
  )
}
