import { WeirError } from '../../core/errors.ts'
import { allFinite } from '../../core/numbers/all-finite.ts'
import { numberIn, required, wholeNumber } from '../../core/options/kinds.ts'
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
import { draw } from './log-weights.ts'
import { addToFactor, dotOf, factorLength, solveLower, solveRidge } from './ridge-row.ts'
import type { Selector } from './selector.ts'

/** Options of `linUcb`. */
export interface LinUcbOptions {
  /** How many features a request has. */
  readonly features: number
  /** Widths of the bound above the prediction: more explores more. @default 0.5 */
  readonly alpha?: number
  /** Weight of the ridge. @default 1 */
  readonly lambda?: number
}

const LIN_UCB: OptionShape<LinUcbOptions> = {
  features: required(wholeNumber({ min: 1, max: 64 })),
  alpha: numberIn({ min: 0, max: 100 }),
  lambda: numberIn({ above: 0 }),
}

/**
 * One model by request: the one with the largest w.f + alpha sqrt(f' A^-1 f), where A = lambda I + sum of f f' and w =
 * A^-1 b of each arm (Li, Chu, Langford and Schapire, "A contextual-bandit approach to personalized news article
 * recommendation", WWW 2010, algorithm 1; the paper has lambda 1). Equal bounds are drawn uniformly, and nothing else is:
 * for a judgement off the policy, let it explore. State: for each arm the Cholesky factor of A by rows, and b.
 */
export function linUcb(options: LinUcbOptions): Selector {
  checkOptions('linUcb', LIN_UCB, options)
  const { features: size, alpha = 0.5, lambda = 1 } = options
  const factor = factorLength(size)
  const rows: ArmRows = { selector: 'linucb', perArm: factor + size }
  const fresh = new Float32Array(rows.perArm)
  for (let i = 0; i < size; i++) fresh[factorLength(i) + i] = Math.sqrt(lambda)
  const boundOf = (numbers: Float32Array, features: Float32Array): number => {
    const f = solveLower(numbers, features)
    const b = solveLower(numbers, numbers.subarray(factor))
    return dotOf(b, f) + alpha * Math.sqrt(dotOf(f, f))
  }
  /** Begins at the mean weights of the arms that stay, as sure of them as of none: its bound is the widest. */
  const newcomer = (kept: readonly Float32Array[]): Float32Array => {
    const numbers = fresh.slice()
    for (const one of kept) {
      for (const [i, weight] of solveRidge(one, one.subarray(factor)).entries()) {
        numbers[factor + i] = numbers[factor + i]! + (lambda * weight) / kept.length
      }
    }
    return numbers
  }
  return {
    name: 'linucb',
    init(arms) {
      const row = new Float32Array(rows.perArm * arms)
      for (let arm = 0; arm < arms; arm++) row.set(fresh, arm * rows.perArm)
      return row
    },
    select(state, facts) {
      requireFacts(rows, state, facts)
      const features = requireFeatures(facts.features, size)
      const bounds = facts.arms.map((_, arm) => boundOf(armOf(rows, state, arm), features))
      const largest = Math.max(...bounds)
      const best = bounds.filter((bound) => bound === largest).length
      const probabilities = Float32Array.from(bounds, (b) => (b === largest ? 1 / best : 0))
      return {
        run: [draw(probabilities, facts.random)],
        mirrors: [],
        probabilities,
        explored: false,
      }
    },
    combine(state, selection, outputs) {
      requireSelection(rows, state, selection)
      return onlyAnswer('linucb', selection, outputs)
    },
    observe(state, choice) {
      requireObserved(rows, state, choice)
      const features = requireFeatures(choice.features, size)
      const next = state.slice()
      const arm = answeredArm(choice)
      if (arm === undefined) return next
      const numbers = armOf(rows, next, arm)
      addToFactor(numbers, features)
      for (const [i, feature] of features.entries()) {
        numbers[factor + i] = numbers[factor + i]! + choice.reward * feature
      }
      return next
    },
    resize: (state, before, after) => resizedRow(rows, state, before, after, newcomer),
  }
}

function requireFeatures(features: Float32Array | undefined, size: number): Float32Array {
  if (features === undefined || features.length !== size) {
    const given = features === undefined ? 'none' : features.length
    throw new WeirError(
      'DIMENSION_MISMATCH',
      `the selector linucb chooses by ${size} features, and the request has ${given}: give it as many`,
    )
  }
  if (allFinite(features)) return features
  throw new WeirError(
    'NOT_FINITE',
    'a feature of the request is not finite: the selector linucb cannot choose by it',
  )
}
