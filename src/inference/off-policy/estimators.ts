import { WeirError } from '../../core/errors.ts'
import type { Random } from '../../core/random.ts'

/** One choice of the decision log with its reward, as a candidate is judged by it. */
export interface LoggedChoice {
  /** Probability, at the moment of the choice, of the arm that answered: above 0, at most 1. */
  readonly probability: number
  /** Probability with which the candidate would have chosen this arm, 0 to 1. */
  readonly candidate: number
  /** 0 to 1. */
  readonly reward: number
  /** What a model of rewards expects of this arm here: for the doubly robust estimate. */
  readonly expected?: number
  /** What the model of rewards expects of the candidate here: the mean over its arms by its probabilities. */
  readonly expectedOfCandidate?: number
}

/** Ways of estimating what a candidate would have earned a request. */
export type Estimator = 'ips' | 'self-normalised' | 'doubly-robust'

/** Value of a candidate, judged by what another policy chose. */
export interface OffPolicyValue {
  readonly estimator: Estimator
  /** Estimated mean reward of a request. */
  readonly value: number
  /** The interval that has the true value with the wanted confidence. */
  readonly low: number
  readonly high: number
  /**
   * Number of requests that would say as much if the candidate had chosen: (sum of w)^2 / sum of w^2 (Kish, "Survey
   * sampling", 1965). Where it is small beside `choices`, the log says little about the candidate.
   */
  readonly effectiveSamples: number
  readonly choices: number
  /** Largest weight of one choice: a few large ones carry an estimate that cannot be trusted. */
  readonly largestWeight: number
}

/** Options of `offPolicyValue`. */
export interface OffPolicyOptions {
  readonly random: Random
  /** @default 'self-normalised' */
  readonly estimator?: Estimator
  /** Confidence of the interval. @default 0.95 */
  readonly confidence?: number
  /** Resamples of the bootstrap. @default 1000 */
  readonly resamples?: number
}

/** Blocks of the log that are resampled, at most: more of them take time and make the interval no better. */
const BLOCKS = 500

/** Sums of a block of choices, from which an estimate is made. */
interface Sums {
  readonly n: number
  readonly weights: number
  readonly weighted: number
  readonly robust: number
}

/**
 * The mean reward that a candidate would have had on the requests of a log: inverse propensity scores (Horvitz and
 * Thompson 1952; for policies: Li et al., "Unbiased offline evaluation of contextual-bandit-based news article
 * recommendation", WSDM 2011), self-normalised (Swaminathan and Joachims, "The self-normalized estimator for
 * counterfactual learning", NIPS 2015, section 4), or doubly robust (Dudik, Langford and Li, "Doubly robust policy
 * evaluation and learning", ICML 2011, equation 3). The interval is that of the percentile bootstrap (Efron 1979), over
 * blocks of choices that are dealt in turn where there are more than 500. Throws INVALID_ARGUMENT for an empty log, or a
 * number out of its range.
 */
export function offPolicyValue(
  choices: readonly LoggedChoice[],
  options: OffPolicyOptions,
): OffPolicyValue {
  const { estimator = 'self-normalised', confidence = 0.95, resamples = 1000, random } = options
  if (choices.length === 0) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      'an off-policy value needs at least one choice with a reward',
    )
  }
  for (const [at, choice] of choices.entries()) requireChoice(choice, at, estimator)
  const blocks = blocksOf(choices)
  const value = estimateOf(totalOf(blocks), estimator)
  const values = Float64Array.from({ length: resamples }, () => {
    const drawn = blocks.map(() => blocks[random.below(blocks.length)]!)
    return estimateOf(totalOf(drawn), estimator)
  }).sort()
  const weights = choices.map(weightOf)
  const sum = weights.reduce((a, b) => a + b, 0)
  const squares = weights.reduce((a, b) => a + b * b, 0)
  const tail = (1 - confidence) / 2
  return {
    estimator,
    value,
    low: quantileOf(values, tail),
    high: quantileOf(values, 1 - tail),
    effectiveSamples: squares === 0 ? 0 : (sum * sum) / squares,
    choices: choices.length,
    largestWeight: weights.reduce((a, b) => Math.max(a, b), 0),
  }
}

const weightOf = ({ candidate, probability }: LoggedChoice): number => candidate / probability

function requireChoice(choice: LoggedChoice, at: number, estimator: Estimator): void {
  const { probability, candidate, reward, expected, expectedOfCandidate } = choice
  const isShare = (x: number): boolean => x >= 0 && x <= 1
  if (!(probability > 0) || !isShare(probability) || !isShare(candidate) || !isShare(reward)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `choice ${at} of the log has the probability ${probability}, the candidate's ${candidate} and the reward ${reward}: all are from 0 to 1, and the first is above 0`,
    )
  }
  if (estimator !== 'doubly-robust') return
  if (Number.isFinite(expected) && Number.isFinite(expectedOfCandidate)) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `choice ${at} of the log has no expected rewards, which the doubly robust estimate needs: give them or take self-normalised`,
  )
}

function blocksOf(choices: readonly LoggedChoice[]): readonly Sums[] {
  const count = Math.min(BLOCKS, choices.length)
  const blocks = Array.from({ length: count }, () => ({ n: 0, weights: 0, weighted: 0, robust: 0 }))
  for (const [at, choice] of choices.entries()) {
    const block = blocks[at % count]!
    const weight = weightOf(choice)
    const { reward, expected = 0, expectedOfCandidate = 0 } = choice
    block.n++
    block.weights += weight
    block.weighted += weight * reward
    block.robust += expectedOfCandidate + weight * (reward - expected)
  }
  return blocks
}

function totalOf(blocks: readonly Sums[]): Sums {
  const total = { n: 0, weights: 0, weighted: 0, robust: 0 }
  for (const { n, weights, weighted, robust } of blocks) {
    total.n += n
    total.weights += weights
    total.weighted += weighted
    total.robust += robust
  }
  return total
}

/** The estimate of sums. A self-normalised one without any weight is 0: the candidate would never have chosen so. */
function estimateOf({ n, weights, weighted, robust }: Sums, estimator: Estimator): number {
  if (estimator === 'ips') return weighted / n
  if (estimator === 'doubly-robust') return robust / n
  return weights === 0 ? 0 : weighted / weights
}

function quantileOf(sorted: Float64Array, q: number): number {
  const at = q * (sorted.length - 1)
  const low = Math.floor(at)
  const [a, b] = [sorted[low]!, sorted[Math.min(sorted.length - 1, low + 1)]!]
  return a + (at - low) * (b - a)
}
