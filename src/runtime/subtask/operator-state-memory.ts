import type { OperatorStateEntries } from '../../checkpoint/protocol/checkpoint-types.ts'
import type { OperatorStateStore, Redistribution } from '../../operators/port/operator-state.ts'

/** Non-keyed state of one operator subtask: restored entries, and entries for the next snapshot. */
export class OperatorStateMemory implements OperatorStateStore {
  private readonly before: ReadonlyMap<string, readonly Uint8Array[]>
  private readonly current = new Map<string, OperatorStateEntries>()

  constructor(restored: ReadonlyMap<string, readonly Uint8Array[]> = new Map()) {
    this.before = restored
  }

  restored(name: string): readonly Uint8Array[] {
    return this.before.get(name) ?? []
  }

  update(name: string, redistribution: Redistribution, entries: readonly Uint8Array[]): void {
    this.current.set(name, { name, redistribution, entries })
  }

  /** Entries for a snapshot. */
  entries(): OperatorStateEntries[] {
    return [...this.current.values()]
  }
}
