import { expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { ExampleMeasures } from '../../../../src/jobs/learning/error/example-measures.ts'
import { LinearExamples } from '../../../../src/models/linear/model-generator.ts'
import { foldLinearStep, OnlineLinearRule } from '../../../../src/models/linear/online-rule.ts'
import { LINEAR_MEMORY } from '../../../../src/models/linear/weight-memory.ts'
import { campaignSize } from '../../../run/campaign-size.ts'

const FEATURES = 200
const TRAINED = 20_000

/** A model in one block that has learned so many examples, whose copy is that of the training; and the examples that follow. */
class Learning {
  readonly measures = new ExampleMeasures()
  private readonly random
  private readonly examples
  private readonly weights = new Float32Array(FEATURES)
  private readonly memory = new Float32Array(LINEAR_MEMORY * FEATURES)
  private frozen: Float32Array | undefined

  constructor(seed: number, noise: number) {
    this.random = seededRandom(seed)
    this.examples = new LinearExamples({ features: FEATURES, nonZeros: 10, noise })
  }

  /** Learns examples one after the other; after how many of them learning has to stop, undefined where it does not. */
  learn(count: number, rule: OnlineLinearRule): number | undefined {
    const { weights, memory, frozen, measures } = this
    for (let n = 1; n <= count; n++) {
      const { label, ids, values } = this.examples.next(this.random)
      const dot = (row: Float32Array): number =>
        ids.reduce((sum, id, k) => sum + row[id]! * values[k]!, 0)
      const decision = dot(weights)
      if (frozen !== undefined && n % 4 === 0) {
        const loss = rule.lossOf(decision, label)
        if (measures.worse.add(loss, rule.lossOf(dot(frozen), label))) return n
      }
      const derivative = rule.derivative(decision, label, values)
      const step = {
        derivative,
        rate: rule.rateOf(ids.length),
        indices: Uint16Array.from(ids),
        values,
      }
      if (derivative !== 0) foldLinearStep(step, weights, memory)
    }
    return undefined
  }

  /** What comes now is compared with the weights as they are. */
  publish(): void {
    this.frozen = this.weights.slice()
  }
}

const LOSSES = ['hinge', 'logistic'] as const

it.each(LOSSES)('a %s model that goes on learning with the default rate is not stopped', (loss) => {
  const rule = new OnlineLinearRule({ loss })
  for (let seed = 1; seed <= 3; seed++) {
    for (const noise of [0, 0.1]) {
      const learning = new Learning(seed, noise)
      learning.learn(TRAINED, rule)
      learning.publish()
      const stopped = learning.learn(campaignSize(20_000, 400_000), rule)
      expect(stopped, `seed ${seed}, noise ${noise}`).toBeUndefined()
    }
  }
})

it.each(LOSSES)(
  'a %s model whose steps are too long is stopped within some hundred examples',
  (loss) => {
    for (let seed = 1; seed <= 3; seed++) {
      const learning = new Learning(seed, 0.1)
      learning.learn(TRAINED, new OnlineLinearRule({ loss }))
      learning.publish()
      const stopped = learning.learn(2000, new OnlineLinearRule({ loss, learningRate: 1000 }))
      console.info(`${loss}, seed ${seed}: stopped after ${stopped} examples`)
      expect(stopped).toBeLessThan(1000)
    }
  },
)
