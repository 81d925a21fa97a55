import { numberIn, oneOf } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { answeredArm, onlyAnswer } from './answers.ts'
import {
  type ArmRows,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import { afterLosses, afterSharing, draw, newcomerWeight, sharesOf } from './log-weights.ts'
import type { Selector } from './selector.ts'

/** Options of `exp3`. */
export interface Exp3Options {
  /** Size of a step, for `losses`. @default 0.05 */
  readonly eta?: number
  /** Which of the two printed forms: Clipper's over losses, or the one of Auer et al. over gains. @default 'losses' */
  readonly form?: 'losses' | 'gains'
  /** Share of choices that are uniform, which is the step too, for `gains`. @default 0.1 */
  readonly gamma?: number
}

/** Options of `exp3Ix`. */
export interface Exp3IxOptions {
  /** Size of a step. @default 0.02 */
  readonly eta?: number
  /** What is added to the probability of the choice, so that no step is longer than eta / ix. @default 0.01 */
  readonly ix?: number
  /** Share of its weight that each arm gives to all after a reward; 0 for the paper's form. @default 0.0001 */
  readonly share?: number
}

const EXP3: OptionShape<Exp3Options> = {
  eta: numberIn({ above: 0, max: 10 }),
  form: oneOf('losses', 'gains'),
  gamma: numberIn({ above: 0, max: 1 }),
}
const EXP3_IX: OptionShape<Exp3IxOptions> = {
  eta: numberIn({ above: 0, max: 10 }),
  ix: numberIn({ above: 0, max: 1 }),
  share: numberIn({ min: 0, below: 1 }),
}

/**
 * One model by request, drawn by weights that a loss takes down by exp(-eta loss / p), p being its probability at the
 * choice: Exp3 as Clipper prints it (NSDI 2017, section 5.1), or with `form: 'gains'` as Auer, Cesa-Bianchi, Freund and
 * Schapire do ("The nonstochastic multiarmed bandit problem", SIAM J. Computing 32, 2002, section 3, figure 1). State:
 * the log weight of each arm.
 */
export function exp3(options: Exp3Options = {}): Selector {
  checkOptions('exp3', EXP3, options)
  const { eta = 0.05, form = 'losses', gamma = 0.1 } = options
  if (form === 'losses') {
    return weighted('exp3', {
      uniform: 0,
      exponent: (reward, probability) => (eta * (1 - reward)) / probability,
      share: 0,
    })
  }
  return weighted('exp3', {
    uniform: gamma,
    exponent: (reward, probability, arms) => -(gamma * reward) / (probability * arms),
    share: 0,
  })
}

/**
 * One model by request, as Exp3 chooses it, with steps that are bounded: exp(-eta loss / (p + ix)) (Neu, "Explore no
 * more: improved high-probability regret bounds for non-stochastic bandits", NIPS 2015, algorithm 1). A fixed share lets
 * a model that was broken come back. State: the log weight of each arm.
 */
export function exp3Ix(options: Exp3IxOptions = {}): Selector {
  checkOptions('exp3Ix', EXP3_IX, options)
  const { eta = 0.02, ix = 0.01, share = 1e-4 } = options
  return weighted('exp3-ix', {
    uniform: 0,
    exponent: (reward, probability) => (eta * (1 - reward)) / (probability + ix),
    share,
  })
}

/** What the forms of Exp3 differ in. */
interface WeightRule {
  /** Share of choices that are uniform. */
  readonly uniform: number
  /** What a reward takes from the log weight of the arm that had it. */
  readonly exponent: (reward: number, probability: number, arms: number) => number
  readonly share: number
}

/** Longest step of a log weight: with Exp3's own rule a step has no bound. */
const LONGEST = 1e30

function weighted(name: string, { uniform: gamma, exponent, share }: WeightRule): Selector {
  const rows: ArmRows = { selector: name, perArm: 1 }
  return {
    name,
    init: (arms) => new Float32Array(arms),
    select(state, facts) {
      requireFacts(rows, state, facts)
      const probabilities = sharesOf(state).map((s) => (1 - gamma) * s + gamma / state.length)
      const arm = draw(probabilities, facts.random)
      return { run: [arm], mirrors: [], probabilities, explored: false }
    },
    combine(state, selection, outputs) {
      requireSelection(rows, state, selection)
      return onlyAnswer(name, selection, outputs)
    },
    observe(state, choice) {
      requireObserved(rows, state, choice)
      const arm = answeredArm(choice)
      if (arm === undefined) return state.slice()
      const probability = choice.selection.probabilities[arm]!
      const step = exponent(choice.reward, probability, state.length)
      const bounded = Math.max(-LONGEST, Math.min(LONGEST, step))
      return afterSharing(afterLosses(state, [[arm, bounded]]), share)
    },
    resize: (state, before, after) => resizedRow(rows, state, before, after, newcomerWeight),
  }
}
