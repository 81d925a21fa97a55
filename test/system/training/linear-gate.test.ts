import { describe, expect, it } from 'vitest'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { exampleMetrics } from '../../../src/kinds/linear/example-metrics.ts'
import type { PlacedExample } from '../../../src/kinds/linear/examples-profile.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { type SparseTable, SparseTableBuilder } from '../../../src/training/data/sparse-table.ts'
import type { LinearLossName } from '../../../src/training/linear/loss.ts'
import type { LinearModel } from '../../../src/training/linear/model.ts'
import { trainLinear } from '../../../src/training/linear/train.ts'
import type { ModelReader, SparseVector } from '../../../src/wire/model-reader.ts'
import { PromotionLab } from '../../jobs/promotion/lab.ts'

const NAME = 'svm-model'
const FEATURES = 60
const NON_ZEROS = 10
const BASE = 4000
const GOLDEN = 2500
const TOLERANCE = 1e-3

type Example = Pick<PlacedExample, 'label' | 'ids' | 'values'>

function table(examples: readonly Example[]): SparseTable {
  const builder = new SparseTableBuilder()
  for (const { label, ids, values } of examples) builder.add(label, ids, values)
  return builder.build()
}

/** A model that is trained on a growing list of examples, checked and promoted as `weir retrain` does. */
class Lab {
  readonly observations: Example[] = []
  maxRounds = 1000
  private readonly models = new Map<number, LinearModel>()
  private readonly registry = new PromotionLab(NAME)
  private readonly golden: SparseTable
  private readonly loss: LinearLossName

  constructor(observations: readonly Example[], golden: readonly Example[], loss: LinearLossName) {
    this.observations.push(...observations)
    this.golden = table(golden)
    this.loss = loss
  }

  /** Retrains on everything; returns the names of the measures that failed, none if it was promoted. */
  async retrain(): Promise<readonly string[]> {
    const number = this.models.size + 1
    const data = table(this.observations)
    const { loss, maxRounds } = this
    const options = { loss, cost: 0.05, threads: 0, tolerance: TOLERANCE, maxRounds }
    const model = await trainLinear(data, options)
    this.models.set(number, model)
    const version = this.versionOf(number, exampleMetrics(data, model, { tolerance: TOLERANCE }))
    return await this.registry.check(version, {
      reader: this.reader,
      state: 'SVM_MODEL',
      golden: { examples: this.golden, subject: 'golden' },
      observations: (ranges) => this.read(ranges[0]!.to),
    })
  }

  get live(): number {
    return this.registry.live
  }

  rollback(): void {
    this.registry.rollback()
  }

  /** Share of other examples that the newest model gets wrong. */
  errorRate(examples: readonly Example[]): number {
    const model = this.models.get(this.models.size)!
    const wrong = examples.filter(
      ({ label, ids, values }) => model.labelOf(model.decision(ids, values)) !== label,
    )
    return wrong.length / examples.length
  }

  private versionOf(number: number, metrics: Readonly<Record<string, number>>): RegisteredVersion {
    const to = this.observations.length
    return {
      name: NAME,
      processingName: `linear-${number}`,
      id: `id-${number}`,
      number,
      topic: NAME,
      createdMs: number,
      dimension: 64,
      users: 0,
      items: 2,
      lineage: {
        ranges: [{ topic: 'examples', partition: 0, from: 0, to }],
        files: [],
        code: 'linear/1',
        hyperparameters: { loss: this.loss, positiveLabel: 1, negativeLabel: -1 },
        metrics,
        newestEventMs: number,
      },
      state: 'candidate',
      checks: [],
      notes: [],
    }
  }

  private async *read(to: number): AsyncGenerator<readonly PlacedExample[]> {
    yield this.observations
      .slice(0, to)
      .map((example, offset) => ({ ...example, partition: 0, offset }))
  }

  private readonly reader = {
    sparseDot: async (_: string, { ids, values }: SparseVector, options: { version: number }) => {
      const model = this.models.get(options.version)!
      const end = ids.length - 1
      expect(ids[end]).toBe(BIAS_FEATURE)
      let unknown = 0
      for (let k = 0; k < end; k++) if ((model.weights[ids[k]!] ?? 0) === 0) unknown++
      return { ok: true, value: { sum: model.decision(ids, values, 0, end), unknown } }
    },
  } as unknown as ModelReader
}

/** Examples of a planted model; labels follow the logistic distribution. */
class World {
  private readonly random: Random
  readonly weights: Float64Array

  constructor(seed: number) {
    this.random = seededRandom(seed)
    this.weights = Float64Array.from({ length: FEATURES }, () => 1.5 * this.random.normal())
  }

  examples(count: number): Example[] {
    return Array.from({ length: count }, () => this.example())
  }

  /** The taste changes: every weight moves by a normal number of this size. */
  drift(size: number): void {
    for (let i = 0; i < FEATURES; i++) this.weights[i]! += size * this.random.normal()
  }

  private example(): Example {
    const { random } = this
    const chosen = new Set<number>()
    while (chosen.size < NON_ZEROS) chosen.add(random.below(FEATURES))
    const ids = Uint32Array.from([...chosen].sort((a, b) => a - b))
    const values = Float32Array.from(ids, () => random.normal())
    const margin = ids.reduce((sum, id, k) => sum + this.weights[id]! * values[k]!, 0)
    return { label: random.next() < 1 / (1 + Math.exp(-margin)) ? 1 : -1, ids, values }
  }
}

const flipped = (examples: readonly Example[]): Example[] =>
  examples.map((example) => ({ ...example, label: -example.label }))

async function labWithLive(loss: LinearLossName = 'logistic') {
  const world = new World(5)
  const golden = world.examples(GOLDEN)
  const lab = new Lab(world.examples(BASE), golden, loss)
  expect(await lab.retrain()).toEqual([])
  return { lab, world, golden }
}

describe.each(['hinge', 'squared-hinge', 'logistic'] as const)(
  'a linear model of %s loss',
  (loss) => {
    it('is refused with flipped labels, also in small steps', async () => {
      const { lab, world } = await labWithLive(loss)
      const test = world.examples(3000)
      const before = lab.errorRate(test)
      let promoted = 0
      let failed: readonly string[] = []
      for (; promoted < 8 && failed.length === 0; promoted++) {
        lab.observations.push(...flipped(world.examples(80)))
        failed = await lab.retrain()
        if (failed.length === 0) expect(lab.errorRate(test) - before).toBeLessThan(0.02)
      }
      expect(failed.join()).toMatch(/loss against (live|version \d+, the best)/)
    })

    it('is promoted through honest growth, and gets better', async () => {
      const { lab, world } = await labWithLive(loss)
      const test = world.examples(3000)
      const before = lab.errorRate(test)
      for (let step = 0; step < 4; step++) {
        lab.observations.push(...world.examples(1500))
        expect(await lab.retrain()).toEqual([])
      }
      expect(lab.errorRate(test)).toBeLessThan(before)
    })

    it('is promoted after an honest drift, on golden examples of after it', async () => {
      const world = new World(6)
      const first = world.examples(BASE)
      world.drift(0.7)
      const lab = new Lab(first, world.examples(GOLDEN), loss)
      expect(await lab.retrain()).toEqual([])
      lab.observations.push(...world.examples(BASE))
      expect(await lab.retrain()).toEqual([])
    })
  },
)

describe('poisoned examples are refused', () => {
  it('all labels turned', async () => {
    const { lab } = await labWithLive()
    lab.observations.splice(0, BASE, ...flipped(lab.observations))
    expect((await lab.retrain()).join()).toContain('error rate against the more frequent label')
  })

  it('one source that sends the same example again and again', async () => {
    const { lab, world } = await labWithLive()
    const [spam] = world.examples(1)
    lab.observations.push(...Array.from({ length: 500 }, () => spam!))
    expect(await lab.retrain()).toContain('share of one example')
  })

  it('one source whose examples differ, but all have one label', async () => {
    const { lab, world } = await labWithLive()
    lab.observations.push(...world.examples(1500).map((example) => ({ ...example, label: 1 })))
    expect(await lab.retrain()).toContain('change of the share of the positive label')
  })

  it('one source that marks its examples with one feature', async () => {
    const { lab, world } = await labWithLive()
    const marked = world.examples(1500).map(({ label, ids, values }) => ({
      label,
      ids: Uint32Array.of(...ids, FEATURES),
      values: Float32Array.of(...values, 1),
    }))
    lab.observations.push(...marked)
    expect(await lab.retrain()).toContain('change of the share of one feature')
  })

  it('one feature in another unit', async () => {
    const { lab, world } = await labWithLive()
    const scaled = world.examples(1500).map((example) => ({
      ...example,
      values: example.values.map((value, k) => (example.ids[k] === 7 ? 1000 * value : value)),
    }))
    lab.observations.push(...scaled)
    expect(await lab.retrain()).toContain('change of the share of one feature in the values')
  })

  it.each([1, 5, 60])('golden examples among the observations, %i times each', async (copies) => {
    const { lab, golden } = await labWithLive()
    for (let copy = 0; copy < copies; copy++) lab.observations.push(...golden.slice(0, 400))
    expect(await lab.retrain()).toContain('golden examples in the training data')
  })
})

describe('the checks of a linear model', () => {
  it('do not take honest repetitions for a leak', async () => {
    const random = seededRandom(9)
    const few = (count: number): Example[] =>
      Array.from({ length: count }, () => {
        const ids = Uint32Array.from([1, 2, 3, 4, 5, 6, 7, 8].filter(() => random.next() < 0.5))
        const margin = ids.reduce((sum, id) => sum + (id < 5 ? 1 : -1), 0)
        const label = random.next() < 1 / (1 + Math.exp(-margin)) ? 1 : -1
        return { label, ids, values: Float32Array.from(ids, () => 1) }
      })
    const lab = new Lab(few(3000), few(GOLDEN), 'logistic')
    expect(await lab.retrain()).toEqual([])
    lab.observations.push(...few(1000))
    expect(await lab.retrain()).toEqual([])
  })

  it('refuse a training that ended without its tolerance', async () => {
    const { lab, world } = await labWithLive('hinge')
    lab.observations.push(...world.examples(500))
    lab.maxRounds = 2
    expect(await lab.retrain()).toEqual(['duality gap of the training'])
  })

  it('a rollback makes the earlier version live again', async () => {
    const { lab, world } = await labWithLive()
    lab.observations.push(...world.examples(1500))
    expect(await lab.retrain()).toEqual([])
    expect(lab.live).toBe(2)
    lab.rollback()
    expect(lab.live).toBe(1)
  })
})
