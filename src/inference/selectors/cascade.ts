import { requireArgument, WeirError } from '../../core/errors.ts'
import { either, listOf, numberIn, oneOf } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { certaintyOf, requireOutputs } from './answers.ts'
import {
  type ArmRows,
  armOf,
  requireFacts,
  requireObserved,
  requireSelection,
  resizedRow,
} from './arm-rows.ts'
import type { ArmOutput, Selector } from './selector.ts'

/** Options of `cascade`. */
export interface CascadeOptions {
  /**
   * Confidence from which an output is the answer, and no further arm runs: of all arms, or of each in their order, the
   * last of the list for those behind. @default 0.8
   */
  readonly threshold?: number | readonly number[]
  /** What the scores of arms are: probabilities, or numbers that a softmax makes into them. @default 'probabilities' */
  readonly scores?: 'probabilities' | 'logits'
}

const SHARE = numberIn({ min: 0, max: 1 })
const CASCADE: OptionShape<CascadeOptions> = {
  threshold: either(SHARE, listOf(SHARE)),
  scores: oneOf('probabilities', 'logits'),
}
/** How often the arm answered, and the mean reward of it. */
const ROWS: ArmRows = { selector: 'cascade', perArm: 2 }

/**
 * The first arm, which is the cheap one, and the next one where its confidence is below a threshold (Viola and Jones,
 * "Rapid object detection using a boosted cascade of simple features", CVPR 2001, section 4; for models of any kind: Chen,
 * Zaharia and Zou, "FrugalGPT", 2023, section 3). The answer is that of the last arm that ran. Which arm answers is no
 * matter of chance, so the probability of the first arm is 1. `cascadeThreshold` finds the threshold for an accuracy.
 * State: how often each arm answered, and its mean reward, which no choice reads.
 */
export function cascade(options: CascadeOptions = {}): Selector {
  checkOptions('cascade', CASCADE, options)
  const { threshold = 0.8, scores: kind = 'probabilities' } = options
  const thresholds = typeof threshold === 'number' ? [threshold] : threshold
  requireArgument(thresholds.length > 0, 'cascade: threshold must not be an empty list')
  return {
    name: 'cascade',
    init: (arms) => new Float32Array(ROWS.perArm * arms),
    select(state, facts) {
      requireFacts(ROWS, state, facts)
      const run = facts.arms.map((_, arm) => arm)
      const probabilities = Float32Array.from(run, (arm) => (arm === 0 ? 1 : 0))
      return { run, mirrors: [], probabilities, explored: false }
    },
    enough(state, selection, outputs) {
      requireSelection(ROWS, state, selection)
      requireOutputs('cascade', selection.probabilities.length, outputs)
      const last = lastOf(outputs, selection.run)
      if (last.isMean === true) return false
      return confidenceOf(last, kind) >= (thresholds[last.arm] ?? thresholds.at(-1)!)
    },
    combine(state, selection, outputs) {
      requireSelection(ROWS, state, selection)
      requireOutputs('cascade', selection.probabilities.length, outputs)
      const last = lastOf(outputs, selection.run)
      const confidence = last.isMean === true ? 0 : confidenceOf(last, kind)
      return { scores: last.scores, arm: last.arm, confidence }
    },
    observe(state, choice) {
      requireObserved(ROWS, state, choice)
      const next = state.slice()
      const own = choice.outputs.filter(({ isMean }) => isMean !== true)
      if (own.length === 0) return next
      const numbers = armOf(ROWS, next, lastOf(own, choice.selection.run).arm)
      const [n = 0, mean = 0] = numbers
      numbers.set([n + 1, mean + (choice.reward - mean) / (n + 1)])
      return next
    },
    resize: (state, before, after) =>
      resizedRow(ROWS, state, before, after, () => new Float32Array(ROWS.perArm)),
  }
}

/** One answer of a cheap arm on a golden set. */
export interface CascadeSample {
  readonly confidence: number
  readonly isRight: boolean
}

/**
 * The least threshold at which the answers that an arm keeps are right as often as wanted, 0 to 1; `Infinity`, which
 * keeps none, where no threshold is enough.
 */
export function cascadeThreshold(samples: readonly CascadeSample[], accuracy: number): number {
  const sorted = samples.toSorted((a, b) => b.confidence - a.confidence)
  let right = 0
  let least = Infinity
  for (const [i, { confidence, isRight }] of sorted.entries()) {
    if (isRight) right++
    // Samples of one confidence are kept or passed on together.
    const isLastOfValue = sorted[i + 1]?.confidence !== confidence
    if (isLastOfValue && right >= accuracy * (i + 1)) least = confidence
  }
  return least
}

function lastOf(outputs: readonly ArmOutput[], order: readonly number[]): ArmOutput {
  return outputs.reduce((last, one) =>
    order.indexOf(one.arm) > order.indexOf(last.arm) ? one : last,
  )
}

function confidenceOf({ arm, scores }: ArmOutput, kind: 'probabilities' | 'logits'): number {
  if (kind === 'logits') return softmaxOfLargest(scores)
  const certainty = certaintyOf(scores)
  if (certainty !== undefined) return certainty
  throw new WeirError(
    'INVALID_ARGUMENT',
    `the scores of arm ${arm} are no probabilities, by which a cascade says whether it is sure: let the model answer probabilities, or set scores to 'logits'`,
  )
}

function softmaxOfLargest(scores: Float32Array): number {
  if (scores.length === 1) return 1 / (1 + Math.exp(-Math.abs(scores[0]!)))
  const largest = Math.max(...scores)
  return 1 / scores.reduce((sum, score) => sum + Math.exp(score - largest), 0)
}
