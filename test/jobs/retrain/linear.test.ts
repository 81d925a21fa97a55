import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { BIAS_FEATURE } from '../../../src/core/feature.ts'
import type { RetrainOptions } from '../../../src/jobs/retrain/options.ts'
import { retrain } from '../../../src/jobs/retrain/retrain.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import { readExamples } from '../../../src/models/observations/examples.ts'
import { exportVersion, importVersion } from '../../../src/models/publish/transfer.ts'
import { isCandidate } from '../../../src/models/registry/adopt.ts'
import { isLinear } from '../../../src/models/registry/version.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'

const RANGE = 4
const encoder = new TextEncoder()
const decoder = new TextDecoder()
let folder: string
let topics: LogTopics
let ids = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-retrain-linear-'))
  topics = new LogTopics(join(folder, 'log'))
})

afterEach(async () => {
  await topics[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function feed(lines: readonly string[]): Promise<void> {
  if (!(await topics.has('examples'))) await topics.create('examples', { partitions: 2 })
  const producer = await topics.producer('examples')
  for (const [n, line] of lines.entries()) {
    producer.sendRecord(null, encoder.encode(line), 1000 * n, n % 2, [])
  }
  await producer.sync()
  await producer.close()
}

/** Feature 1 says the label 2, feature 9 the label 1. */
const examples = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => (n % 3 === 0 ? `2 1:1 5:${n % 4}` : `1 5:${n % 4} 9:1`))

const options = (more: Partial<RetrainOptions> = {}): RetrainOptions => ({
  place: { logDirectory: join(folder, 'log') },
  registry: new ModelRegistry({
    place: { logDirectory: join(folder, 'registry') },
    clock: systemClock,
  }),
  model: 'svm-model',
  observations: 'examples',
  linear: { loss: 'logistic', threads: 0, range: RANGE },
  temporary: join(folder, 'temporary'),
  start: () => {
    const trainer = new RetrainTrainer(() => {})
    return {
      ask: async (request) => (await trainer.answer(request)) as never,
      async [Symbol.asyncDispose]() {},
    }
  },
  newId: () => `id-${++ids}`,
  clock: systemClock,
  ...(more as object),
})

async function weightsOf(version: number): Promise<Map<number, number>> {
  const weights = new Map<number, number>()
  await scanTopic(topics, 'svm-model', (record) => {
    const key = decoder.decode(record.key()!)
    const block = new RegExp(`^(\\d+)-W@${version}$`).exec(key)
    if (block === null) return true
    const floats = new Float32Array(Uint8Array.from(record.value()!).buffer)
    for (const [i, weight] of floats.entries()) {
      if (weight !== 0) weights.set(Number(block[1]) * RANGE + i, weight)
    }
    return true
  })
  return weights
}

/** By key of a block, what the training says of its weights. */
async function memoriesOf(version: number): Promise<ReadonlyMap<string, string>> {
  const memories = new Map<string, string>()
  await scanTopic(topics, 'svm-model', (record) => {
    const key = decoder.decode(record.key()!)
    const memory = record.headers().find((header) => header.key === 'weight-memory')?.value
    if (key.endsWith(`-W@${version}`) && memory)
      memories.set(key, Buffer.from(memory).toString('hex'))
    return true
  })
  return memories
}

describe('a retraining of a linear model', () => {
  it('publishes a candidate with its lineage, and leaves bad records out', async () => {
    await feed([...examples(300), 'no example', '1 2:1\n1 1:1\n'])
    const steps: string[] = []
    const outcome = await retrain({ ...options(), onStep: (step) => steps.push(step) })
    expect(steps).toContainEqual(
      expect.stringMatching(/^left out 2 records of topic examples .* the first at \d:\d+: not an/),
    )
    expect(outcome).toMatchObject({
      kind: 'candidate',
      version: {
        number: 1,
        dimension: RANGE,
        users: 0,
        state: 'candidate',
        lineage: {
          code: 'linear/1',
          hyperparameters: { loss: 'logistic', positiveLabel: 2, negativeLabel: 1, features: 10 },
          metrics: { observations: 300, unparsable: 2, tolerance: 1e-4 },
        },
      },
    })
    if (outcome.kind !== 'candidate') throw new Error(outcome.kind)
    expect(isLinear(outcome.version)).toBe(true)
    const [marker] = await readyVersions(topics, 'svm-model')
    expect(marker).toMatchObject({ version: 1, name: 'SVM_MODEL', dimension: RANGE, users: 0 })
    expect(isCandidate(marker!)).toBe(true)
    const weights = await weightsOf(1)
    expect(weights.get(1)).toBeGreaterThan(0)
    expect(weights.get(9)).toBeLessThan(0)
    expect(weights.has(BIAS_FEATURE)).toBe(true)
    expect(readdirSync(join(folder, 'temporary'))).toEqual([])
  })

  it('follows the newest examples with a half-life, where older ones said the opposite', async () => {
    const turned = examples(300).map((line) =>
      line.startsWith('2') ? `1${line.slice(1)}` : `2${line.slice(1)}`,
    )
    await feed([...turned, ...examples(60)])
    await retrain(options())
    expect((await weightsOf(1)).get(1)).toBeLessThan(0)
    const linear = { loss: 'logistic', threads: 0, range: RANGE, halfLifeMs: 15_000 } as const
    const outcome = await retrain({ ...options(), linear })
    expect(outcome).toMatchObject({
      version: { number: 2, lineage: { hyperparameters: { halfLifeMs: 15_000 } } },
    })
    expect((await weightsOf(2)).get(1)).toBeGreaterThan(0)
  })

  it('chooses the half-life by the newest tenth, and says it', async () => {
    const turned = examples(300).map((line) =>
      line.startsWith('2') ? `1${line.slice(1)}` : `2${line.slice(1)}`,
    )
    await feed([...turned, ...examples(300)])
    const linear = { loss: 'logistic', threads: 0, range: RANGE, halfLifeMs: 'auto' } as const
    const steps: string[] = []
    const outcome = await retrain({ ...options(), linear, onStep: (step) => steps.push(step) })
    expect(outcome).toMatchObject({
      version: {
        lineage: { hyperparameters: { halfLifeMs: 'auto', chosenHalfLifeMs: expect.any(Number) } },
      },
    })
    expect((await weightsOf(1)).get(1)).toBeGreaterThan(0)
    expect(steps).toContainEqual(
      expect.stringMatching(/^half-life: .*, which predicts the newest tenth best/),
    )
  })

  it('counts an example as often as its importance says, and has zeros with l1', async () => {
    const named = (label: number, importance: number, name: string): string =>
      `${label} ${importance} |a ${name}`
    const both = ['x', 'y'].flatMap((name, n) => [
      named(2, n === 0 ? 5 : 1, name),
      named(1, 2, name),
    ])
    await feed(Array.from({ length: 50 }, () => [...both, '2 |a none', '1 |a none']).flat())
    const linear = { loss: 'logistic', threads: 0, range: RANGE, hashBits: 8, crosses: '' } as const
    const outcome = await retrain({ ...options(), linear: { ...linear, l1: 8 } })
    expect(outcome).toMatchObject({ version: { lineage: { hyperparameters: { l1: 8 } } } })
    const weights = [...(await weightsOf(1))].filter(([id]) => id !== BIAS_FEATURE)
    // Positive examples of x count five times to two, those of y once; the third name says nothing.
    expect(weights.map(([, weight]) => Math.sign(weight)).sort()).toEqual([-1, 1])
  })

  it('does nothing for the same inputs, and publishes the next number for more', async () => {
    await feed(examples(300))
    await retrain(options())
    const before = await weightsOf(1)
    expect(await retrain(options())).toMatchObject({ kind: 'exists', version: { number: 1 } })
    await feed(examples(60))
    expect(await retrain(options())).toMatchObject({ kind: 'candidate', version: { number: 2 } })
    expect(await weightsOf(1)).toEqual(before)
  })

  it('takes the block length of the live version', async () => {
    await feed(examples(300))
    await retrain(options())
    const command = { kind: 'promote', name: 'svm-model', number: 1, expectedLive: 0 } as const
    await options().registry.require({ ...command, atMs: 1, force: 'the first version' })
    await feed(examples(60))
    const linear = { loss: 'hinge', threads: 0 } as const
    const outcome = await retrain({ ...options(), linear } as RetrainOptions)
    expect(outcome).toMatchObject({ kind: 'candidate', version: { dimension: RANGE } })
  })

  it('keeps the labels of the live version, and leaves out examples with another one', async () => {
    await feed(examples(300))
    await retrain(options())
    const command = { kind: 'promote', name: 'svm-model', number: 1, expectedLive: 0 } as const
    await options().registry.require({ ...command, atMs: 1, force: 'the first version' })
    await feed([...examples(60), '0 1:1', '5 9:1'])
    const steps: string[] = []
    const outcome = await retrain({ ...options(), onStep: (step) => steps.push(step) })
    expect(outcome).toMatchObject({
      kind: 'candidate',
      version: {
        lineage: {
          hyperparameters: { positiveLabel: 2, negativeLabel: 1 },
          metrics: { observations: 360, unparsable: 2 },
        },
      },
    })
    expect(steps.join()).toContain('left out 2 records of topic examples')
    expect(steps.join()).toContain('its label 0 is neither 2 nor 1')
  })

  it.each([undefined, 50])(
    'leaves out examples with features that a model has no room for: %s',
    async (limit) => {
      const most = limit ?? 2 ** 27
      await feed([...examples(300), `2 1:1 ${most}:1`, `1 ${2 ** 32 - 2}:1`])
      const steps: string[] = []
      const given = limit === undefined ? {} : { maxFeatures: limit }
      const linear = { loss: 'logistic', threads: 0, range: RANGE, ...given } as const
      const outcome = await retrain({
        ...options({ linear } as Partial<RetrainOptions>),
        onStep: (step) => steps.push(step),
      })
      expect(outcome).toMatchObject({
        kind: 'candidate',
        version: { lineage: { metrics: { observations: 300, unparsable: 2 } } },
      })
      expect(steps.join()).toContain(
        `its feature ${most} is not below the limit of ${most} features (--max-features)`,
      )
    },
  )

  it('is exported and imported with its blocks of weights, and with what the training says of each weight', async () => {
    await feed(examples(300))
    const outcome = await retrain(options())
    if (outcome.kind !== 'candidate') throw new Error(outcome.kind)
    const file = join(folder, 'one.weirmodel')
    await exportVersion(topics, outcome.version, file)
    const elsewhere = new LogTopics(join(folder, 'elsewhere'))
    const registry = new ModelRegistry({
      place: { logDirectory: join(folder, 'other-registry') },
      clock: systemClock,
    })
    await importVersion(elsewhere, registry, { file, model: 'svm-model', clock: systemClock })
    const before = [await weightsOf(1), await memoriesOf(1)] as const
    expect(before[1].size).toBe(outcome.version.items)
    await topics[Symbol.asyncDispose]()
    topics = elsewhere
    expect([await weightsOf(1), await memoriesOf(1)]).toEqual(before)
  })
})

describe('examples of a topic', () => {
  it('are read with their positions; a bad record changes none after it', async () => {
    await feed(['1 1:1', '2 2:1', 'bad', '1 9:1 4:1 9:2', '# nothing', '2 5:1'])
    const bad: [number, number][] = []
    const found: [number, number, number][] = []
    const ranges = [0, 1].map((partition) => ({ topic: 'examples', partition, from: 0, to: 100 }))
    const bounds = await topics.bounds('examples')
    const present = ranges.map((range) => ({ ...range, to: bounds[range.partition]!.end }))
    for await (const piece of readExamples(topics, present, (p, o) => bad.push([p, o]))) {
      for (const {
        label,
        ids: [feature],
        partition,
      } of piece) {
        found.push([partition, label, feature!])
      }
    }
    expect(bad).toEqual([
      [0, 1],
      [0, 2],
    ])
    expect(found.sort()).toEqual([
      [0, 1, 1],
      [1, 1, 4],
      [1, 2, 2],
      [1, 2, 5],
    ])
  })
})
