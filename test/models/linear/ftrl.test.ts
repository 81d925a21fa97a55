import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { type FtrlOptions, ftrlFold } from '../../../src/models/linear/ftrl.ts'
import { foldLinearStep, OnlineLinearRule } from '../../../src/models/linear/online-rule.ts'
import type { LinearFold } from '../../../src/models/linear/step.ts'
import { dropSums } from '../../../src/models/linear/weight-memory.ts'

const FEATURES = 400
/** Features that say the label; the others are noise. */
const TRUE_FEATURES = 20
const NO_INTERCEPT = -1

interface Example {
  readonly label: number
  readonly ids: readonly number[]
  readonly values: Float32Array
  readonly importance: number
}

/** Examples of ten of the features, of which the first ones say the label. */
function examplesOf(random: Random, count: number): readonly Example[] {
  const truth = Array.from({ length: TRUE_FEATURES }, () => 2 * random.normal())
  return Array.from({ length: count }, () => {
    const ids = [...new Set(Array.from({ length: 10 }, () => drawn(random)))].sort((a, b) => a - b)
    const values = Float32Array.from(ids, () => random.normal())
    const score = ids.reduce((sum, id, k) => sum + (truth[id] ?? 0) * values[k]!, 0)
    const importance = random.next() < 0.2 ? 3 : 1
    return { label: random.next() < sigmoid(score) ? 1 : -1, ids, values, importance }
  })
}

/** Every second feature says something of the label. */
const drawn = (random: Random): number =>
  random.next() < 0.5 ? random.below(TRUE_FEATURES) : random.below(FEATURES)
const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score))

/** Weights that learn examples one by one. */
class Learner {
  readonly weights = new Float32Array(FEATURES)
  readonly memory = new Float32Array(2 * FEATURES)
  private readonly rule = new OnlineLinearRule({ loss: 'logistic' })

  decision({ ids, values }: Example): number {
    return ids.reduce((sum, id, k) => sum + this.weights[id]! * values[k]!, 0)
  }

  learn(example: Example, fold: LinearFold): void {
    const { label, values, importance } = example
    const derivative = this.rule.derivative(this.decision(example), label, values, importance)
    const step = { derivative, rate: this.rule.rateOf(values.length), values }
    fold({ ...step, indices: Uint16Array.from(example.ids) }, this.weights, this.memory)
  }

  get zeros(): number {
    return this.weights.filter((weight) => weight === 0).length
  }

  rightOf(examples: readonly Example[]): number {
    return examples.filter((one) => this.decision(one) > 0 === one.label > 0).length
  }
}

/**
 * Algorithm 1 of McMahan et al., "Ad Click Prediction: a View from the Trenches" (KDD 2013), in the words of the paper: z and n
 * by coordinate, weights computed from them where an example is predicted, and gradients times the importance (section 4.3).
 */
function algorithm1(examples: readonly Example[], options: Required<FtrlOptions>): Float64Array {
  const { alpha, beta, l1, l2 } = options
  const z = new Float64Array(FEATURES)
  const n = new Float64Array(FEATURES)
  const weightOf = (i: number): number => {
    if (Math.abs(z[i]!) <= l1) return 0
    return -(z[i]! - Math.sign(z[i]!) * l1) / ((beta + Math.sqrt(n[i]!)) / alpha + l2)
  }
  for (const { label, ids, values, importance } of examples) {
    const w = ids.map(weightOf)
    const p = sigmoid(w.reduce((sum, weight, k) => sum + weight * values[k]!, 0))
    const y = label > 0 ? 1 : 0
    for (const [k, i] of ids.entries()) {
      const g = importance * (p - y) * values[k]!
      const sigma = (Math.sqrt(n[i]! + g * g) - Math.sqrt(n[i]!)) / alpha
      z[i]! += g - sigma * w[k]!
      n[i]! += g * g
    }
  }
  return Float64Array.from({ length: FEATURES }, (_, i) => weightOf(i))
}

describe('FTRL-proximal', () => {
  it.each([
    { alpha: 0.1, beta: 1, l1: 0, l2: 0 },
    { alpha: 0.5, beta: 1, l1: 3, l2: 0 },
    { alpha: 0.3, beta: 0, l1: 8, l2: 2 },
  ])('has the weights of Algorithm 1 of its paper with %j', (options) => {
    const examples = examplesOf(seededRandom(7), 4000)
    const learner = new Learner()
    const fold = ftrlFold(options, NO_INTERCEPT)
    for (const example of examples) learner.learn(example, fold)
    const expected = algorithm1(examples, options)
    const zeros = expected.filter((weight) => weight === 0).length
    console.log(`${zeros} of ${FEATURES} weights are 0 with l1 ${options.l1}`)
    for (const [i, weight] of expected.entries()) {
      expect(learner.weights[i], `weight ${i}`).toBeCloseTo(weight, 3)
    }
    // A sum of gradients may be next to l1, where float32 decides.
    expect(Math.abs(learner.zeros - zeros)).toBeLessThanOrEqual(1)
    if (options.l1 > 0) expect(zeros).toBeGreaterThan(FEATURES / 2)
    else expect(zeros).toBe(0)
  })

  it('keeps noise at 0, and predicts as well as without l1', () => {
    const examples = examplesOf(seededRandom(3), 12_000)
    const test = examples.slice(-2000)
    const [sparse, dense] = [new Learner(), new Learner()]
    const ofSparse = ftrlFold({ alpha: 0.3, l1: 14 }, NO_INTERCEPT)
    const ofDense = ftrlFold({ alpha: 0.3 }, NO_INTERCEPT)
    for (const example of examples.slice(0, -2000)) {
      sparse.learn(example, ofSparse)
      dense.learn(example, ofDense)
    }
    const noise = sparse.weights.subarray(TRUE_FEATURES)
    expect(noise.filter((weight) => weight === 0).length / noise.length).toBeGreaterThan(0.8)
    expect(dense.zeros).toBe(0)
    expect(sparse.rightOf(test)).toBeGreaterThan(dense.rightOf(test) - 10)
    expect(sparse.rightOf(test) / test.length).toBeGreaterThan(0.75)
  })

  it('does not penalise the weight of the constant feature', () => {
    const step = { derivative: 1, rate: 1, indices: Uint16Array.of(0, 1) }
    const values = Float32Array.of(1, 1)
    const weights = new Float32Array(2)
    const options = { alpha: 1, beta: 1, l1: 5, l2: 100 }
    ftrlFold(options, 1)({ ...step, values }, weights, new Float32Array(4))
    expect([...weights]).toEqual([0, -0.5])
  })

  it.each([
    ['of a training', [9, -2]],
    ['without a memory', [0, 0]],
  ])('begins at a published weight %s, and takes a short step', (_, memory) => {
    const weights = Float32Array.of(3)
    const kept = new Float32Array(memory)
    const fold = ftrlFold({ alpha: 0.1, l1: 2, l2: 1 }, NO_INTERCEPT)
    const step = (derivative: number) => ({
      ...{ derivative, rate: 1, indices: Uint16Array.of(0), values: Float32Array.of(2) },
    })
    fold(step(1e-6), weights, kept)
    expect(weights[0]).toBeCloseTo(3, 5)
    fold(step(0.5), weights, kept)
    expect(weights[0]).toBeLessThan(3)
    expect(weights[0]).toBeGreaterThan(2.9)
  })

  it('takes over from the adaptive gradient and hands back, and a weight never jumps', () => {
    const learner = new Learner()
    const ftrl = ftrlFold({ alpha: 0.3, l1: 4 }, NO_INTERCEPT)
    const examples = examplesOf(seededRandom(5), 9000)
    const test = examples.slice(-1000)
    const rights: number[] = []
    for (const [n, example] of examples.slice(0, -1000).entries()) {
      const before = learner.weights.slice()
      const isSwitch = n > 0 && n % 2000 === 0
      if (isSwitch) rights.push(learner.rightOf(test))
      learner.learn(example, Math.floor(n / 2000) % 2 === 0 ? foldLinearStep : ftrl)
      if (!isSwitch) continue
      for (const i of example.ids) {
        expect(Math.abs(learner.weights[i]! - before[i]!), `weight ${i}`).toBeLessThan(0.2)
      }
    }
    rights.push(learner.rightOf(test))
    expect(Math.min(...rights)).toBeGreaterThan(700)
  })

  it('goes on from a weight that was published alone', () => {
    const [weights, memory] = [Float32Array.of(0, 0), new Float32Array(4)]
    const fold = ftrlFold({ alpha: 0.5 }, NO_INTERCEPT)
    const indices = Uint16Array.of(0)
    const step = (derivative: number) => ({
      ...{ derivative, rate: 1, indices, values: Float32Array.of(1) },
    })
    for (let n = 0; n < 50; n++) fold(step(1), weights, memory)
    expect(weights[0]).toBeLessThan(-1)
    weights[0] = 5
    expect(dropSums(memory, indices)).toBe(true)
    fold(step(1e-6), weights, memory)
    expect(weights[0]).toBeCloseTo(5, 4)
    expect(dropSums(new Float32Array(4), indices)).toBe(false)
  })

  it('refuses a step whose squares are not finite, and changes nothing', () => {
    const weights = Float32Array.of(1, 2)
    const memory = new Float32Array(4)
    const [values, indices] = [Float32Array.of(1, 1e30), Uint16Array.of(0, 1)]
    const step = { derivative: 1, rate: 1, indices, values }
    expect(ftrlFold({}, NO_INTERCEPT)(step, weights, memory)).toBe(false)
    expect([...weights, ...memory]).toEqual([1, 2, 0, 0, 0, 0])
  })
})

it('FTRL-proximal has alpha, and no learning rate', () => {
  const both = { loss: 'logistic', learningRate: 0.5, ftrl: {} } as const
  expect(() => new OnlineLinearRule(both)).toThrow('alpha in place of learningRate')
})
