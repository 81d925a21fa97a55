import type { CheckpointStorage } from '../checkpoint/checkpoint-storage.ts'
import type { SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import { restoreChain } from '../checkpoint/restore-chain.ts'
import { WeirError } from '../core/errors.ts'
import type { StateDeclaration } from '../state/state-change.ts'
import type { KeyedStateCell } from './keyed-state-cell.ts'
import type { SubtaskHost } from './subtask.ts'
import type { BuiltSubtask } from './subtask-builder.ts'

/** What a slot restores from. */
export interface SlotRestore {
  readonly storage: CheckpointStorage | undefined
  readonly restore: readonly SubtaskRestore[]
  /** 0 for a fresh start. */
  readonly checkpointId: number
  cellOf(uid: string): KeyedStateCell | undefined
}

/**
 * Opens the operators of a slot and restores its keyed state, newest segment first. Operators are
 * opened between the two, so that their states are declared (and can be queried) while entries come
 * in; the event loop turns between blocks.
 */
export async function restoreSlot(
  built: readonly BuiltSubtask[],
  host: SubtaskHost,
  options: SlotRestore,
): Promise<void> {
  const keyed = options.restore.filter(({ uid }) => options.cellOf(uid) !== undefined)
  for (const { uid, declarations } of keyed) {
    options.cellOf(uid)!.backend.beginRestore(declarations as readonly StateDeclaration[])
  }
  await openOperators(built)
  for (const restore of keyed) {
    await restoreOperator(restore, options.cellOf(restore.uid)!, options)
  }
  if (keyed.length > 0) rearmTimers(built, host)
}

async function openOperators(built: readonly BuiltSubtask[]): Promise<void> {
  for (const { subtask, outputs } of built) {
    for (const [i, task] of subtask.operators.entries()) {
      await task.open(outputs[i]!, subtask.index, subtask)
    }
  }
}

async function restoreOperator(
  restore: SubtaskRestore,
  cell: KeyedStateCell,
  options: SlotRestore,
): Promise<void> {
  const { backend } = cell
  const { storage } = options
  if (storage === undefined) {
    throw new WeirError('ILLEGAL_STATE', 'state cannot be restored without checkpoint storage')
  }
  await restoreChain({
    storage,
    segments: restore.segments,
    keyGroups: backend.keyGroups,
    expect: (entries) => backend.expectEntries(entries),
    visit: (group, state, entry) => backend.restoreSpan(group, state, entry),
    wanted: () => backend.wantedKeyGroup(),
  })
  backend.endRestore(options.checkpointId)
}

/** Timers that were restored after their operator opened: it fires what is due and asks for the next. */
function rearmTimers(built: readonly BuiltSubtask[], host: SubtaskHost): void {
  for (const { subtask } of built) {
    for (const task of subtask.operators) {
      if (task.cell !== undefined) subtask.scheduleProcessingTime(task, host.clock.nowMs())
    }
  }
}
