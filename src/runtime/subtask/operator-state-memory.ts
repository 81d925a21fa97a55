import type { OperatorStateStore, Redistribution } from '../../operators/port/operator-state.ts'
import {
  type OperatorStateEntries,
  OVERTAKEN_RECORDS,
} from '../checkpoint/protocol/checkpoint-types.ts'

/** Restored state that an operator has not asked for. */
export interface UnclaimedEntries {
  readonly name: string
  readonly bytes: number
}

/** Non-keyed state of one operator subtask: restored entries, and entries for the next snapshot. */
export class OperatorStateMemory implements OperatorStateStore {
  readonly isRestored: boolean
  private readonly before: ReadonlyMap<string, readonly Uint8Array[]>
  private readonly current = new Map<string, OperatorStateEntries>()
  /** Names that the operator has asked for. The subtask itself takes the records that a barrier has overtaken. */
  private readonly claimed = new Set<string>([OVERTAKEN_RECORDS])
  private readonly leftOver = new Map<string, number>()

  /** `restored`: entries by name from the restored checkpoint; undefined on a fresh start. */
  constructor(restored: ReadonlyMap<string, readonly Uint8Array[]> | undefined = undefined) {
    this.isRestored = restored !== undefined
    this.before = restored ?? new Map()
  }

  restored(name: string): readonly Uint8Array[] {
    this.claimed.add(name)
    return this.before.get(name) ?? []
  }

  update(name: string, redistribution: Redistribution, entries: readonly Uint8Array[]): void {
    this.current.set(name, { name, redistribution, entries })
  }

  leaveOver(state: string, bytes: number): void {
    this.leftOver.set(state, (this.leftOver.get(state) ?? 0) + bytes)
  }

  /** The restored state that the operator has not asked for, when it is open. */
  unclaimed(): readonly UnclaimedEntries[] {
    const unasked = [...this.before].filter(
      ([name, entries]) => entries.length > 0 && !this.claimed.has(name),
    )
    const sizes = unasked.map(([name, entries]) => [name, bytesOf(entries)] as const)
    return [...sizes, ...this.leftOver].map(([name, bytes]) => ({ name, bytes }))
  }

  /** Entries for a snapshot. */
  entries(): OperatorStateEntries[] {
    return [...this.current.values()]
  }
}

function bytesOf(entries: readonly Uint8Array[]): number {
  return entries.reduce((sum, entry) => sum + entry.length, 0)
}
