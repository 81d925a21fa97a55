import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { learnSvmJob } from '../../../src/jobs/serve/learning-svm.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../../src/kinds/linear/publish.ts'
import { LibsvmWriter } from '../../../src/models/linear/libsvm-writer.ts'
import { LinearExamples } from '../../../src/models/linear/model-generator.ts'
import type { OnlineLinearSettings } from '../../../src/models/linear/online-rule.ts'
import { SVM_MODEL } from '../../../src/models/topic/linear-serving-function.ts'
import { weightMemoryIn } from '../../../src/models/topic/row-memory.ts'
import { until } from '../../run/until.ts'
import { hasReadAll, metric } from './fixture.ts'

const TOPIC = 'svm-model'
const OBSERVATIONS = 'examples'
const FEATURES = 400
const RANGE = 16
const COUNT = 600

/** No value of a feature is larger, and no derivative of the loss. */
const LARGEST = 1

/**
 * Sums of squared gradients go on from those before: none falls, and none grows by more than that of so many examples. A weight
 * whose memory is lost would count as one of 10,000 examples.
 */
function expectGrown(before: readonly number[], after: readonly number[]): void {
  expect(after).toHaveLength(before.length)
  const grown = after.map((sum, i) => sum - before[i]!)
  expect(Math.min(...grown)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...grown)).toBeGreaterThan(0)
  expect(Math.max(...grown)).toBeLessThanOrEqual(COUNT * LARGEST)
}

it('writes learned blocks of a linear model back, and a fresh learner continues from them', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-write-back-linear-'))
  const data = dataDirectory(root)
  await using topics = new LogTopics(data.log)
  const random = seededRandom(4)
  const examples = new LinearExamples({ features: FEATURES, nonZeros: 12, noise: 0 })
  await topics.create(OBSERVATIONS, { partitions: 2 })
  const weights = Float64Array.from({ length: FEATURES }, () => 0.1 * random.normal())
  // What a training says of each weight, the intercept's last.
  const [squaresOfTraining, scales] = [1, LARGEST].map((value) =>
    new Float64Array(FEATURES + 1).fill(value),
  ) as [Float64Array, Float64Array]
  const prior = { squares: squaresOfTraining, scales }
  await publishLinear(
    { ...publishableWeights(weights, 0), prior },
    { log: topics, topic: TOPIC, version: 1, range: RANGE, clock: systemClock, partitions: 2 },
  )

  const observe = async (count: number): Promise<void> => {
    const producer = await topics.producer(OBSERVATIONS)
    const line = new LibsvmWriter()
    for (let n = 0; n < count; n++) {
      const { label, ids, values } = examples.next(random)
      line.reset()
      line.add(label, ids, values)
      producer.sendRecord(null, line.bytes.slice(0, line.length), 0, n % 2, [])
    }
    await producer.sync()
    await producer.close()
  }
  const learn = async (
    process: string,
    rule: OnlineLinearSettings = { learningRate: 0.5 },
  ): Promise<ServedJob> => {
    const learning = Promise.withResolvers<void>()
    const job = await learnSvmJob({
      ...{ topic: TOPIC, slots: 2, queryThreads: 1, port: 0, configuration: {} },
      data: {
        ...data,
        checkpoints: join(root, process, 'checkpoints'),
        state: join(root, process, 'state'),
      },
      job: { observations: OBSERVATIONS, rule: { loss: 'logistic', ...rule } },
      writeBackMs: 3_600_000,
      onLive: () => {},
      onLearning: () => learning.resolve(),
    })
    await learning.promise
    return job
  }
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const blocks = async (job: ServedJob): Promise<Map<string, string>> => {
    const reader = await job.reader()
    const entries = await reader.scan(SVM_MODEL, { from: '', to: '\u{10ffff}', limit: 1000 })
    return new Map(entries.map(({ key, value }) => [`${key}-W`, hex(value)]))
  }
  const written = async (): Promise<Map<string, string>> => {
    const rows = new Map<string, string>()
    await scanTopic(topics, TOPIC, (record) => {
      const key = Buffer.from(record.key()!).toString()
      if (!key.startsWith('!')) rows.set(key.replace(/@1$/, ''), hex(record.value()!))
      return true
    })
    return rows
  }
  /** Sums of squared gradients beside the weights, as the topic has them last; those of FTRL-proximal are below 0 there. */
  const squares = async (): Promise<number[]> => {
    const blocks = new Map<string, Float32Array>()
    await scanTopic(topics, TOPIC, (record) => {
      const memory = weightMemoryIn(record.headers(), RANGE)
      if (memory !== undefined) blocks.set(Buffer.from(record.key()!).toString(), memory)
      return true
    })
    const sorted = [...blocks].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.flatMap(([, memory]) => [...memory.subarray(0, RANGE)].map(Math.abs))
  }
  const learned = (job: ServedJob, observations: number): Promise<unknown> =>
    until(`${observations} observations are folded`, async () => {
      if ((await metric(job, 'observationsLearned')) < observations) return false
      return await hasReadAll(job, topics, TOPIC, OBSERVATIONS)
    })

  const published = await squares()
  const first = await learn('first')
  await observe(COUNT)
  await learned(first, COUNT)
  const served = await blocks(first)
  await first.close()
  expect(await written()).toEqual(served)
  const ofFirst = await squares()
  expectGrown(published, ofFirst)

  // The second goes on by FTRL-proximal, and the third one from what that has written.
  let [before, squaresBefore] = [served, ofFirst]
  for (const process of ['second', 'third']) {
    const job = await learn(process, { ftrl: { alpha: 0.1, l1: 0.5 } })
    expect(await blocks(job)).toEqual(before)
    await observe(COUNT)
    await learned(job, COUNT)
    expect(await metric(job, 'observationsLearned')).toBe(COUNT)
    const after = await blocks(job)
    expect(after).not.toEqual(before)
    await job.close()
    expect(await written()).toEqual(after)
    const squaresAfter = await squares()
    expectGrown(squaresBefore, squaresAfter)
    ;[before, squaresBefore] = [after, squaresAfter]
  }
  rmSync(root, { recursive: true, force: true })
})
