import {
  type LeaseRules,
  NEVER_OWNED,
  type TakeOverFacts,
} from '../../../../../src/cluster/scale-out/decisions/lease.ts'
import type { Decisions } from './decisions.ts'
import type { Pointer } from './simulated-pointers.ts'

/** Moment at which a task is asked, and what its process sees of others. */
export interface Sight {
  readonly nowMs: number
  readonly rules: LeaseRules
  readonly isSettled: Decisions['isSettled']
  /** Whether connections to a process are refused. */
  refuses(id: string): boolean
}

/** Work of one partition in a process. */
export class SimulatedTask {
  phase: 'restoring' | 'running' | 'releasing' | 'stopping' = 'restoring'
  /** Committed position on which its work is based. */
  base = 0
  hasCommitted = false
  private pointer: Pointer = { position: 0, owner: '', mark: NEVER_OWNED }
  private readonly assignedAtMs: number

  constructor(nowMs: number) {
    this.assignedAtMs = nowMs
  }

  /** Takes over what the pointer says. */
  restore(pointer: Pointer): void {
    this.base = pointer.position
    this.pointer = pointer
  }

  /** Whether it would answer `live`, within the lease of its process. */
  answersLive(sight: Sight): boolean {
    return this.phase === 'running' && this.hasCommitted && this.isSettled(sight)
  }

  /** Whether no owner before it holds a lease. */
  isSettled(sight: Sight): boolean {
    return sight.isSettled(this.facts(sight), sight.rules)
  }

  private facts({ nowMs, refuses }: Sight): TakeOverFacts {
    const { mark, owner } = this.pointer
    return { before: mark, refuses: refuses(owner), assignedAtMs: this.assignedAtMs, nowMs }
  }
}
