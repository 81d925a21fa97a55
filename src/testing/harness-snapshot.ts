import type {
  OperatorManifest,
  OperatorStateEntries,
} from '../runtime/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../runtime/checkpoint/protocol/restore-plan.ts'
import type { StateDeclaration } from '../state/port/change.ts'
import type { CheckpointableState } from '../state/port/checkpointable-state.ts'
import type { RestorableState } from '../state/port/restorable-state.ts'

/** One entry of keyed state. */
export interface HarnessEntry {
  readonly keyGroup: number
  readonly state: string
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/** All state of one operator subtask, as bytes. */
export interface HarnessSnapshot {
  readonly maxParallelism: number
  readonly declarations: OperatorManifest['declarations']
  readonly entries: readonly HarnessEntry[]
  readonly operatorState: readonly OperatorStateEntries[]
}

/** Copies all keyed state. */
export function copyKeyedState(
  keyedState: CheckpointableState,
  checkpointId: number,
): Pick<HarnessSnapshot, 'declarations' | 'entries'> {
  const byKey = new Map<string, HarnessEntry>()
  const sink = {
    append(keyGroup: number, state: string, key: Uint8Array, value: Uint8Array | undefined): void {
      const id = `${state} ${keyGroup} ${key.join(',')}`
      if (value === undefined) byKey.delete(id)
      else byKey.set(id, { keyGroup, state, key: key.slice(), value: value.slice() })
    },
  }
  const snapshot = keyedState.snapshot(checkpointId, sink, true)
  while (!snapshot.step(1000));
  return { declarations: keyedState.declarations(), entries: [...byKey.values()] }
}

/** Number of live entries of the states that are wanted. */
export function countEntries(
  keyedState: CheckpointableState | undefined,
  isWanted: (state: string) => boolean,
): number {
  if (keyedState === undefined) return 0
  return copyKeyedState(keyedState, 1).entries.filter(({ state }) => isWanted(state)).length
}

/**
 * Opens the restore of keyed state from the snapshots of all former subtasks; it keeps its own key groups. The result ends
 * it, after the operator has declared its states, as in a job: only then is it known what restored entries become. Undefined
 * where there is nothing to restore.
 */
export function beginRestore(
  keyedState: RestorableState | undefined,
  snapshots: readonly HarnessSnapshot[] = [],
): (() => void) | undefined {
  const [first] = snapshots
  if (keyedState === undefined || first === undefined) return undefined
  keyedState.beginRestore(first.declarations as readonly StateDeclaration[])
  return () => restoreEntries(keyedState, snapshots)
}

function restoreEntries(keyedState: RestorableState, snapshots: readonly HarnessSnapshot[]): void {
  for (const { entries } of snapshots) {
    for (const { keyGroup, state, key, value } of entries) {
      keyedState.restore(keyGroup, state, key, value)
    }
  }
  keyedState.endRestore(1)
}

/** The subtask whose share is restored. */
export interface RestoredSubtask {
  readonly subtask: number
  readonly parallelism: number
  readonly maxParallelism: number
}

/** The operator state of one subtask after a restore. Throws MAX_PARALLELISM_CHANGED, as a real restore. */
export function shareOfOperatorState(
  snapshots: readonly HarnessSnapshot[],
  { subtask, parallelism, maxParallelism }: RestoredSubtask,
): ReadonlyMap<string, readonly Uint8Array[]> {
  const uid = 'operator'
  const manifest: OperatorManifest = {
    uid,
    parallelism: snapshots.length,
    maxParallelism: snapshots[0]!.maxParallelism,
    declarations: snapshots[0]!.declarations,
    segments: [],
    operatorState: snapshots.map((snapshot) => snapshot.operatorState),
  }
  const plan = planRestore({ operators: [manifest] }, [{ uid, parallelism, maxParallelism }])
  return plan.get(uid)![subtask]!.operatorState
}
