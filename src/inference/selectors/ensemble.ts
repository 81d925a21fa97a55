import { numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { agreeingShare, classOf, meanScores, requireOutputs, rewardsOfArms } from './answers.ts'
import {
  type ArmRows,
  armOf,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import type { ArmOutput, Combined, Selection, Selector, SelectorState } from './selector.ts'

/** Options of `ensemble`. */
export interface EnsembleOptions {
  /** What the counts of all arms keep of themselves at each reward; 1 for counts that never fade. @default 0.999 */
  readonly discount?: number
}

const ENSEMBLE: OptionShape<EnsembleOptions> = { discount: numberIn({ above: 0, max: 1 }) }
/** Faded count of rewards, and faded sum of them. */
const ROWS: ArmRows = { selector: 'ensemble', perArm: 2 }

/**
 * All models, and the class that most of them say; of several classes with as many votes, the one that the most accurate
 * of their models says (Wang et al., "Rafiki: machine learning as an analytics service system", VLDB 2018, section 5.2).
 * The scores are the mean of those models. State: faded count and sum of rewards of each arm; the accuracy of an arm is
 * (sum + 1) / (count + 2), so that one of which nothing is known counts as a half.
 */
export function ensemble(options: EnsembleOptions = {}): Selector {
  checkOptions('ensemble', ENSEMBLE, options)
  const { discount = 0.999 } = options
  return {
    name: 'ensemble',
    init: (arms) => new Float32Array(ROWS.perArm * arms),
    select(state, facts) {
      requireFacts(ROWS, state, facts)
      const run = facts.arms.map((_, arm) => arm)
      const probabilities = new Float32Array(run.length).fill(1 / run.length)
      return { run, mirrors: [], probabilities, explored: false }
    },
    combine(state, selection, outputs) {
      requireSelection(ROWS, state, selection)
      return majority(state, selection, outputs)
    },
    observe(state, choice) {
      requireObserved(ROWS, state, choice)
      if (choice.outputs.length === 0) return state.slice()
      const answer = classOf(majority(state, choice.selection, choice.outputs).scores)
      const rewards = rewardsOfArms(choice, answer)
      if (rewards.length === 0) return state.slice()
      const next = state.map((sum) => sum * discount)
      for (const [arm, reward] of rewards) {
        const numbers = armOf(ROWS, next, arm)
        numbers.set([numbers[0]! + 1, numbers[1]! + reward])
      }
      return next
    },
    resize: (state, before, after) =>
      resizedRow(ROWS, state, before, after, () => new Float32Array(ROWS.perArm)),
  }
}

function majority(
  state: SelectorState,
  selection: Selection,
  outputs: readonly ArmOutput[],
): Combined {
  requireOutputs('ensemble', selection.probabilities.length, outputs)
  const own = outputs.filter(({ isMean }) => isMean !== true)
  const first = own[0]
  if (first === undefined) {
    return { scores: meanScores(outputs, () => 1), arm: undefined, confidence: 0 }
  }
  const votes = new Map<number, number>()
  for (const { scores } of own) votes.set(classOf(scores), (votes.get(classOf(scores)) ?? 0) + 1)
  const most = Math.max(...votes.values())
  const winners = own.filter(({ scores }) => votes.get(classOf(scores)) === most)
  const best = winners.reduce((a, b) =>
    accuracyOf(state, b.arm) > accuracyOf(state, a.arm) ? b : a,
  )
  const answer = classOf(best.scores)
  const [head, ...rest] = own.filter(({ scores }) => classOf(scores) === answer)
  const scores = meanScores([head ?? best, ...rest], () => 1)
  const arm = own.length === 1 ? first.arm : undefined
  return { scores, arm, confidence: agreeingShare(selection, outputs, answer) }
}

function accuracyOf(state: SelectorState, arm: number): number {
  const [count = 0, sum = 0] = armOf(ROWS, state, arm)
  return (sum + 1) / (count + 2)
}
