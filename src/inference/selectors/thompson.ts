import { numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { answeredArm, onlyAnswer } from './answers.ts'
import {
  type ArmRows,
  armOf,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import { betaWinners } from './beta-winners.ts'
import { draw } from './log-weights.ts'
import type { Selector } from './selector.ts'

/** Options of `thompson`. */
export interface ThompsonOptions {
  /** What the counts of all arms keep of themselves at each reward; 1 for the paper's form. @default 0.999 */
  readonly discount?: number
}

const THOMPSON: OptionShape<ThompsonOptions> = { discount: numberIn({ above: 0, max: 1 }) }
/** Rewards, and what was missing from 1. */
const ROWS: ArmRows = { selector: 'thompson', perArm: 2 }

/**
 * One model by request, drawn with the probability that it is the best one: Beta(1 + rewards, 1 + what was missing) of
 * each arm (Chapelle and Li, "An empirical evaluation of Thompson sampling", NIPS 2011, algorithm 2). The probability is
 * an integral and the arm is drawn by it, so that a decision knows it. A reward between 0 and 1 counts as a part of each
 * (expectation of the coin of Agrawal and Goyal, COLT 2012, algorithm 2). Counts fade, for rewards that change (Garivier
 * and Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011, section 2, discounts). State:
 * two faded sums for each arm.
 */
export function thompson(options: ThompsonOptions = {}): Selector {
  checkOptions('thompson', THOMPSON, options)
  const { discount = 0.999 } = options
  return {
    name: 'thompson',
    init: (arms) => new Float32Array(ROWS.perArm * arms),
    select(state, facts) {
      requireFacts(ROWS, state, facts)
      const probabilities = betaWinners(facts.arms.map((_, arm) => armOf(ROWS, state, arm)))
      return {
        run: [draw(probabilities, facts.random)],
        mirrors: [],
        probabilities,
        explored: false,
      }
    },
    combine(state, selection, outputs) {
      requireSelection(ROWS, state, selection)
      return onlyAnswer('thompson', selection, outputs)
    },
    observe(state, choice) {
      requireObserved(ROWS, state, choice)
      const arm = answeredArm(choice)
      if (arm === undefined) return state.slice()
      const next = state.map((sum) => sum * discount)
      const at = arm * ROWS.perArm
      next[at] = next[at]! + choice.reward
      next[at + 1] = next[at + 1]! + (1 - choice.reward)
      return next
    },
    resize: (state, before, after) =>
      resizedRow(ROWS, state, before, after, () => new Float32Array(ROWS.perArm)),
  }
}
