import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { exp3, exp3Ix } from '../../../src/inference/selectors/exp3.ts'
import { exp4 } from '../../../src/inference/selectors/exp4.ts'
import { linUcb } from '../../../src/inference/selectors/linucb.ts'
import type { Selector } from '../../../src/inference/selectors/selector.ts'
import { thompson } from '../../../src/inference/selectors/thompson.ts'
import { ARMS, choiceOf, outputOf, selectBy } from './contract.ts'

const ROUNDS = 300

/** What a paper's own formula makes of its weights, in float64 and without logarithms. */
type Formula = (weights: number[], arm: number, reward: number, p: number[]) => void

/** Probabilities of a selector after rounds of random rewards, and those of the paper's formula on the same rounds. */
function bothProbabilities(
  selector: Selector,
  shares: (weights: readonly number[]) => number[],
  formula: Formula,
): readonly [number[], number[]] {
  const random = seededRandom(21)
  let state = selector.init(3)
  const weights = [1, 1, 1]
  for (let round = 0; round < ROUNDS; round++) {
    const selection = selectBy(selector, state, random)
    const arm = selection.run[0]!
    const reward = random.next() < 0.3 * (arm + 1) ? 1 : 0.25
    state = selector.observe(state, choiceOf(selection, reward))
    formula(weights, arm, reward, shares(weights))
  }
  return [[...selectBy(selector, state).probabilities], shares(weights)]
}

const byWeight = (weights: readonly number[]): number[] => {
  const sum = weights.reduce((a, b) => a + b, 0)
  return weights.map((weight) => weight / sum)
}

function expectClose([found, wanted]: readonly [number[], number[]]): void {
  for (const [arm, p] of wanted.entries()) expect(found[arm]).toBeCloseTo(p, 4)
  expect(Math.max(...wanted)).toBeGreaterThan(0.4)
}

describe('a selector has the probabilities of the formula in its paper', () => {
  it('exp3: s *= exp(-eta L / p), as Clipper prints it', () => {
    expectClose(
      bothProbabilities(exp3({ eta: 0.05 }), byWeight, (s, arm, reward, p) => {
        s[arm]! *= Math.exp((-0.05 * (1 - reward)) / p[arm]!)
      }),
    )
  })

  it('exp3 over gains: w *= exp(gamma x / (p K)), as Auer et al. print it', () => {
    const gamma = 0.1
    const shares = (weights: readonly number[]) =>
      byWeight(weights).map((w) => (1 - gamma) * w + gamma / 3)
    expectClose(
      bothProbabilities(exp3({ form: 'gains', gamma }), shares, (w, arm, reward, p) => {
        w[arm]! *= Math.exp((gamma * reward) / p[arm]! / 3)
      }),
    )
  })

  it('exp3-ix: w *= exp(-eta L / (p + ix)), as Neu prints it', () => {
    expectClose(
      bothProbabilities(exp3Ix({ share: 0 }), byWeight, (w, arm, reward, p) => {
        w[arm]! *= Math.exp((-0.02 * (1 - reward)) / (p[arm]! + 0.01))
      }),
    )
  })

  it('exp3-ix with its fixed share', () => {
    const share = 0.01
    expectClose(
      bothProbabilities(exp3Ix({ share }), byWeight, (w, arm, reward, p) => {
        w[arm]! *= Math.exp((-0.02 * (1 - reward)) / (p[arm]! + 0.01))
        const mixed = byWeight(w).map((s) => (1 - share) * s + share / 3)
        for (const [i, s] of mixed.entries()) w[i] = s
      }),
    )
  })

  it.each([0, 0.001])('exp4 with a fixed share of %d', (share) => {
    const selector = exp4({ share })
    const random = seededRandom(4)
    let state = selector.init(3)
    let weights = [1, 1, 1]
    for (let round = 0; round < 100; round++) {
      const outputs = ARMS.map((_, arm) =>
        outputOf(arm, random.next() < 0.3 * (arm + 1) ? [0, 1] : [1, 0]),
      )
      const selection = selectBy(selector, state, random)
      const sum = weights.reduce((a, b) => a + b, 0)
      const wanted = outputs.reduce((total, { scores }, arm) => {
        return total + (weights[arm]! * scores[1]!) / sum
      }, 0)
      expect(selector.combine(state, selection, outputs).scores[1]).toBeCloseTo(wanted, 4)
      state = selector.observe(state, choiceOf(selection, 1, { outputs, label: 1 }))
      weights = weights.map((s, arm) => s * Math.exp(-0.05 * (1 - outputs[arm]!.scores[1]!)))
      weights = byWeight(weights).map((s) => (1 - share) * s + share / 3)
    }
    expectClose([[...selectBy(selector, state).probabilities], weights])
  })

  it('thompson: how often a draw of Beta(1 + rewards, 1 + the rest) is the largest', () => {
    const state = Float32Array.of(8, 2, 3, 1, 40, 20)
    const { probabilities } = selectBy(thompson(), state)
    const random = seededRandom(9)
    const draws = 40_000
    const wins = [0, 0, 0]
    for (let i = 0; i < draws; i++) {
      const values = [0, 1, 2].map((arm) =>
        betaDraw(state[2 * arm]! + 1, state[2 * arm + 1]! + 1, random),
      )
      wins[values.indexOf(Math.max(...values))]!++
    }
    for (const [arm, won] of wins.entries()) {
      expect(Math.abs(probabilities[arm]! - won / draws)).toBeLessThan(0.01)
    }
  })

  it('thompson: two arms that differ by a hair of a million rewards', () => {
    const { probabilities } = selectBy(
      thompson(),
      Float32Array.of(500_000, 500_000, 501_000, 499_000),
      seededRandom(1),
      'user',
      ['a', 'b'],
    )
    // Means 0.500 and 0.501, deviations 0.0005: normal(-1.41).
    expect(Math.abs(probabilities[0]! - 0.0786)).toBeLessThan(0.01)
  })

  it('linucb: w.f + alpha sqrt(f A^-1 f), with A inverted as a 2 x 2 matrix', () => {
    const selector = linUcb({ features: 2, alpha: 0.5, lambda: 2 })
    const random = seededRandom(17)
    let state = selector.init(3)
    const sums = ARMS.map(() => ({ a: 2, b: 0, d: 2, x: 0, y: 0 }))
    for (let round = 0; round < ROUNDS; round++) {
      const features = Float32Array.of(random.next(), random.normal())
      const [f, g] = [features[0]!, features[1]!]
      const selection = selector.select(state, { arms: ARMS, random, context: 'u', features })
      const bounds = sums.map(({ a, b, d, x, y }) => {
        const determinant = a * d - b * b
        const [w, v] = [(d * x - b * y) / determinant, (a * y - b * x) / determinant]
        const width = (d * f * f - 2 * b * f * g + a * g * g) / determinant
        return w * f + v * g + 0.5 * Math.sqrt(width)
      })
      const arm = selection.run[0]!
      expect(bounds[arm]).toBeGreaterThan(Math.max(...bounds) - 1e-5)
      const reward = random.next() < (arm === 1 ? 0.8 : 0.3) ? 1 : 0
      state = selector.observe(state, choiceOf(selection, reward, { features }))
      const one = sums[arm]!
      one.a += f * f
      one.b += f * g
      one.d += g * g
      one.x += reward * f
      one.y += reward * g
    }
    expect(sums[1]!.a - 2).toBeGreaterThan(sums[0]!.a - 2)
  })
})

/** A draw of Beta(a, b) for whole numbers: a share of two sums of exponential draws. */
function betaDraw(a: number, b: number, random: Random): number {
  const gamma = (shape: number): number => {
    let sum = 0
    for (let i = 0; i < shape; i++) sum -= Math.log(1 - random.next())
    return sum
  }
  const x = gamma(a)
  return x / (x + gamma(b))
}
