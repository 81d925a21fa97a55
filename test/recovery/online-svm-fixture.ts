import { join } from 'node:path'
import { vi } from 'vitest'
import type { WeirClient } from '../../src/client/weir-client.ts'
import { openTopics, type TopicsPlace } from '../../src/connectors/topics/open-topics.ts'
import { scanTopic } from '../../src/connectors/topics/scan-topic.ts'
import type { TopicProducer, TopicStore } from '../../src/connectors/topics/topic-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Random } from '../../src/core/random.ts'
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
const PARTITIONS = 3

/** What a learning job under test is started with. */
export interface SvmFixtureOptions {
  /** Folder of checkpoints, and of the log if that holds the topics. */
  readonly root: string
  readonly place: TopicsPlace
  readonly random: Random
  readonly checkpointInterval: string
}

/** A job on two slots that serves a linear model and learns it, over topics of its own. */
export class SvmLearningFixture implements AsyncDisposable {
  job: ServedJob
  readonly topics: TopicStore
  readonly examples = new LinearExamples({ features: FEATURES, nonZeros: 12, noise: 0 })
  private readonly options: SvmFixtureOptions
  private readonly producer: TopicProducer
  private readonly base: Float64Array
  private observed = 0

  private constructor(
    options: SvmFixtureOptions,
    job: ServedJob,
    topics: TopicStore,
    producer: TopicProducer,
    base: Float64Array,
  ) {
    this.options = options
    this.job = job
    this.topics = topics
    this.producer = producer
    this.base = base
  }

  /** Publishes random weights as version 1 and starts the job. */
  static async start(options: SvmFixtureOptions): Promise<SvmLearningFixture> {
    const { random } = options
    const topics = await openTopics(options.place)
    const base = Float64Array.from({ length: FEATURES }, () => Math.fround(0.1 * random.normal()))
    await topics.create(OBSERVATIONS, { partitions: PARTITIONS })
    // One partition of deltas gives them one order, in which the test can fold them too.
    await publishLinear(publishableWeights(base, 0), {
      log: topics,
      topic: TOPIC,
      version: 1,
      range: RANGE,
      clock: systemClock,
      partitions: 1,
    })
    const producer = await topics.producer(OBSERVATIONS)
    return new SvmLearningFixture(options, await startJob(options), topics, producer, base)
  }

  /** Ends the job and its threads; a new one goes on from its latest checkpoint. */
  async restart(): Promise<void> {
    await this.job.close()
    this.job = await startJob(this.options)
  }

  /** Appends observations, one partition after the other in turn. */
  async observe(count: number): Promise<void> {
    const line = new LibsvmWriter()
    for (let n = 0; n < count; n++) {
      const { label, ids, values } = this.examples.next(this.options.random)
      line.reset()
      line.add(label, ids, values)
      const partition = this.observed++ % PARTITIONS
      this.producer.sendRecord(null, line.bytes.slice(0, line.length), 0, partition, [])
    }
    await this.producer.sync()
  }

  /** Waits until the deltas of so many observations are in their topic. */
  async untilLearned(observations: number): Promise<void> {
    await vi.waitUntil(async () => (await this.distinctDeltas()).length >= observations, 60_000)
  }

  /** Ends a slot's thread and waits until the job runs again. */
  async killSlot(slot: number): Promise<void> {
    const { execution } = this.job
    const failures = execution.failures.length
    execution.killSlot(slot)
    await vi.waitUntil(() => execution.failures.length > failures, 10_000)
    await execution.waitFor('RUNNING')
  }

  /** Every delta of the topic, in its order. */
  async allDeltas(): Promise<LinearDelta[]> {
    const deltas: LinearDelta[] = []
    await scanTopic(this.topics, deltasTopic(TOPIC), (record) => {
      deltas.push(decodeLinearDelta(record.value()!))
      return true
    })
    return deltas
  }

  /** The first delta of every observation, in the order of the topic. */
  async distinctDeltas(): Promise<LinearDelta[]> {
    const seen = new Set<string>()
    return (await this.allDeltas()).filter(({ partition, offset }) => {
      const id = `${partition}/${offset}`
      if (seen.has(id)) return false
      seen.add(id)
      return true
    })
  }

  /** Waits until the served blocks are what was published with the deltas folded in, to the bit. */
  async untilServed(client: WeirClient, deltas: readonly LinearDelta[]): Promise<void> {
    const expected = foldedBlocks(this.base, deltas)
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
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.job.close()
    await this.producer.close()
    await this.topics[Symbol.asyncDispose]()
  }
}

async function startJob(options: SvmFixtureOptions): Promise<ServedJob> {
  const { root, place, checkpointInterval } = options
  const versions = new VersionCoordinator({
    model: 0,
    partitions: 1,
    clock: systemClock,
    onLive: (version) => learning.live(version),
  })
  const learning = new SvmLearningCoordinator({ partitions: 1, clock: systemClock, versions })
  const jobOptions: OnlineSvmOptions = {
    ...place,
    topic: TOPIC,
    observations: OBSERVATIONS,
    range: RANGE,
    rule: { loss: 'logistic' },
    mostUnderWay: 16,
  }
  return await ServedJob.start({
    module: new URL('../../src/jobs/online-svm.ts', import.meta.url),
    jobOptions,
    jobId: 'online-svm',
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.interval': checkpointInterval,
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
}

/** Blocks as they must be: what was published, and every delta once, in the order of the topic. */
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
