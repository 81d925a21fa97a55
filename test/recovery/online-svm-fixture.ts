import { join } from 'node:path'
import type { WeirClient } from '../../src/client/weir-client.ts'
import { sourceTopics } from '../../src/cluster/rest/job/source-topics.ts'
import { openTopics } from '../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../src/connectors/topics/place.ts'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import type { TopicProducer, TopicStore } from '../../src/connectors/topics/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { BIAS_FEATURE } from '../../src/core/feature.ts'
import type { Random } from '../../src/core/random.ts'
import {
  type LinearLearningCoordinator,
  linearLearning,
} from '../../src/jobs/learning/linear/coordinator.ts'
import type { OnlineSvmOptions } from '../../src/jobs/learning/linear/job.ts'
import { ServedJob } from '../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../src/kinds/linear/publish.ts'
import { decodeLinearDelta, type LinearDelta } from '../../src/models/linear/delta.ts'
import { type FtrlOptions, ftrlFold } from '../../src/models/linear/ftrl.ts'
import { LibsvmWriter } from '../../src/models/linear/libsvm-writer.ts'
import { LinearExamples } from '../../src/models/linear/model-generator.ts'
import { foldLinearStep } from '../../src/models/linear/online-rule.ts'
import { SVM_MODEL } from '../../src/models/topic/linear-serving-function.ts'
import { MODEL_ROWS_UID } from '../../src/models/topic/operator.ts'
import { deltasTopic } from '../../src/models/topic/topics.ts'
import { VersionCoordinator } from '../../src/models/topic/version-coordinator.ts'
import { until } from '../run/until.ts'
import { metric } from '../system/write-back/fixture.ts'

const FEATURES = 400
const RANGE = 16
const TOPIC = 'svm-model'
const OBSERVATIONS = 'observations'
const PARTITIONS = 3

/** Options of a learning job under test. */
export interface SvmFixtureOptions {
  /** Folder of checkpoints, and of the log if the topics are in a log. */
  readonly root: string
  readonly place: TopicsPlace
  readonly random: Random
  readonly checkpointInterval: string
  /** @default 16 */
  readonly mostUnderWay?: number
  /** Of the topic of observations. @default 3 */
  readonly partitions?: number
  /** Weights are learned by FTRL-proximal. @default by the adaptive gradient */
  readonly ftrl?: FtrlOptions
  /** All published weights are 0. @default random ones */
  readonly isEmpty?: boolean
}

interface SvmFixtureParts extends Pick<SvmLearningFixture, 'job' | 'learning' | 'topics'> {
  readonly options: SvmFixtureOptions
  readonly producer: TopicProducer
  readonly base: Float64Array
}

/** A job on two slots that serves a linear model and learns it, with its own topics. */
export class SvmLearningFixture implements AsyncDisposable {
  job: ServedJob
  readonly topics: TopicStore
  /** Coordinates learning in `job`. */
  learning: LinearLearningCoordinator
  readonly examples = new LinearExamples({ features: FEATURES, nonZeros: 12, noise: 0 })
  /** The published weights of version 1, without a memory of their training. */
  readonly base: Float64Array
  private readonly options: SvmFixtureOptions
  private readonly producer: TopicProducer
  private observed = 0

  private constructor({ options, job, learning, topics, producer, base }: SvmFixtureParts) {
    this.options = options
    this.job = job
    this.learning = learning
    this.topics = topics
    this.producer = producer
    this.base = base
  }

  /** Publishes random weights as version 1 and starts the job. */
  static async start(options: SvmFixtureOptions): Promise<SvmLearningFixture> {
    const { random } = options
    const topics = await openTopics(options.place)
    const scale = options.isEmpty === true ? 0 : 0.1
    const base = Float64Array.from({ length: FEATURES }, () => Math.fround(scale * random.normal()))
    await topics.create(OBSERVATIONS, { partitions: options.partitions ?? PARTITIONS })
    // With one partition, the deltas have one order, and the test can fold them in it.
    await publishLinear(publishableWeights(base, 0), {
      log: topics,
      topic: TOPIC,
      version: 1,
      range: RANGE,
      clock: systemClock,
      partitions: 1,
    })
    const producer = await topics.producer(OBSERVATIONS)
    const started = await startJob(options)
    return new SvmLearningFixture({ options, ...started, topics, producer, base })
  }

  /** Ends the job and its threads. A new job continues from its latest checkpoint. */
  async restart(): Promise<void> {
    await this.job.close()
    const { job, learning } = await startJob(this.options)
    this.job = job
    this.learning = learning
  }

  /** Appends observations to the partitions in turn. */
  async observe(count: number): Promise<void> {
    const line = new LibsvmWriter()
    for (let n = 0; n < count; n++) {
      const { label, ids, values } = this.examples.next(this.options.random)
      line.reset()
      line.add(label, ids, values)
      const partition = this.observed++ % (this.options.partitions ?? PARTITIONS)
      this.producer.sendRecord(null, line.bytes.slice(0, line.length), 0, partition, [])
    }
    await this.producer.sync()
  }

  /** Waits until the deltas of this number of observations are in their topic. */
  async untilLearned(observations: number): Promise<void> {
    const isLearned = async (): Promise<boolean> =>
      (await this.distinctDeltas()).length >= observations
    await until(`deltas of ${observations} observations`, isLearned, { everyMs: 20 })
  }

  /** Ends a slot's thread and waits until the job runs again. */
  async killSlot(slot: number): Promise<void> {
    const { execution } = this.job
    const failures = execution.failures.length
    execution.killSlot(slot)
    await until('the slot is lost', () => execution.failures.length > failures)
    await execution.waitFor('RUNNING')
  }

  /** The sum of a metric over all slots. */
  async metric(name: string): Promise<number> {
    return await metric(this.job, name)
  }

  /** Waits until learning is stopped in so many slots. */
  async untilStopped(slots: number): Promise<void> {
    await until(`learning is stopped in ${slots} slots`, async () => {
      if (this.job.execution.status !== 'RUNNING') return false
      return (await this.metric('learningStopped')) === slots
    })
  }

  /** Every delta of the topic, in order. */
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

  /** Waits until all observations and deltas are read. */
  async untilRead(): Promise<void> {
    await until('the sources are read to their ends', async () => {
      return (await sourceTopics(this.job.execution)).every(({ lag }) => lag === 0)
    })
  }

  /** Waits until the served blocks are bit-identical to the published blocks plus all deltas. */
  async untilServed(client: WeirClient, deltas: readonly LinearDelta[]): Promise<void> {
    const expected = this.foldedBlocks(deltas)
    const keys = [...expected.keys()].map(String)
    const areEqual = async (): Promise<boolean> => {
      const rows = await client.rows(SVM_MODEL, keys)
      return keys.every((key, i) => {
        const row = rows[i]!
        const weights = expected.get(Number(key))!
        return row.ok && weights.every((weight, k) => weight === row.value[k])
      })
    }
    await until('the served rows are equal', areEqual, { everyMs: 20 })
  }

  /** The expected blocks: the published ones plus each delta once, in the order of the topic. */
  foldedBlocks(deltas: readonly LinearDelta[]): Map<number, Float32Array> {
    return foldedBlocks(this.base, deltas, this.options.ftrl)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.job.close()
    await this.producer.close()
    await this.topics[Symbol.asyncDispose]()
  }
}

async function startJob(
  options: SvmFixtureOptions,
): Promise<Pick<SvmLearningFixture, 'job' | 'learning'>> {
  const { root, place, checkpointInterval, mostUnderWay = 16, ftrl } = options
  const versions = new VersionCoordinator({
    model: 0,
    partitions: 1,
    clock: systemClock,
    onLive: (version) => learning.live(version, { version }),
  })
  const learning = linearLearning({ clock: systemClock })
  const jobOptions: OnlineSvmOptions = {
    ...place,
    topic: TOPIC,
    observations: OBSERVATIONS,
    range: RANGE,
    rule: { loss: 'logistic', ...(ftrl === undefined ? {} : { ftrl }) },
    mostUnderWay,
  }
  const job = await ServedJob.start({
    module: new URL('../../src/jobs/learning/linear/job.ts', import.meta.url),
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
    coordinators: { ...learning.coordinators, [MODEL_ROWS_UID]: versions },
  })
  return { job, learning }
}

function foldedBlocks(
  base: Float64Array,
  deltas: readonly LinearDelta[],
  ftrl: FtrlOptions | undefined,
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
  const ofFeatures = ftrl === undefined ? foldLinearStep : ftrlFold(ftrl, -1)
  const ofIntercept = ftrl === undefined ? foldLinearStep : ftrlFold(ftrl, BIAS_FEATURE % RANGE)
  for (const { ids, values, derivative, rate } of deltas) {
    ids.forEach((id, k) => {
      const block = Math.floor(id / RANGE)
      const indices = Uint16Array.of(id - block * RANGE)
      const step = { derivative, rate, indices, values: values.subarray(k, k + 1) }
      const fold = id === BIAS_FEATURE ? ofIntercept : ofFeatures
      fold(step, blockOf(block), memories.get(block)!)
    })
  }
  return blocks
}
