import { describe, expect, it } from 'vitest'
import { isWeirError } from '../../../src/core/errors.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import {
  type Estimator,
  type LoggedChoice,
  offPolicyValue,
} from '../../../src/inference/off-policy/estimators.ts'

/** Mean reward of each of three arms, for requests of two kinds. */
const REWARDS = [
  [0.2, 0.5, 0.8],
  [0.7, 0.4, 0.3],
] as const
/** What the policy that made the log chose, and what the candidate would have. */
const LOGGED = [
  [0.6, 0.3, 0.1],
  [0.2, 0.2, 0.6],
] as const
const CANDIDATE = [
  [0.1, 0.1, 0.8],
  [0.8, 0.1, 0.1],
] as const
const SEEDS = 100
const CHOICES = 1500

const candidateValue = (kind: number): number =>
  REWARDS[kind]!.reduce((sum, reward, arm) => sum + reward * CANDIDATE[kind]![arm]!, 0)
/** The truth: half of the requests are of each kind. */
const TRUE_VALUE = (candidateValue(0) + candidateValue(1)) / 2

function armBy(probabilities: readonly number[], random: Random): number {
  const at = random.next()
  if (at < probabilities[0]!) return 0
  return at < probabilities[0]! + probabilities[1]! ? 1 : 2
}

/** A log of the policy. The model of rewards is one that is wrong by 0.1 everywhere. */
function logOf(random: Random): readonly LoggedChoice[] {
  return Array.from({ length: CHOICES }, () => {
    const kind = random.below(2)
    const arm = armBy(LOGGED[kind]!, random)
    return {
      probability: LOGGED[kind]![arm]!,
      candidate: CANDIDATE[kind]![arm]!,
      reward: random.next() < REWARDS[kind]![arm]! ? 1 : 0,
      expected: REWARDS[kind]![arm]! + 0.1,
      expectedOfCandidate: candidateValue(kind) + 0.1,
    }
  })
}

const ESTIMATORS: readonly Estimator[] = ['ips', 'self-normalised', 'doubly-robust']

describe('the off-policy value of a candidate', () => {
  it.each(ESTIMATORS)(
    '%s: the interval of confidence 0.95 has the truth in 93 of 100 logs',
    (estimator) => {
      let covered = 0
      for (let seed = 0; seed < SEEDS; seed++) {
        const random = seededRandom(1000 + seed)
        const { low, high } = offPolicyValue(logOf(random), { random, estimator, resamples: 200 })
        if (low <= TRUE_VALUE && TRUE_VALUE <= high) covered++
      }
      expect(covered).toBeGreaterThanOrEqual(93)
      expect(covered).toBeLessThan(SEEDS)
    },
  )

  it('differs from the mean reward of the log, which is not the candidate at all', () => {
    const random = seededRandom(3)
    const log = logOf(random)
    const { low } = offPolicyValue(log, { random })
    const mean = log.reduce((sum, { reward }) => sum + reward, 0) / log.length
    expect(mean).toBeLessThan(low)
  })

  it('is narrower with a model of the rewards', () => {
    const random = seededRandom(4)
    const log = logOf(random)
    const widthOf = (estimator: Estimator): number => {
      const { low, high } = offPolicyValue(log, { random, estimator })
      return high - low
    }
    expect(widthOf('doubly-robust')).toBeLessThan(widthOf('ips'))
  })

  it('has as many effective samples as choices where the candidate is the policy of the log', () => {
    const choices = Array.from({ length: 50 }, (_, i) => ({
      probability: 0.25,
      candidate: 0.25,
      reward: i % 2,
    }))
    const value = offPolicyValue(choices, { random: seededRandom(1) })
    expect(value.effectiveSamples).toBeCloseTo(50, 6)
    expect(value.value).toBeCloseTo(0.5, 6)
    expect(value.largestWeight).toBe(1)
  })

  it('says that two of a hundred choices carry all where the candidate chooses what was rare', () => {
    const choices = Array.from({ length: 100 }, (_, i) => ({
      probability: i < 2 ? 0.02 : 0.98,
      candidate: i < 2 ? 1 : 0,
      reward: 1,
    }))
    const value = offPolicyValue(choices, { random: seededRandom(1) })
    expect(value.effectiveSamples).toBeCloseTo(2, 6)
    expect(value.largestWeight).toBeCloseTo(50, 6)
  })

  it.each<[string, LoggedChoice[], Estimator?]>([
    ['an empty log', []],
    ['a choice of probability 0', [{ probability: 0, candidate: 1, reward: 1 }]],
    ['a probability that is no number', [{ probability: Number.NaN, candidate: 1, reward: 1 }]],
    ['a reward above 1', [{ probability: 1, candidate: 1, reward: 2 }]],
    ["a candidate's probability below 0", [{ probability: 1, candidate: -1, reward: 1 }]],
    ['no expected rewards', [{ probability: 1, candidate: 1, reward: 1 }], 'doubly-robust'],
  ])('refuses %s', (_, choices, estimator) => {
    const random = seededRandom(1)
    const call = () => offPolicyValue(choices, { random, ...(estimator && { estimator }) })
    expect(call).toThrow(expect.toSatisfy((error) => isWeirError(error, 'INVALID_ARGUMENT')))
  })
})
