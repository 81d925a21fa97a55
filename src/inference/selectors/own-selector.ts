import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import type { Selection, Selector, SelectorState } from './selector.ts'

const REQUIRED = ['init', 'select', 'combine', 'observe'] as const
const OPTIONAL = ['resize', 'enough'] as const
/** How far the sum of probabilities may be from 1. */
const SUM_SLACK = 1e-3

/**
 * The selector that a user's module exports, checked: its functions are there, and each answer of them is checked where
 * it is used, so that a fault of it is its own. `where` is the export as messages name it, such as `bandit.ts#mine`.
 * Throws INVALID_ARGUMENT with the function that is missing.
 */
export function ownSelector(given: unknown, where: string): Selector {
  requireFunctions(given, where)
  return {
    name: given.name,
    init: (arms) => checkedState(where, 'init', given.init(arms)),
    select: (state, facts) =>
      checkedSelection(where, facts.arms.length, given.select(state.slice(), facts)),
    combine: (state, selection, outputs) => {
      const combined = given.combine(state.slice(), selection, outputs)
      const isRight =
        combined?.scores instanceof Float32Array &&
        allFinite(combined.scores) &&
        combined.confidence >= 0 &&
        combined.confidence <= 1
      if (isRight) return combined
      throw wrongAnswer(where, 'combine', 'finite scores and a confidence from 0 to 1')
    },
    observe: (state, choice) => {
      const next = checkedState(where, 'observe', given.observe(state.slice(), choice))
      if (next.length === state.length) return next
      throw new WeirError(
        'DIMENSION_MISMATCH',
        `the selector ${where} made a row of ${state.length} numbers into one of ${next.length}: only resize may change the length`,
      )
    },
    ...(given.resize && {
      resize: (state, before, after) =>
        checkedState(where, 'resize', given.resize?.(state.slice(), before, after)),
    }),
    ...(given.enough && {
      enough: (state, selection, outputs) => given.enough?.(state, selection, outputs) === true,
    }),
  }
}

function requireFunctions(given: unknown, where: string): asserts given is Selector {
  // Methods of a class are no properties of its object's own.
  const part = (name: string): unknown =>
    typeof given === 'object' && given !== null ? Reflect.get(given, name) : undefined
  const missing = REQUIRED.filter((name) => typeof part(name) !== 'function')
  if (missing.length > 0) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${where} is no selector, since it lacks the function ${missing.join(', ')}: export { name, init, select, combine, observe }`,
    )
  }
  if (typeof part('name') !== 'string' || part('name') === '') {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `the selector ${where} needs a name, a text, not ${describeValue(part('name'))}`,
    )
  }
  for (const name of OPTIONAL) {
    const one = part(name)
    if (one === undefined || typeof one === 'function') continue
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${name} of the selector ${where} must be a function or left out, not ${describeValue(one)}`,
    )
  }
}

function checkedState(where: string, call: string, state: unknown): SelectorState {
  if (!(state instanceof Float32Array)) {
    throw wrongAnswer(where, call, `a Float32Array, not ${describeValue(state)}`)
  }
  if (allFinite(state)) return state
  throw new WeirError(
    'NOT_FINITE',
    `${call} of the selector ${where} answered a row with a number that is not finite: the row before stays`,
  )
}

function checkedSelection(where: string, arms: number, selection: Selection): Selection {
  const { run, mirrors, probabilities } = selection ?? {}
  const isArm = (arm: unknown): boolean =>
    typeof arm === 'number' && Number.isInteger(arm) && arm >= 0 && arm < arms
  if (!Array.isArray(run) || run.length === 0 || !run.every(isArm)) {
    throw wrongAnswer(where, 'select', `at least one arm from 0 to ${arms - 1} in run`)
  }
  if (!Array.isArray(mirrors) || !mirrors.every(isArm)) {
    throw wrongAnswer(where, 'select', `arms from 0 to ${arms - 1} in mirrors`)
  }
  const isShare =
    probabilities instanceof Float32Array &&
    probabilities.length === arms &&
    probabilities.every((p) => p >= 0) &&
    Math.abs(probabilities.reduce((a, b) => a + b, 0) - 1) <= SUM_SLACK
  if (isShare) return { ...selection, explored: selection.explored === true }
  throw wrongAnswer(where, 'select', `a probability for each of ${arms} arms, which sum to 1`)
}

function wrongAnswer(where: string, call: string, wanted: string): WeirError {
  return new WeirError('INVALID_ARGUMENT', `${call} of the selector ${where} must answer ${wanted}`)
}
