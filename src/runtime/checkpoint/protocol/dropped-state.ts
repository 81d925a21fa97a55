import { WeirError } from '../../../core/errors.ts'
import type { CheckpointManifest, OperatorManifest } from './checkpoint-types.ts'

/** State of a checkpoint that a restore leaves out, because nothing in the job claims it. */
export interface DroppedState {
  readonly uid: string
  /** Undefined for all state of the operator, or all its keyed state. */
  readonly state: string | undefined
  /** Bytes that the checkpoint has of it, older values of a key included. */
  readonly bytes: number
}

/** An operator of the job, for the question of what it claims. */
interface ClaimingOperator {
  readonly uid: string
  /** Whether it has keyed state; true where it is not said. */
  readonly isKeyed?: boolean | undefined
}

/**
 * State of operators that the job does not have, and keyed state of those whose input has no key any more. `aboutState`: as
 * in `RestoreOptions`.
 */
export function unclaimedOperators(
  manifest: CheckpointManifest,
  operators: readonly ClaimingOperator[],
  aboutState?: string,
): readonly DroppedState[] {
  const byUid = new Map(operators.map((operator) => [operator.uid, operator]))
  return manifest.operators.flatMap((stored) => {
    const operator = byUid.get(stored.uid)
    const isUnclaimed =
      operator === undefined ? hasState(stored, aboutState) : hasLostKeys(stored, operator)
    if (!isUnclaimed) return []
    const bytes = operator === undefined ? stateBytes(stored) : keyedBytes(stored)
    return [{ uid: stored.uid, state: undefined, bytes }]
  })
}

/** Whether an operator that has keyed state in the checkpoint keeps none in the job. */
export function hasLostKeys(stored: OperatorManifest, operator: ClaimingOperator): boolean {
  return operator.isKeyed === false && stored.segments.some(({ entries }) => entries > 0)
}

/**
 * Whether an operator has state in the checkpoint. States whose names begin with `aboutState` describe other states, and do
 * not count.
 */
export function hasState(operator: OperatorManifest, aboutState?: string): boolean {
  const entries = operator.operatorState
    .flat()
    .some(
      (state) =>
        state.entries.length > 0 &&
        (aboutState === undefined || !state.name.startsWith(aboutState)),
    )
  return entries || operator.segments.length > 0
}

/** One warning for each state that the slots of an attempt have left out, with its bytes in all slots. */
export function droppedWarnings(dropped: readonly DroppedState[]): readonly WeirError[] {
  const sums = new Map<string, DroppedState>()
  for (const { uid, state, bytes } of dropped) {
    const key = JSON.stringify([uid, state])
    sums.set(key, { uid, state, bytes: bytes + (sums.get(key)?.bytes ?? 0) })
  }
  return [...sums.values()].map(droppedWarning)
}

function droppedWarning({ uid, state, bytes }: DroppedState): WeirError {
  const what =
    state === undefined ? `the state of operator ${uid}` : `state "${state}" of operator ${uid}`
  return new WeirError(
    'STATE_LEFT_OVER',
    `dropped ${what} (${bytes} bytes), which the job does not declare: the next checkpoint is without it, and after that no start needs --allow-non-restored-state`,
    { details: { uid, bytes, ...(state === undefined ? {} : { state }) } },
  )
}

/** Bytes that the checkpoint has of an operator's state, older values of a key included. */
export function stateBytes(operator: OperatorManifest): number {
  return keyedBytes(operator) + unkeyedBytes(operator)
}

/** As `stateBytes`, of keyed state alone. */
export function keyedBytes({ segments }: Pick<OperatorManifest, 'segments'>): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0)
}

function unkeyedBytes({ operatorState }: OperatorManifest): number {
  const entries = operatorState.flat().flatMap((state) => state.entries)
  return entries.reduce((sum, entry) => sum + entry.length, 0)
}
