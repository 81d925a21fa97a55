import type { OperatorStateEntries } from '../../checkpoint/protocol/checkpoint-types.ts'
import type { OperatorStateStore, Redistribution } from '../../operators/port/operator-state.ts'

/** Non-keyed state of one operator subtask: restored entries, and entries for the next snapshot. */
export class OperatorStateMemory implements OperatorStateStore {
  readonly isRestored: boolean
  private readonly before: ReadonlyMap<string, readonly Uint8Array[]>
  private readonly current = new Map<string, OperatorStateEntries>()

  /** `restored`: entries by name from the restored checkpoint; undefined on a fresh start. */
  constructor(restored: ReadonlyMap<string, readonly Uint8Array[]> | undefined = undefined) {
    this.isRestored = restored !== undefined
    this.before = restored ?? new Map()
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
