import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../../src/core/clock.ts'
import { isWeirError } from '../../../../src/core/errors.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import type { ExampleError } from '../../../../src/jobs/learning/error/example-error.ts'
import { LEARNING_ERROR_STATE } from '../../../../src/jobs/learning/error/learning-error.ts'
import { dataDirectory } from '../../../../src/jobs/serve/data-directory.ts'
import { learnSvmJob } from '../../../../src/jobs/serve/learning-svm.ts'
import { registryPlace } from '../../../../src/jobs/serve/registry-place.ts'
import type { ServedJob } from '../../../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../../../src/kinds/linear/publish.ts'
import { SVM_MODEL } from '../../../../src/models/topic/linear-serving-function.ts'
import { ModelRegistry } from '../../../../src/models/versions/model-registry.ts'
import { inProcess } from '../../../cli/command-here.ts'
import { until } from '../../../run/until.ts'
import { metric } from '../../write-back/fixture.ts'

const TOPIC = 'svm-model'
const EXAMPLES = 'examples'
const FEATURES = 300
const RANGE = 16
const encoder = new TextEncoder()

/** A rate at which the weights diverge. */
const DIVERGING = 1000

/** A data folder with a published linear model and the job that learns it, as `weir learn svm` runs it. */
class LinearService {
  readonly warnings: string[] = []
  private readonly random = seededRandom(6)
  private readonly weights = Float32Array.from({ length: FEATURES }, () => this.random.normal())
  private readonly data: ReturnType<typeof dataDirectory>
  private learningBegan = 0
  private job!: ServedJob

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'weir-stops-svm-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    this.data = dataDirectory(folder)
  }

  async publish(): Promise<void> {
    await using topics = new LogTopics(this.data.log)
    await topics.create(EXAMPLES, { partitions: 2 })
    const place = registryPlace({ logDirectory: this.data.log }, this.data.root)
    const registry = new ModelRegistry({ place, clock: systemClock })
    await publishLinear(publishableWeights(this.weights, 0), {
      ...{ log: topics, topic: TOPIC, range: RANGE, clock: systemClock, registry },
    })
  }

  async start(learningRate: number, { slots = 2, neverStop = false } = {}): Promise<void> {
    const [stops, begun] = [this.stopsSaid, this.learningBegan]
    this.job = await learnSvmJob({
      ...{ topic: TOPIC, slots, queryThreads: 1, port: 0, data: this.data },
      configuration: { 'restart-strategy.type': 'none' },
      job: { observations: EXAMPLES, rule: { loss: 'logistic', learningRate }, neverStop },
      onLive: () => {},
      onLearning: () => void this.learningBegan++,
      onWarning: (warning) => void this.warnings.push(warning),
    })
    await this.job.execution.waitFor('RUNNING')
    await until('version 1 is learned on, or learning is stopped', () => {
      return this.learningBegan > begun || this.stopsSaid > stops
    })
  }

  /** How often the job has said that learning is stopped. */
  get stopsSaid(): number {
    return this.warnings.filter((text) => text.includes('is stopped')).length
  }

  /** Appends examples with the labels of the published weights, one in ten wrong. */
  async send(count: number): Promise<void> {
    await using topics = new LogTopics(this.data.log)
    const producer = await topics.producer(EXAMPLES)
    const { random, weights } = this
    for (let n = 0; n < count; n++) {
      const ids = Array.from({ length: FEATURES }, (_, id) => id).filter(
        (id) => id > 0 && random.next() < 0.04,
      )
      const decision = ids.reduce((sum, id) => sum + weights[id]!, 0)
      const isPositive = decision > 0 !== random.next() < 0.1
      const line = `${isPositive ? '+1' : '-1'}${ids.map((id) => ` ${id}:1`).join('')}`
      producer.sendRecord(null, encoder.encode(line), 0, n % 2, [])
    }
    await producer.sync()
    await producer.close()
  }

  async metric(name: string): Promise<number> {
    return await metric(this.job, name)
  }

  /** LEARNING_ERROR when it is as wanted. */
  async error(what: string, isWanted: (error: ExampleError) => boolean): Promise<ExampleError> {
    let error: ExampleError | undefined
    await until(
      () => `${what}: ${JSON.stringify(error)}`,
      async () => {
        const reader = await this.job.reader()
        const [answer] = await reader.values(LEARNING_ERROR_STATE, ['1']).catch(restoring)
        error = answer?.ok === true ? (unpack(answer.value) as ExampleError) : undefined
        return error !== undefined && isWanted(error)
      },
    )
    return error!
  }

  /** Blocks whose weights are not those that were published. */
  async changedBlocks(): Promise<readonly string[]> {
    const reader = await this.job.reader()
    const range = { from: '', to: '\u{10ffff}', limit: 1000 }
    let entries: Awaited<ReturnType<typeof reader.scan>> = []
    await until('all blocks are restored', async () => {
      entries = await reader.scan(SVM_MODEL, range).catch(restoring)
      return entries.length > 0
    })
    return entries.flatMap(({ key, value }) => {
      const served = new Float32Array(Uint8Array.from(value).buffer)
      const first = Number(key) * RANGE
      return served.every((weight, i) => weight === (this.weights[first + i] ?? 0)) ? [] : [key]
    })
  }

  /** Lets the job learn again. */
  async resume(): Promise<string> {
    const place = ['--model', TOPIC, '--data-dir', this.data.root]
    const { code, stdout, stderr } = await inProcess(['learn', 'resume', ...place])
    expect(code, stderr).toBe(0)
    return stdout
  }

  async stop(): Promise<void> {
    await this.job.close()
  }
}

function restoring(failure: unknown): never[] {
  if (isWeirError(failure, 'RESTORING')) return []
  throw failure
}

it('learning that makes a linear model worse stops, and the version is served as it was published until it is resumed', async () => {
  const service = new LinearService()
  await service.publish()
  await service.start(DIVERGING)
  await service.send(4000)
  await until(
    () => `learning is stopped; warnings ${JSON.stringify(service.warnings)}`,
    () => service.stopsSaid > 0,
  )
  console.info(service.warnings)
  expect(service.warnings[0]).toMatch(
    /what was learned on version 1 makes its predictions certainly worse \(mean loss .*, without learning .*\), so learning stops/,
  )
  const all = (error: ExampleError) => error.isStopped === true && error.examples === 4000
  const error = await service.error('LEARNING_ERROR says so, of all examples', all)
  expect(error.loss).toBeGreaterThan(error.frozenLoss)
  expect(await service.changedBlocks()).toEqual([])
  expect(await service.metric('learningStopped')).toBe(2)
  expect(await service.metric('observationsLeftOut')).toBeGreaterThan(0)
  await service.stop()

  // It stays so with another number of slots, whatever the rate is.
  await service.start(0.1, { slots: 3 })
  await service.send(100)
  await service.error('the examples are predicted', ({ examples }) => examples === 4100)
  expect(await service.changedBlocks()).toEqual([])

  expect(await service.resume()).toContain('goes on, from the published rows')
  await service.error('LEARNING_ERROR says so', ({ isStopped }) => isStopped === false)
  await service.send(500)
  await service.error('all are learned', ({ examples }) => examples === 4600)
  await until('the blocks have changed', async () => (await service.changedBlocks()).length > 0)
  expect(await service.metric('learningStopped')).toBe(0)
  await service.stop()
})

it('a linear job that is never to stop learns on', async () => {
  const service = new LinearService()
  await service.publish()
  await service.start(DIVERGING, { neverStop: true })
  await service.send(3000)
  const error = await service.error('all are learned', ({ examples }) => examples === 3000)
  // Four is more than that of a decision of 0.
  expect(error.fadedLoss).toBeGreaterThan(4)
  expect(error.isStopped).toBe(false)
  expect(service.warnings).toEqual([])
  await service.stop()
})
