import { leaseRulesOf } from '../../../../../src/cluster/scale-out/decisions/lease.ts'
import type { AssignRules } from '../../../../../src/cluster/scale-out/decisions/planning-board.ts'
import { type Random, seededRandom } from '../../../../../src/core/random.ts'
import { type Decisions, REAL_DECISIONS } from './decisions.ts'
import { EventQueue } from './event-queue.ts'
import { SimulatedCoordinator } from './simulated-coordinator.ts'
import type { ProcessWorld } from './simulated-machine.ts'
import { SimulatedPointers } from './simulated-pointers.ts'
import { SimulatedProcess } from './simulated-process.ts'

/** Times of the simulated group, in ms. */
export const TIMES = {
  sessionMs: 6_000,
  rebalanceMs: 5_000,
  heartbeatMs: 1_000,
  commitMs: 500,
  longestRestoreMs: 2_000,
} as const

/** Facts about a simulated world. */
export interface WorldFacts {
  readonly seed: number
  readonly partitions: number
  readonly rules: AssignRules
  readonly areStatic: boolean
  readonly decisions?: Decisions
  /** Share of restores that fail. */
  readonly failingRestores?: number
  /** Longest time of a restore from storage. @default TIMES.longestRestoreMs */
  readonly longestRestoreMs?: number
}

/** Group, storage, network and processes of one job, in virtual time. */
export class SimulatedWorld {
  readonly queue: EventQueue = new EventQueue()
  readonly pointers: SimulatedPointers
  readonly coordinator: SimulatedCoordinator
  readonly processes: SimulatedProcess[] = []
  /** Starts of partitions: which process, which partition. */
  readonly starts: { readonly id: string; readonly partition: number }[] = []
  /** Share of messages that are lost. */
  loss = 0
  longestDelayMs = 5
  /** Names of processes that reach nothing. */
  readonly cut: Set<string> = new Set()
  readonly random: Random
  private readonly facts: WorldFacts
  private readonly violations = new Set<string>()
  private isCalm = false

  constructor(facts: WorldFacts) {
    this.facts = facts
    this.random = seededRandom(facts.seed)
    this.pointers = new SimulatedPointers(facts.partitions)
    this.coordinator = new SimulatedCoordinator(this.queue, this.pointers, TIMES)
    this.watch()
  }

  get partitions(): number {
    return this.facts.partitions
  }

  /** Everything that must never happen and did. */
  get found(): readonly string[] {
    return [...this.pointers.violations, ...this.violations]
  }

  /** Starts a process under a lasting name. */
  add(name: string, capacity = 1): SimulatedProcess {
    const id = `${name}#${this.processes.length}`
    const pace = 0.995 + this.random.next() * 0.01
    const facts = { id, name, capacity, pace, isStatic: this.facts.areStatic }
    const process = new SimulatedProcess(this.host(), facts)
    this.processes.push(process)
    return process
  }

  get alive(): SimulatedProcess[] {
    return this.processes.filter(({ hasEnded }) => !hasEnded)
  }

  /** Runs for a time. */
  run(ms: number): void {
    this.queue.runUntil(this.queue.nowMs + ms)
  }

  /** Ends all faults. */
  calm(): void {
    this.isCalm = true
    this.loss = 0
    this.longestDelayMs = 5
    this.cut.clear()
    for (const process of this.alive) process.resume()
  }

  /** Partitions that no process serves now. */
  get unserved(): number[] {
    const all = Array.from({ length: this.partitions }, (_, partition) => partition)
    return all.filter((partition) => !this.alive.some((process) => process.serves(partition)))
  }

  /** Runs until all partitions are served, and returns the time in ms; Infinity when that takes longer than `limitMs`. */
  untilServed(limitMs: number): number {
    const began = this.queue.nowMs
    while (this.queue.nowMs < began + limitMs) {
      if (this.unserved.length === 0) return this.queue.nowMs - began
      this.run(50)
    }
    return Number.POSITIVE_INFINITY
  }

  /** Runs for a time, and returns for each partition the longest time for which no process served it, within 10 ms. */
  silences(ms: number): number[] {
    const longest = Array.from({ length: this.partitions }, () => 0)
    const lasting = Array.from({ length: this.partitions }, () => 0)
    for (let ran = 0; ran < ms; ran += 10) {
      this.run(10)
      const unserved = new Set(this.unserved)
      for (let partition = 0; partition < this.partitions; partition++) {
        lasting[partition] = unserved.has(partition) ? lasting[partition]! + 10 : 0
        longest[partition] = Math.max(longest[partition]!, lasting[partition]!)
      }
    }
    return longest
  }

  private watch(): void {
    this.queue.after(200, () => {
      this.watch()
      for (let partition = 0; partition < this.partitions; partition++) {
        const live = this.processes.filter((process) => process.answersLive(partition))
        if (live.length > 1) {
          const ids = live.map(({ facts }) => facts.id)
          this.violations.add(`${ids.join(' and ')} both answer live for partition ${partition}`)
        }
      }
    })
  }

  private host(): ProcessWorld {
    const { queue, coordinator, pointers, partitions, facts } = this
    return {
      queue,
      coordinator,
      pointers,
      partitions,
      decisions: facts.decisions ?? REAL_DECISIONS,
      rules: facts.rules,
      heartbeatMs: TIMES.heartbeatMs,
      commitMs: TIMES.commitMs,
      retryMs: TIMES.rebalanceMs + 1_000,
      lease: leaseRulesOf(TIMES.sessionMs),
      exchange: (name, call, done) => this.exchange(name, call, done),
      timeOf: (work) => this.timeOf(work),
      newJoinId: () => this.random.below(2 ** 32),
      restoreFails: () => !this.isCalm && this.random.next() < (facts.failingRestores ?? 0),
      started: (id, partition) => this.starts.push({ id, partition }),
      refuses: (id) => this.processes.find((process) => process.facts.id === id)?.hasEnded ?? false,
    }
  }

  private exchange<T>(
    name: string,
    call: (answer: (value: T) => void) => void,
    done: (value: T) => void,
  ): void {
    if (this.isLost(name)) return
    this.queue.after(this.random.next() * this.longestDelayMs, () =>
      call((value) => {
        if (this.isLost(name)) return
        this.queue.after(this.random.next() * this.longestDelayMs, () => done(value))
      }),
    )
  }

  private isLost(name: string): boolean {
    return this.cut.has(name) || (this.loss > 0 && this.random.next() < this.loss)
  }

  private timeOf(work: 'restore' | 'warm-restore' | 'warm-up' | 'stop'): number {
    const [least, most] = {
      restore: [100, this.facts.longestRestoreMs ?? TIMES.longestRestoreMs],
      'warm-restore': [5, 50],
      'warm-up': [200, 3_000],
      stop: [0, 300],
    }[work]
    return least! + this.random.next() * (most! - least!)
  }
}
