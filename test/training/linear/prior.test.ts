import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { LinearExamples } from '../../../src/models/linear/model-generator.ts'
import { foldLinearStep, OnlineLinearRule } from '../../../src/models/linear/online-rule.ts'
import type { LinearStep } from '../../../src/models/linear/step.ts'
import { SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import type { LinearModel } from '../../../src/training/linear/model.ts'
import { linearPrior } from '../../../src/training/linear/prior.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

/** A labelled example; the ids ascend. */
interface Example {
  readonly label: number
  readonly ids: readonly number[]
  readonly values: readonly number[]
}

/** How the examples of a data set are drawn. */
interface Shape {
  readonly features: number
  /** Share of the features that an example has. */
  readonly density: number
  /** Share of the labels that are flipped. */
  readonly noise: number
  readonly value: (random: Random) => number
  readonly scaleOf: (feature: number) => number
}

const gaussian = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
const one = (): number => 1

const SHAPES: Readonly<Record<string, Shape>> = {
  'dense and noisy': { features: 30, density: 1, noise: 0.1, value: gaussian, scaleOf: one },
  separable: { features: 30, density: 1, noise: 0, value: gaussian, scaleOf: one },
  'sparse and binary': { features: 400, density: 0.04, noise: 0.05, value: one, scaleOf: one },
  'of many scales': {
    ...{ features: 30, density: 1, noise: 0.05, value: gaussian },
    scaleOf: (feature) => 10 ** ((feature % 5) - 2),
  },
  'with heavy tails': {
    ...{ features: 30, density: 1, noise: 0.05, scaleOf: one },
    value: (random) => gaussian(random) * Math.exp(gaussian(random)),
  },
}

const { TRAINING, FRESH, GOLDEN } = campaignSize(
  { TRAINING: 1_500, FRESH: 1_000, GOLDEN: 2_500 },
  { TRAINING: 4_000, FRESH: 5_000, GOLDEN: 5_000 },
)

/** Features that many examples have move together: their steps add up in each of these. */
const FREQUENT = 'with frequent features'
const GENERATED = { features: 124, nonZeros: 14, noise: 0.1 }

function generatedExamples(): readonly Example[] {
  const source = new LinearExamples(GENERATED)
  const random = seededRandom(1)
  return Array.from({ length: TRAINING + FRESH + GOLDEN }, () => {
    const { label, ids, values } = source.next(random)
    return { label, ids: [...ids], values: [...values] }
  })
}

function examplesOf(name: string): readonly Example[] {
  if (name === FREQUENT) return generatedExamples()
  const { features, density, noise, value, scaleOf } = SHAPES[name]!
  const random = seededRandom(4)
  const truth = Array.from({ length: features }, () => gaussian(random))
  return Array.from({ length: TRAINING + FRESH + GOLDEN }, () => {
    const ids = [...truth.keys()].filter(() => random.next() < density)
    const plain = ids.map(() => value(random))
    const decision = ids.reduce((sum, id, k) => sum + truth[id]! * plain[k]!, 0)
    const isFlipped = random.next() < noise
    const values = plain.map((each, k) => each * scaleOf(ids[k]!))
    return { label: decision > 0 !== isFlipped ? 1 : -1, ids, values }
  })
}

/** Weights with what learning keeps, the intercept last, and the rule that learns them one by one. */
class Learner {
  readonly weights: Float32Array
  private readonly memory: Float32Array
  private readonly rule: OnlineLinearRule
  private readonly inFlight: number
  private readonly steps: LinearStep[] = []

  /** `inFlight`: examples between their prediction and their step. */
  constructor(
    model: LinearModel,
    features: number,
    { loss, inFlight }: { loss: 'hinge' | 'logistic'; inFlight: number },
  ) {
    this.inFlight = inFlight
    this.weights = new Float32Array(features + 1)
    this.weights.set(model.weights)
    this.weights[features] = model.intercept
    this.memory = new Float32Array(2 * (features + 1))
    this.rule = new OnlineLinearRule({ loss })
  }

  startFrom({ squares, scales }: ReturnType<typeof linearPrior>): void {
    const count = this.weights.length
    // The table may have fewer features than the data set.
    for (let i = 0; i < squares.length; i++) {
      const at = i === squares.length - 1 ? count - 1 : i
      this.memory[at] = squares[i]!
      this.memory[count + at] = -scales[i]!
    }
  }

  private decision({ ids, values }: Example): number {
    const intercept = this.weights.at(-1)!
    return ids.reduce((sum, id, k) => sum + this.weights[id]! * values[k]!, intercept)
  }

  learn(example: Example): void {
    const { rule, weights, memory } = this
    const indices = Uint16Array.from([...example.ids, weights.length - 1])
    const values = Float32Array.from([...example.values, 1])
    const derivative = rule.derivative(this.decision(example), example.label, values)
    const rate = rule.rateOf(indices.length)
    this.steps.push({ derivative, rate, indices, values })
    if (this.steps.length > this.inFlight) foldLinearStep(this.steps.shift()!, weights, memory)
  }

  accuracy(examples: readonly Example[]): number {
    const right = examples.filter((one) => this.decision(one) > 0 === one.label > 0)
    return right.length / examples.length
  }
}

/** Half the width of the 95 % interval of an accuracy. */
const intervalOf = (accuracy: number): number =>
  1.96 * Math.sqrt((accuracy * (1 - accuracy)) / GOLDEN) + 1 / GOLDEN

async function trained(examples: readonly Example[], loss: 'hinge' | 'logistic') {
  const builder = new SparseTableBuilder()
  for (const { label, ids, values } of examples.slice(0, TRAINING)) {
    builder.add(label, Uint32Array.from(ids), Float32Array.from(values))
  }
  const table = builder.build()
  return { table, model: await trainLinear(table, { loss, threads: 0, maxRounds: 60 }) }
}

const LOSSES = ['hinge', 'logistic'] as const
const seed = commitSeed()

/** Each shape with both losses; in the short part with one of them. */
const data = [...Object.keys(SHAPES), FREQUENT].flatMap((name, n) =>
  campaignSize<readonly ('hinge' | 'logistic')[]>([LOSSES[(n + seed) % 2]!], LOSSES).map(
    (loss) => [name, loss] as const,
  ),
)

describe('learning that goes on from trained weights', () => {
  it.each(data)('never lowers the accuracy on examples %s, with %s loss', async (name, loss) => {
    const { features } = name === FREQUENT ? GENERATED : SHAPES[name]!
    const examples = examplesOf(name)
    const golden = examples.slice(TRAINING + FRESH)
    const { table, model } = await trained(examples, loss)
    const learnerOf = (inFlight: number): Learner =>
      new Learner(model, features, { loss, inFlight })
    // One by one, and with as many in flight as the job has; the last one as text rows are: nothing says what they were
    // trained on.
    const learners = [learnerOf(0), learnerOf(64), learnerOf(64)]
    for (const learner of learners.slice(0, 2)) learner.startFrom(linearPrior(table, model))
    const before = learners[0]!.accuracy(golden)
    for (const [n, example] of examples.slice(TRAINING, TRAINING + FRESH).entries()) {
      for (const learner of learners) learner.learn(example)
      if (![10, 50, 200, 500, 1_000, 2_000, 5_000].includes(n + 1)) continue
      for (const [k, learner] of learners.entries()) {
        const least = before - intervalOf(before)
        expect(learner.accuracy(golden), `learner ${k} after ${n + 1}`).toBeGreaterThan(least)
      }
    }
  })
})

it('the prior has the squared gradients of the training examples, each 16 times, and the largest values', async () => {
  const builder = new SparseTableBuilder()
  builder.add(1, Uint32Array.of(0, 1), Float32Array.of(2, -1))
  builder.add(-1, Uint32Array.of(1), Float32Array.of(-3))
  const table = builder.build()
  const model = await trainLinear(table, { loss: 'logistic', threads: 0 })
  const slopes = [0, 1].map((row) => 1 / (1 + Math.exp(Math.abs(model.decisionOfRow(table, row)))))
  const { squares, scales } = linearPrior(table, model)
  expect([...scales]).toEqual([2, 3, 1])
  const [a, b] = slopes.map((slope) => slope ** 2)
  for (const [i, square] of [4 * a!, a! + 9 * b!, a! + b!].entries()) {
    expect(squares[i]).toBeCloseTo(16 * square, 6)
  }
})

it('the prior has an example of importance 3 with a gradient three times as long', async () => {
  const builder = new SparseTableBuilder()
  builder.add(1, Uint32Array.of(0), Float32Array.of(2), 1, 3)
  builder.add(-1, Uint32Array.of(1), Float32Array.of(-3))
  const table = builder.build()
  const model = await trainLinear(table, { loss: 'logistic', threads: 0 })
  const slope = 3 / (1 + Math.exp(model.decisionOfRow(table, 0)))
  expect(linearPrior(table, model).squares[0]).toBeCloseTo(16 * (2 * slope) ** 2, 6)
})
