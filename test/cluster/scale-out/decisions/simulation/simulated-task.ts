import type { Pointer } from './simulated-pointers.ts'
import {
  type LeaseRules,
  mayAnswerLive,
} from '../../../../../src/cluster/scale-out/decisions/lease.ts'

/** Work of one partition in a process. */
export class SimulatedTask {
  phase: 'restoring' | 'running' | 'releasing' | 'stopping' = 'restoring'
  /** Committed position on which its work is based. */
  base = 0
  hasCommitted = false
  private pointer: Pointer = { position: 0, owner: '', wasReleased: true }
  private readonly assignedAtMs: number

  constructor(nowMs: number) {
    this.assignedAtMs = nowMs
  }

  /** Takes over what the pointer says. */
  restore(pointer: Pointer): void {
    this.base = pointer.position
    this.pointer = pointer
  }

  /** Whether it would answer `live`, within the lease of its process; `refuses` says so of the owner in the pointer. */
  answersLive(nowMs: number, rules: LeaseRules, refuses: (owner: string) => boolean): boolean {
    const { hasCommitted, assignedAtMs } = this
    const { wasReleased, owner } = this.pointer
    const facts = { hasCommitted, wasReleased, assignedAtMs, nowMs, refuses: refuses(owner) }
    return this.phase === 'running' && mayAnswerLive(facts, rules)
  }
}
