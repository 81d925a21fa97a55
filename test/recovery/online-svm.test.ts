import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { WeirClient } from '../../src/client/weir-client.ts'
import { LogTopics } from '../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../src/connectors/topics/scan-topic.ts'
import { systemClock } from '../../src/core/clock.ts'
import { BIAS_FEATURE } from '../../src/core/feature.ts'
import { seededRandom } from '../../src/core/random.ts'
import { ServedJob } from '../../src/jobmanager/served-job.ts'
import { VersionCoordinator } from '../../src/jobmanager/version-coordinator.ts'
import type { OnlineSvmOptions } from '../../src/jobs/online-svm.ts'
import { SvmLearningCoordinator } from '../../src/jobs/online-svm-coordinator.ts'
import { publishableWeights, publishLinear } from '../../src/jobs/publish-linear.ts'
import { SVM_MODEL } from '../../src/jobs/svm-serving-function.ts'
import { LibsvmWriter } from '../../src/models/libsvm-writer.ts'
import { decodeLinearDelta, type LinearDelta } from '../../src/models/linear-delta.ts'
import { LinearExamples } from '../../src/models/linear-model-generator.ts'
import { deltasTopic } from '../../src/models/model-delta.ts'
import { foldLinearStep } from '../../src/models/online-linear.ts'

const FEATURES = 400
const RANGE = 16
const TOPIC = 'svm-model'
const OBSERVATIONS = 'observations'
const COUNT = 2000
/** Observations between two kills. */
const BATCH = 500

/** Blocks as they must be: what was published, and every delta once, in the order of the log. */
function foldedBlocks(
  base: Float64Array,
  deltas: readonly LinearDelta[],
): Map<number, Float32Array> {
  const blocks = new Map<number, Float32Array>()
  const memories = new Map<number, Float32Array>()
  const blockOf = (block: number): Float32Array => {
    let weights = blocks.get(block)
    if (weights === undefined) {
      weights = Float32Array.from({ length: RANGE }, (_, i) => base[block * RANGE + i] ?? 0)
      blocks.set(block, weights)
      memories.set(block, new Float32Array(2 * RANGE))
    }
    return weights
  }
  for (let block = 0; block < FEATURES / RANGE; block++) blockOf(block)
  for (const { ids, values, derivative, rate } of deltas) {
    ids.forEach((id, k) => {
      const block = Math.floor(id / RANGE)
      const places = Uint16Array.of(id - block * RANGE)
      const step = { derivative, rate, places, values, valuesFrom: k }
      foldLinearStep(step, blockOf(block), memories.get(block)!)
    })
  }
  return blocks
}

it('every block is its base plus the distinct deltas, under kills', {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env['WEIR_SEED'] ?? Date.now() % 1_000_000)
  console.log(`WEIR_SEED=${seed}`)
  const random = seededRandom(seed)
  const root = mkdtempSync(join(tmpdir(), 'weir-online-svm-'))
  const logDirectory = join(root, 'log')
  const topics = new LogTopics(logDirectory)
  const base = Float64Array.from({ length: FEATURES }, () => Math.fround(0.1 * random.normal()))
  await topics.create(OBSERVATIONS, { partitions: 3 })
  // One partition of deltas gives them one order, in which the test can fold them too.
  await publishLinear(publishableWeights(base, 0), {
    log: topics,
    topic: TOPIC,
    version: 1,
    range: RANGE,
    clock: systemClock,
    partitions: 1,
  })
  const versions = new VersionCoordinator({
    model: 0,
    partitions: 1,
    clock: systemClock,
    onLive: (version) => learning.live(version),
  })
  const learning = new SvmLearningCoordinator({ partitions: 1, clock: systemClock, versions })
  const jobOptions: OnlineSvmOptions = {
    logDirectory,
    topic: TOPIC,
    observations: OBSERVATIONS,
    range: RANGE,
    rule: { loss: 'logistic' },
    mostUnderWay: 16,
  }
  const job = await ServedJob.start({
    module: new URL('../../src/jobs/online-svm.ts', import.meta.url),
    jobOptions,
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.interval': '100 ms',
      'execution.checkpointing.dir': join(root, 'checkpoints'),
      'state.backend.directory': join(root, 'state'),
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '100',
      'restart-strategy.fixed-delay.delay': '10 ms',
    },
    seed: 1,
    port: 0,
    models: [SVM_MODEL],
    coordinators: learning.coordinators,
  })
  const examples = new LinearExamples({ features: FEATURES, nonZeros: 12, noise: 0 })
  const producer = await topics.producer(OBSERVATIONS)
  const line = new LibsvmWriter()
  for (let n = 0; n < COUNT; n++) {
    const { label, ids, values } = examples.next(random)
    line.reset()
    line.add(label, ids, values)
    producer.sendRecord(null, line.bytes.slice(0, line.length), 0, n % 3, [])
    if (n % BATCH !== BATCH - 1) continue
    await producer.sync()
    // Where between two checkpoints it is, is chance.
    const least = n - BATCH + random.below(BATCH - 50)
    await vi.waitUntil(async () => (await deltaCount(topics)) > least, 30_000)
    job.execution.killSlot(random.below(2))
    await job.execution.waitFor('RESTARTING', 'RUNNING')
  }
  await job.execution.waitFor('RUNNING')
  await vi.waitUntil(async () => (await distinct(topics)).length === COUNT, 60_000)
  const deltas = await distinct(topics)
  const total = await deltaCount(topics)
  console.log(`${total - deltas.length} deltas came twice`)
  expect(total).toBeGreaterThan(deltas.length)
  const expected = foldedBlocks(base, deltas)
  expect(expected.has(Math.floor(BIAS_FEATURE / RANGE))).toBe(true)
  const client = await WeirClient.connect({ port: job.port })
  const keys = [...expected.keys()].map(String)
  const differing = async (): Promise<string[]> => {
    const rows = await client.rows(SVM_MODEL, keys)
    return keys.filter((key, i) => {
      const row = rows[i]!
      const weights = expected.get(Number(key))!
      return !row.ok || weights.some((weight, k) => weight !== row.value[k])
    })
  }
  await vi.waitUntil(async () => (await differing()).length === 0, { timeout: 30_000 })
  const fresh = Array.from({ length: 500 }, () => {
    const { label, ids, values } = examples.next(random)
    return { label, ids: ids.slice(), values: values.slice() }
  })
  const answers = await Promise.all(fresh.map((one) => client.predictLinear(SVM_MODEL, one)))
  const right = answers.filter(({ label }, n) => label === fresh[n]!.label).length
  expect(right / fresh.length).toBeGreaterThan(0.7)
  await client.close()
  await job.close()
  await producer.close()
  await topics[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

async function allDeltas(topics: LogTopics): Promise<LinearDelta[]> {
  const deltas: LinearDelta[] = []
  await scanTopic(topics, deltasTopic(TOPIC), (record) => {
    deltas.push(decodeLinearDelta(record.value()!))
    return true
  })
  return deltas
}

async function deltaCount(topics: LogTopics): Promise<number> {
  return (await allDeltas(topics)).length
}

/** The first delta of every observation, in the order of the log. */
async function distinct(topics: LogTopics): Promise<LinearDelta[]> {
  const seen = new Set<string>()
  return (await allDeltas(topics)).filter(({ partition, offset }) => {
    const id = `${partition}/${offset}`
    if (seen.has(id)) return false
    seen.add(id)
    return true
  })
}
