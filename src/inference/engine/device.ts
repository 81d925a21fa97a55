import type { Cancel, Clock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { dueInMs, expectedNextMs } from '../policy/asking.ts'
import { decideResidency, fetchInMs, type ResidentFacts } from '../policy/residency.ts'
import { askingHistory } from '../queue/asking.ts'
import { firstDeadline } from '../queue/demand.ts'
import { ESTIMATE, HEADER, WORKER } from '../queue/layout.ts'
import type { ModelWorkers } from './model-workers.ts'
import type { ModelMove } from './workers-options.ts'

/** Time between two looks while a model waits for room, ms. */
const LOOK_MS = 20
/** Time of a look that is left to the next move of a model, ms. */
const LONGEST_LOOK_MS = 2 ** 31 - 1
const MIB = 2 ** 20

/** A model's place in the memory of a device. */
export interface Place {
  readonly bytes: number
  /** Times that the model was evicted. */
  readonly evictions: number
  /** Gives the workers that hold the memory, once they have loaded the model for the first time. */
  hold(workers: ModelWorkers): void
  /** Call it with each move of the workers. */
  moved(kind: ModelMove): void
  /** Gives the memory back. */
  free(): void
}

/**
 * Memory for models, with a limit. Each model reserves its bytes before it is loaded; `decideResidency` says
 * which ones leave for it. Loads run side by side in their workers, and models that stay go on meanwhile.
 */
export class Device implements Disposable {
  readonly capacity: number
  private readonly clock: Clock
  private readonly tenants = new Map<string, Tenant>()
  private cancelLook: Cancel | undefined

  constructor(capacity: number, clock: Clock) {
    this.capacity = capacity
    this.clock = clock
  }

  /** Reserves memory; resolves when there is room. Rejects with INVALID_ARGUMENT when it can never be. */
  async reserve(key: string, bytes: number, isKept: boolean): Promise<Place> {
    requireArgument(
      bytes <= this.capacity,
      `the model needs ${(bytes / MIB).toFixed(1)} MiB of memory, and all models may have ${(this.capacity / MIB).toFixed(1)} MiB: raise the limit`,
    )
    const tenant = new Tenant({ key, bytes, isKept }, this.clock.monotonicMs())
    this.requireRoomBesideKept([...this.tenants.values(), tenant])
    this.tenants.set(key, tenant)
    await new Promise<void>((resolve) => {
      tenant.onEnter = resolve
      this.decide()
    })
    return {
      bytes,
      get evictions() {
        return tenant.evictions
      },
      hold: (workers) => {
        tenant.hold(workers, this.clock.monotonicMs())
        this.decide()
      },
      moved: (kind) => {
        tenant.moved(kind, this.clock.monotonicMs())
        this.decide()
      },
      free: () => {
        this.tenants.delete(key)
        this.decide()
      },
    }
  }

  /** What all models hold now, bytes: also those that enter or leave. */
  get heldBytes(): number {
    const held = [...this.tenants.values()].filter(({ state }) => state !== 'out')
    return held.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  [Symbol.dispose](): void {
    this.cancelLook?.()
  }

  private decide(): void {
    this.cancelLook?.()
    this.cancelLook = undefined
    const nowMs = this.clock.monotonicMs()
    const facts = [...this.tenants.values()]
      .filter(({ isBroken }) => !isBroken)
      .map((tenant) => tenant.facts(nowMs))
    const { enter, leave } = decideResidency(this.capacity, facts, nowMs)
    for (const key of leave) this.tenants.get(key)!.leave()
    for (const key of enter) this.tenants.get(key)!.enter(nowMs)
    const isWaiting = facts.some(
      ({ key, state, isWanted }) => state === 'out' && isWanted && !enter.includes(key),
    )
    const fetchMs = Math.min(...facts.map(fetchInMs), LONGEST_LOOK_MS)
    const lookMs = isWaiting ? LOOK_MS : Math.max(LOOK_MS, fetchMs)
    if (lookMs < LONGEST_LOOK_MS) this.cancelLook = this.clock.after(lookMs, () => this.decide())
  }

  /** Throws INVALID_ARGUMENT when the models that never leave take the room of another one. */
  private requireRoomBesideKept(tenants: readonly Tenant[]): void {
    const kept = tenants.filter(({ isKept }) => isKept).reduce((sum, { bytes }) => sum + bytes, 0)
    const largest = Math.max(0, ...tenants.map(({ isKept, bytes }) => (isKept ? 0 : bytes)))
    requireArgument(
      kept + largest <= this.capacity,
      `models with keep-loaded take ${(kept / MIB).toFixed(1)} MiB, and the largest other one needs ${(largest / MIB).toFixed(1)} of ${(this.capacity / MIB).toFixed(1)} MiB: raise the limit, or keep fewer models loaded`,
    )
  }
}

/** One model of a device. */
class Tenant {
  evictions = 0
  /** Its last load failed: it has no place in memory until it asks for the next try. */
  isBroken = false
  onEnter: (() => void) | undefined
  readonly bytes: number
  readonly isKept: boolean
  private readonly key: string
  private readonly askedAt: number
  private workers: ModelWorkers | undefined
  private hasRoom = false
  private isWanted = true
  private enteredAt = 0
  private roomAt = 0
  private firstLoadMs = 0

  constructor(
    {
      key,
      bytes,
      isKept,
    }: { readonly key: string; readonly bytes: number; readonly isKept: boolean },
    askedAt: number,
  ) {
    this.key = key
    this.bytes = bytes
    this.isKept = isKept
    this.askedAt = askedAt
  }

  hold(workers: ModelWorkers, nowMs: number): void {
    this.workers = workers
    this.isWanted = false
    this.firstLoadMs = nowMs - this.roomAt
    this.enteredAt = nowMs
  }

  moved(kind: ModelMove, nowMs: number): void {
    this.isBroken = kind === 'failed'
    if (this.isBroken) this.workers?.setAway(true)
    if (kind === 'wanted') this.isWanted = true
    if (kind !== 'entered') return
    this.isWanted = false
    this.enteredAt = nowMs
  }

  enter(nowMs: number): void {
    this.hasRoom = true
    this.roomAt = nowMs
    this.onEnter?.()
    this.onEnter = undefined
    this.workers?.setAway(false)
  }

  leave(): void {
    this.evictions++
    this.workers?.setAway(true)
  }

  get state(): ResidentFacts['state'] {
    if (this.workers !== undefined) return this.workers.residency
    return this.hasRoom ? 'entering' : 'out'
  }

  facts(nowMs: number): ResidentFacts {
    const { key, bytes, isKept, workers, isWanted, enteredAt, state } = this
    if (workers === undefined) {
      // The first load of a model is due at once.
      const dueMs = Number.POSITIVE_INFINITY
      const none = { lastRunAt: 0, nextMs: 0, dueMs, enteredAt: 0, requests: 0, readyMs: 0 }
      return { key, bytes, isKept, state, isWanted, firstDeadline: this.askedAt, ...none }
    }
    const { memory } = workers
    const history = askingHistory(memory)
    return {
      key,
      bytes,
      isKept,
      state,
      lastRunAt: Math.max(enteredAt, workers.largest(WORKER.lastStartedAt)),
      nextMs: expectedNextMs(history, nowMs, enteredAt),
      dueMs: dueInMs(history, nowMs),
      enteredAt,
      isWanted,
      requests: Atomics.load(memory.words, HEADER.waiting) + workers.busy,
      firstDeadline: firstDeadline(memory),
      readyMs: this.loadMsOf(workers) + memory.numbers[memory.estimatesAt + ESTIMATE.fixedMs]!,
    }
  }

  /** Mean time of a load, ms; the first one, which starts the workers, counts only while it is the only one. */
  private loadMsOf(workers: ModelWorkers): number {
    const loads = workers.sum(WORKER.loads)
    return loads === 0 ? this.firstLoadMs : workers.sum(WORKER.loadMs) / loads
  }
}
