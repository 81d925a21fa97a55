import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import type { ObservedChoice, Selection, SelectionFacts, SelectorState } from './selector.ts'

/** The layout of a state: so many numbers for each arm, arm by arm. */
export interface ArmRows {
  readonly selector: string
  readonly perArm: number
}

/**
 * Throws DIMENSION_MISMATCH unless a row is that of so many arms, and NOT_FINITE where it has a NaN or infinite number.
 */
export function requireRow(rows: ArmRows, state: SelectorState, arms: number): void {
  const length = rows.perArm * arms
  if (arms < 1 || state.length !== length) {
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `the selector ${rows.selector} has ${length} numbers for ${arms} arms, and the row given has ${state.length}: resize it by the names of its arms, or begin with init`,
    )
  }
  if (!allFinite(state)) {
    throw new WeirError(
      'NOT_FINITE',
      `the row of the selector ${rows.selector} has a number that is not finite: begin with init`,
    )
  }
}

/** Throws unless the state is that of the arms of a choice to be made. */
export function requireFacts(rows: ArmRows, state: SelectorState, facts: SelectionFacts): void {
  requireRow(rows, state, facts.arms.length)
}

/** Throws unless the state is that of the arms of a selection. */
export function requireSelection(rows: ArmRows, state: SelectorState, selection: Selection): void {
  requireRow(rows, state, selection.probabilities.length)
}

/**
 * Throws unless the state is that of the arms of an observed choice, and its reward is a number from 0 to 1
 * (`NOT_FINITE`, `INVALID_ARGUMENT`).
 */
export function requireObserved(rows: ArmRows, state: SelectorState, choice: ObservedChoice): void {
  requireRow(rows, state, choice.arms.length)
  if (choice.selection.probabilities.length !== choice.arms.length) {
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `an observed choice has ${choice.arms.length} arms and ${choice.selection.probabilities.length} probabilities: give those of the choice`,
    )
  }
  const { reward } = choice
  if (!Number.isFinite(reward)) {
    throw new WeirError('NOT_FINITE', `the reward ${reward} is not finite: give one from 0 to 1`)
  }
  if (reward < 0 || reward > 1) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the reward ${reward} is not from 0 to 1: scale it by the range that it is declared with`,
    )
  }
}

/** The numbers of one arm: a view into the row. */
export function armOf(rows: ArmRows, state: SelectorState, arm: number): Float32Array {
  return state.subarray(arm * rows.perArm, (arm + 1) * rows.perArm)
}

/**
 * The row after arms came or went, by name. `newcomer` gives the numbers of one that comes, from those of the arms that
 * stay.
 */
export function resizedRow(
  rows: ArmRows,
  state: SelectorState,
  before: readonly string[],
  after: readonly string[],
  newcomer: (kept: readonly Float32Array[]) => Float32Array,
): SelectorState {
  requireRow(rows, state, before.length)
  requireNames(rows.selector, before)
  requireNames(rows.selector, after)
  const places = after.map((name) => before.indexOf(name))
  const kept = places.filter((place) => place >= 0).map((place) => armOf(rows, state, place))
  const row = new Float32Array(rows.perArm * after.length)
  for (const [arm, place] of places.entries()) {
    row.set(place < 0 ? newcomer(kept) : armOf(rows, state, place), arm * rows.perArm)
  }
  return row
}

function requireNames(selector: string, arms: readonly string[]): void {
  if (arms.length > 0 && new Set(arms).size === arms.length) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the selector ${selector} needs at least one arm, each with a name of its own, not [${arms.join(', ')}]`,
  )
}
