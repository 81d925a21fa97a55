import { WeirError } from '../../core/errors.ts'
import { ABOUT_STATE } from '../../operators/port/operator-state.ts'
import { STORED_WATERMARKS } from '../../operators/port/stored-watermark.ts'
import type { StateDeclaration } from '../../state/port/change.ts'
import type { DroppedEntries, RestorableState } from '../../state/port/restorable-state.ts'
import { type DroppedState, keyedBytes } from '../checkpoint/protocol/dropped-state.ts'
import type { SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import { restoreChain } from '../checkpoint/segment/restore-chain.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { inSlices } from '../pacing/in-slices.ts'
import type { BuiltSubtask } from '../subtask/builder.ts'
import type { CheckpointedState } from '../subtask/checkpointed-state.ts'
import type { SubtaskHost } from '../subtask/subtask.ts'

/** Source of a slot's restore. */
export interface SlotRestore {
  readonly storage: CheckpointStorage | undefined
  readonly restore: readonly SubtaskRestore[]
  /** 0 for a fresh start. */
  readonly checkpointId: number
  stateOf(uid: string): CheckpointedState | undefined
  /** Whether state that no operator declares is dropped; otherwise it is an error. */
  readonly allowNonRestoredState: boolean
  /** Whether the job may be another one than that which wrote the checkpoint. */
  readonly mayHaveChanged: boolean
  /** Whether the attempt is over, so that its state is not needed any more. */
  isOver(): boolean
}

/**
 * Opens the operators of a slot and restores its keyed state, newest segment first. Operators are
 * opened before entries are read, so that their states are declared and can be queried during the
 * restore; the event loop turns between blocks, and every millisecond behind the last of them. Returns what it dropped.
 * Throws STATE_LEFT_OVER, and JOB_CANCELED when the attempt ends on the way.
 */
export async function restoreSlot(
  built: readonly BuiltSubtask[],
  host: SubtaskHost,
  options: SlotRestore,
): Promise<readonly DroppedState[]> {
  const keyed = options.restore.filter(({ uid }) => options.stateOf(uid) !== undefined)
  for (const { uid, declarations } of keyed) {
    options.stateOf(uid)!.backend.beginRestore(declarations as readonly StateDeclaration[])
  }
  await openOperators(built)
  const { dropped, ofOtherKind } = unclaimedEntries(built, options)
  for (const restore of keyed) {
    const { uid } = restore
    const { backend } = options.stateOf(uid)!
    if (ofOtherKind.has(uid)) backend.dropAll()
    else if (options.allowNonRestoredState) backend.dropUndeclared()
    await restoreOperator(restore, backend, { ...options, clock: host.clock })
    dropped.push(...backend.droppedEntries().map((entries) => ({ uid, ...entries })))
  }
  if (keyed.length > 0) rearmTimers(built, host)
  return dropped
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
  state: RestorableState,
  options: SlotRestore & Pick<SubtaskHost, 'clock'>,
): Promise<void> {
  const { storage, clock, isOver } = options
  if (storage === undefined) {
    throw new WeirError('ILLEGAL_STATE', 'state cannot be restored without checkpoint storage')
  }
  await restoreChain({
    storage,
    segments: restore.segments,
    keyGroups: state.keyGroups,
    expect: (entries) => state.expectEntries(entries),
    visit: (group, name, entry) => state.restoreSpan(group, name, entry),
    wanted: () => {
      if (isOver()) throw interrupted()
      return state.wantedKeyGroup()
    },
  })
  const steps = state.endRestoreInSteps(options.checkpointId)
  if (!(await inSlices(steps, clock, () => !isOver()))) throw interrupted()
  const [unclaimed] = state.unclaimedStates()
  if (unclaimed !== undefined) throw unclaimedState(restore.uid, unclaimed)
  if (options.mayHaveChanged && !options.allowNonRestoredState) state.expectFormerTypes()
}

function interrupted(): WeirError {
  return new WeirError('JOB_CANCELED', 'the attempt ended while its state was restored')
}

/** What no operator has claimed when it opened. */
interface Unclaimed {
  readonly dropped: DroppedState[]
  /** Operators whose keyed state is of another kind than the one in the checkpoint. */
  readonly ofOtherKind: ReadonlySet<string>
}

/** Operator state that no operator has asked for when it opened. Throws STATE_LEFT_OVER unless it may be dropped. */
function unclaimedEntries(
  built: readonly BuiltSubtask[],
  { restore, allowNonRestoredState }: SlotRestore,
): Unclaimed {
  const keyed = restore.filter(({ segments }) => segments.length > 0)
  const byUid = new Map(keyed.map((one) => [one.uid, one]))
  const dropped: DroppedState[] = []
  const ofOtherKind = new Set<string>()
  for (const { node, operatorState } of built.flatMap(({ subtask }) => subtask.operators)) {
    const { uid } = node
    for (const { name, bytes } of operatorState.unclaimed()) {
      // What is said about keyed state is nothing without it.
      if (name.startsWith(ABOUT_STATE) && !byUid.has(uid)) continue
      if (name === STORED_WATERMARKS) continue
      const isKind = name.startsWith(ABOUT_STATE)
      const state = isKind ? name.slice(ABOUT_STATE.length) : name
      if (!allowNonRestoredState) {
        if (isKind) throw otherKind(uid, state, keyedBytes(byUid.get(uid)!))
        throw unclaimedState(uid, { state, bytes })
      }
      if (isKind) ofOtherKind.add(uid)
      else dropped.push({ uid, state, bytes })
    }
  }
  return { dropped, ofOtherKind }
}

/** `bytes`: of all keyed state of the operator in the segments of the slot. */
function otherKind(uid: string, state: string, bytes: number): WeirError {
  return new WeirError(
    'STATE_LEFT_OVER',
    `the checkpoint holds ${state} of operator ${uid} (${bytes} bytes), which in this job reads no such state: give it the windows that it had, or another uid, or allow non-restored state (--allow-non-restored-state)`,
    { details: { uid, state, bytes } },
  )
}

function unclaimedState(uid: string, { state, bytes }: DroppedEntries): WeirError {
  return new WeirError(
    'STATE_LEFT_OVER',
    `the checkpoint holds state "${state}" of operator ${uid} (${bytes} bytes), which the operator does not declare when it opens; give the state its old name, or allow non-restored state (--allow-non-restored-state)`,
    { details: { uid, state, bytes } },
  )
}

/** Lets operators fire the timers that were restored after they opened, and schedule the next one. */
function rearmTimers(built: readonly BuiltSubtask[], host: SubtaskHost): void {
  for (const { subtask } of built) {
    for (const task of subtask.operators) {
      if (task.keyedState !== undefined) subtask.scheduleProcessingTime(task, host.clock.nowMs())
    }
  }
}
