import { numberIn, oneOf } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { agreeingShare, classOf, meanScores, requireOutputs, rewardsOfArms } from './answers.ts'
import {
  type ArmRows,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import { afterLosses, afterSharing, newcomerWeight, sharesOf } from './log-weights.ts'
import type { ArmOutput, Combined, Selection, Selector } from './selector.ts'

/** Options of `exp4`. */
export interface Exp4Options {
  /** Size of a step. @default 0.05 */
  readonly eta?: number
  /** Share of its weight that each arm gives to all after a reward; 0 for the printed form. @default 0.001 */
  readonly share?: number
  /** Whether the answer is the mean of the scores by weight, or the class with the most weight. @default 'scores' */
  readonly by?: 'scores' | 'votes'
}

const EXP4: OptionShape<Exp4Options> = {
  eta: numberIn({ above: 0, max: 10 }),
  share: numberIn({ min: 0, below: 1 }),
  by: oneOf('scores', 'votes'),
}

/**
 * All models at each request, combined by weights; each model with an output loses weight by its own loss,
 * exp(-eta loss): Exp4 as Clipper prints it (NSDI 2017, section 5.2, after Auer et al. 2002, section 7). The printed
 * form needs as many requests to forget a failure as the failure had; a fixed share forgets it within 1 / share. State:
 * the log weight of each arm.
 */
export function exp4(options: Exp4Options = {}): Selector {
  checkOptions('exp4', EXP4, options)
  const { eta = 0.05, share = 0.001, by = 'scores' } = options
  const rows: ArmRows = { selector: 'exp4', perArm: 1 }
  return {
    name: 'exp4',
    init: (arms) => new Float32Array(arms),
    select(state, facts) {
      requireFacts(rows, state, facts)
      const run = facts.arms.map((_, arm) => arm)
      return { run, mirrors: [], probabilities: sharesOf(state), explored: false }
    },
    combine(state, selection, outputs) {
      requireSelection(rows, state, selection)
      return combined(selection, outputs, by)
    },
    observe(state, choice) {
      requireObserved(rows, state, choice)
      if (choice.outputs.length === 0) return state.slice()
      // The weights at the choice say what was answered, whatever was learned since.
      const answer = classOf(combined(choice.selection, choice.outputs, by).scores)
      const rewards = rewardsOfArms(choice, answer)
      if (rewards.length === 0) return state.slice()
      const losses = rewards.map(([arm, reward]) => [arm, eta * (1 - reward)] as const)
      return afterSharing(afterLosses(state, losses), share)
    },
    resize: (state, before, after) => resizedRow(rows, state, before, after, newcomerWeight),
  }
}

function combined(
  selection: Selection,
  outputs: readonly ArmOutput[],
  by: 'scores' | 'votes',
): Combined {
  requireOutputs('exp4', selection.probabilities.length, outputs)
  const weightOf = (arm: number): number => selection.probabilities[arm]!
  const scores = by === 'scores' ? meanScores(outputs, weightOf) : votedScores(outputs, weightOf)
  const confidence = agreeingShare(selection, outputs, classOf(scores))
  return { scores, arm: outputs.length === 1 ? outputs[0].arm : undefined, confidence }
}

/** The mean of those outputs that say the class with the most weight: its largest score is that class. */
function votedScores(
  outputs: readonly [ArmOutput, ...ArmOutput[]],
  weightOf: (arm: number) => number,
): Float32Array {
  const own = outputs.filter(({ isMean }) => isMean !== true)
  const [first, ...others] = own.length > 0 ? own : outputs
  if (first === undefined) return meanScores(outputs, weightOf)
  const voters = [first, ...others]
  const weights = new Map<number, number>()
  for (const { arm, scores } of voters) {
    const voted = classOf(scores)
    weights.set(voted, (weights.get(voted) ?? 0) + weightOf(arm))
  }
  const winner = [...weights].reduce((best, one) => (one[1] > best[1] ? one : best))[0]
  const [head, ...rest] = voters.filter(({ scores }) => classOf(scores) === winner)
  return meanScores([head ?? first, ...rest], weightOf)
}
