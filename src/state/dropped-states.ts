import type { StateName } from './port/change.ts'
import { splitVectorName } from './port/format.ts'
import type { DroppedEntries } from './port/restorable-state.ts'

/** The states of a subtask that a restore leaves out, because no operator declares them: counts what they had. */
export class DroppedStates {
  /** Whether segments that a snapshot builds on have entries of them. */
  inSegments = false
  private readonly bytes = new Map<StateName, number>()

  /** States to leave out, by their names in segments. */
  add(names: readonly StateName[]): void {
    for (const name of names) this.bytes.set(name, 0)
    this.inSegments ||= names.length > 0
  }

  /** Takes one entry; false when its state is not left out. */
  take(state: StateName, key: Uint8Array, value: Uint8Array | undefined): boolean {
    const bytes = this.bytes.get(state)
    if (bytes === undefined) return false
    if (value !== undefined) this.bytes.set(state, bytes + key.length + value.length)
    return true
  }

  /** See `RestorableState.droppedEntries`; the versions of a state are one. */
  entries(): readonly DroppedEntries[] {
    const byState = new Map<string, number>()
    for (const [name, bytes] of this.bytes) {
      const state = splitVectorName(name).name
      if (bytes > 0) byState.set(state, (byState.get(state) ?? 0) + bytes)
    }
    return [...byState].map(([state, bytes]) => ({ state, bytes }))
  }
}
