import {
  isLeased,
  type LeaseRules,
  NO_LEASE,
} from '../../../../../src/cluster/scale-out/decisions/lease.ts'
import type { AssignRules } from '../../../../../src/cluster/scale-out/decisions/planning-board.ts'
import type { Decisions } from './decisions.ts'
import type { EventQueue } from './event-queue.ts'
import type { SimulatedCoordinator } from './simulated-coordinator.ts'
import type { SimulatedPointers } from './simulated-pointers.ts'

/** What a process needs of its world. Times are virtual ms. */
export interface ProcessWorld {
  readonly queue: EventQueue
  readonly coordinator: SimulatedCoordinator
  readonly pointers: SimulatedPointers
  readonly decisions: Decisions
  readonly rules: AssignRules
  readonly partitions: number
  readonly heartbeatMs: number
  readonly commitMs: number
  /** Time after which a request without answer is sent again. */
  readonly retryMs: number
  readonly lease: LeaseRules
  /** Sends a request of a process; `done` gets its answer, unless one of both is lost. */
  exchange<T>(
    name: string,
    call: (answer: (value: T) => void) => void,
    done: (value: T) => void,
  ): void
  /** Time of a restore from storage, of a catch-up, of a stop. */
  timeOf(work: 'restore' | 'warm-restore' | 'warm-up' | 'stop'): number
  newJoinId(): number
  /** Whether a restore fails. */
  restoreFails(): boolean
  /** Notes that a partition starts in a process. */
  started(id: string, partition: number): void
  /** Whether connections to a process are refused. */
  refuses(id: string): boolean
}

/** Facts about a process. */
export interface ProcessFacts {
  /** Unique name of this start of the process. */
  readonly id: string
  /** Lasting name. */
  readonly name: string
  /** Whether its name is its `group.instance.id`. */
  readonly isStatic: boolean
  readonly capacity: number
  /** Speed of its monotonic clock. */
  readonly pace: number
}

/** A process on its machine: its clock, its lease, and what a pause or an end does to its callbacks. */
export class SimulatedMachine {
  readonly facts: ProcessFacts
  isPaused = false
  hasEnded = false
  protected readonly world: ProcessWorld
  /** When the last answered heartbeat was sent. */
  protected answeredMs: number
  private leaseUntilMs = NO_LEASE
  private readonly waiting: (() => void)[] = []

  constructor(world: ProcessWorld, facts: ProcessFacts) {
    this.world = world
    this.facts = facts
    this.answeredMs = this.nowMs()
  }

  /** Its monotonic clock. */
  nowMs(): number {
    return this.world.queue.nowMs * this.facts.pace
  }

  /** Whether it runs and holds its lease. */
  get isLeased(): boolean {
    return !this.isPaused && !this.hasEnded && isLeased(this.leaseUntilMs, this.nowMs())
  }

  /** Ends without a word, as by kill -9. */
  kill(): void {
    this.hasEnded = true
    this.waiting.length = 0
  }

  /** Stops as by SIGSTOP. */
  pause(): void {
    this.isPaused = true
  }

  /** Goes on as by SIGCONT: everything that came meanwhile comes now. */
  resume(): void {
    if (!this.isPaused || this.hasEnded) return
    this.isPaused = false
    for (const callback of this.waiting.splice(0)) this.whenRunning(callback)
  }

  /** Runs a callback unless the process has ended; one of a paused process waits. */
  protected whenRunning(callback: () => void): void {
    if (this.hasEnded) return
    if (this.isPaused) this.waiting.push(callback)
    else callback()
  }

  protected later(delayMs: number, callback: () => void): void {
    this.world.queue.after(delayMs, () => this.whenRunning(callback))
  }

  protected ask<T>(call: (answer: (value: T) => void) => void, done: (value: T) => void): void {
    const { name } = this.facts
    this.world.exchange(name, call, (value: T) => this.whenRunning(() => done(value)))
  }

  /** A request of its membership was answered. */
  protected answered(sentAtMs: number): void {
    const { decisions, lease } = this.world
    this.answeredMs = Math.max(this.answeredMs, sentAtMs)
    const times = { sentAtMs, answeredAtMs: this.nowMs() }
    this.leaseUntilMs = decisions.lease(this.leaseUntilMs, times, lease)
  }
}
