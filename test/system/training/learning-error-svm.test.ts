import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { expect, it, onTestFinished } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { isWeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import type { ExampleError } from '../../../src/jobs/learning/error/example-error.ts'
import { LEARNING_ERROR_STATE } from '../../../src/jobs/learning/error/learning-error.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { learnSvmJob } from '../../../src/jobs/serve/learning-svm.ts'
import type { ServedJob } from '../../../src/jobs/served-job.ts'
import { publishableWeights, publishLinear } from '../../../src/kinds/linear/publish.ts'
import { until } from '../../run/until.ts'
import { metric } from '../write-back/fixture.ts'

const TOPIC = 'svm-model'
const OBSERVATIONS = 'examples'
const FEATURES = 300
const PREQUENTIAL = { window: 50, fading: 0.98 }
const encoder = new TextEncoder()
const random = seededRandom(6)
const weights = Float32Array.from({ length: FEATURES }, () => random.normal())

/** An example with its decision value by plain products of the published weights. */
interface Example {
  readonly line: string
  readonly isPositive: boolean
  readonly decision: number
}

/** Labels are those of the weights, one in ten wrong; `isTurned`: all are turned. */
function example(isTurned: boolean): Example {
  const ids = Array.from({ length: FEATURES }, (_, id) => id)
    .filter((id) => id > 0 && random.next() < 0.04)
    .slice(0, 20)
  const values = ids.map(() => Math.round(1000 * random.normal()) / 1000)
  const decision = ids.reduce((sum, id, k) => sum + weights[id]! * Math.fround(values[k]!), 0)
  const isPositive = (decision > 0 !== isTurned) !== random.next() < 0.1
  const features = ids.map((id, k) => ` ${id}:${values[k]}`).join('')
  return { line: `${isPositive ? '+1' : '-1'}${features}`, isPositive, decision }
}

const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length
const lossOf = ({ isPositive, decision }: Example) =>
  Math.max(0, 1 - (isPositive ? decision : -decision))
const rightOf = ({ isPositive, decision }: Example) => (decision > 0 === isPositive ? 1 : 0)

function faded(values: readonly number[]): number {
  const weightsOf = values.map((_, i) => PREQUENTIAL.fading ** (values.length - 1 - i))
  const sum = values.reduce((total, value, i) => total + value * weightsOf[i]!, 0)
  return sum / weightsOf.reduce((total, weight) => total + weight, 0)
}

function area(examples: readonly Example[]): number {
  const negatives = examples.filter(({ isPositive }) => !isPositive)
  const positives = examples.filter(({ isPositive }) => isPositive)
  return mean(
    positives.map(({ decision }) =>
      mean(negatives.map((other) => (decision > other.decision ? 1 : 0))),
    ),
  )
}

/** Ends a slot's thread and waits until the job runs again. */
async function kill({ execution }: ServedJob, slot: number): Promise<void> {
  const failures = execution.failures.length
  execution.killSlot(slot)
  await until('the slot is lost', () => execution.failures.length > failures)
  await execution.waitFor('RUNNING')
}

/** LEARNING_ERROR when it is of so many examples, and of the slots of now where `isOfNow` says so. */
async function errorOf(
  job: ServedJob,
  examples: number,
  isOfNow: (found: ExampleError) => boolean = () => true,
): Promise<ExampleError> {
  let found: ExampleError | undefined
  await until(
    () => `LEARNING_ERROR is of ${examples} examples: ${JSON.stringify(found)}`,
    async () => {
      const reader = await job.reader()
      const asked = reader.values(LEARNING_ERROR_STATE, ['1'])
      const [answer] = await asked.catch((failure: unknown) => {
        if (isWeirError(failure, 'RESTORING')) return []
        throw failure
      })
      found = answer?.ok === true ? (unpack(answer.value) as ExampleError) : undefined
      return found?.examples === examples && isOfNow(found)
    },
  )
  return found as ExampleError
}

it('LEARNING_ERROR of a linear model has all its figures, through stop, kill and another parallelism', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-learning-error-svm-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const data = dataDirectory(root)
  await using topics = new LogTopics(data.log)
  await topics.create(OBSERVATIONS, { partitions: 2 })
  await publishLinear(publishableWeights(weights, 0), {
    ...{ log: topics, topic: TOPIC, version: 1, range: 16, clock: systemClock, partitions: 2 },
  })
  let job!: ServedJob
  const start = async (slots: number): Promise<void> => {
    const learning = Promise.withResolvers<void>()
    job = await learnSvmJob({
      ...{ topic: TOPIC, slots, queryThreads: 1, port: 0, data },
      configuration: {
        'execution.checkpointing.interval': '100 ms',
        'restart-strategy.type': 'fixed-delay',
        'restart-strategy.fixed-delay.attempts': '10',
        'restart-strategy.fixed-delay.delay': '10 ms',
      },
      job: {
        observations: OBSERVATIONS,
        // Steps so small that the weights stay as they were published.
        rule: { loss: 'hinge', learningRate: 1e-12 },
        prequential: PREQUENTIAL,
      },
      onLive: () => {},
      onLearning: () => learning.resolve(),
    })
    await learning.promise
  }
  /** By partition; each has one order. */
  const sent: [Example[], Example[]] = [[], []]
  const send = async (partition: 0 | 1, count: number, isTurned = false): Promise<void> => {
    const producer = await topics.producer(OBSERVATIONS)
    for (let n = 0; n < count; n++) {
      const made = example(isTurned)
      sent[partition].push(made)
      producer.sendRecord(null, encoder.encode(made.line), 0, partition, [])
    }
    await producer.sync()
    await producer.close()
  }
  const error = (slots: number): Promise<ExampleError> =>
    errorOf(job, sent[0].length + sent[1].length, (found) =>
      found.slots.every((part) => part.parallelism === slots),
    )
  const expectSums = ({ loss, accuracy }: ExampleError): void => {
    const all = sent.flat()
    expect(loss).toBeCloseTo(mean(all.map(lossOf)), 4)
    expect(accuracy).toBeCloseTo(mean(all.map(rightOf)), 9)
  }
  const expectParts = (found: ExampleError): void => {
    expectSums(found)
    for (const examples of sent) {
      const part = found.slots.find((each) => each.examples === examples.length)!
      const newest = examples.slice(-PREQUENTIAL.window)
      expect(part.windowLoss).toBeCloseTo(mean(newest.map(lossOf)), 4)
      expect(part.windowAccuracy).toBeCloseTo(mean(newest.map(rightOf)), 6)
      expect(part.fadedLoss).toBeCloseTo(faded(examples.map(lossOf)), 4)
      expect(part.fadedAccuracy).toBeCloseTo(faded(examples.map(rightOf)), 6)
      expect(part.auc).toBeCloseTo(area(newest), 6)
    }
  }

  await start(2)
  await send(0, 1500)
  // The labels turn shortly before the stop: an empty detector sees no rise after it.
  await send(0, 10, true)
  await send(1, 200)
  await send(1, 1)
  expectParts(await error(2))
  expect(await metric(job, 'observationsRead')).toBe(1711)
  expect(await metric(job, 'observationsLearned')).toBe(1711)
  await job.close()

  await start(2)
  await send(0, 700, true)
  const after = await error(2)
  expectParts(after)
  expect(after.alarms['page-hinkley'].count).toBe(1)

  await send(1, 60)
  await kill(job, 1)
  await send(1, 40)
  const killed = await error(2)
  expectParts(killed)
  await job.close()

  await start(1)
  const joined = await error(1)
  expectSums(joined)
  expect(joined.alarms).toEqual(killed.alarms)
  const share = sent[0].length / (sent[0].length + sent[1].length)
  const places = [share, 1 - share].map((part) => Math.round(PREQUENTIAL.window * part))
  const newest = sent.flatMap((examples, partition) => examples.slice(-places[partition]!))
  expect(joined.windowLoss).toBeCloseTo(mean(newest.map(lossOf)), 4)
  expect(joined.auc).toBeCloseTo(area(newest), 6)
  await send(1, 100)
  const end = await error(1)
  expectSums(end)
  expect(end.auc).toBeCloseTo(area(sent[1].slice(-PREQUENTIAL.window)), 6)
  await job.close()
})

it('under a small memory budget the error and each step are of the served weights, on two slots, through a kill', async () => {
  const root = mkdtempSync(join(tmpdir(), 'weir-learning-error-svm-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const data = dataDirectory(root)
  await using topics = new LogTopics(data.log)
  await topics.create(OBSERVATIONS, { partitions: 1 })
  const many = Float32Array.from({ length: 400_000 }, () => random.normal())
  await publishLinear(publishableWeights(many, 0), {
    ...{ log: topics, topic: TOPIC, version: 1, range: 256, clock: systemClock, partitions: 1 },
  })
  const learning = Promise.withResolvers<void>()
  const warnings: string[] = []
  const job = await learnSvmJob({
    ...{ topic: TOPIC, slots: 2, queryThreads: 1, port: 0, data },
    configuration: {
      'state.backend.memory.budget': '2mb',
      'execution.checkpointing.interval': '100 ms',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '10',
      'restart-strategy.fixed-delay.delay': '10 ms',
    },
    job: { observations: OBSERVATIONS, rule: { loss: 'hinge', learningRate: 1e-12 } },
    onLive: () => {},
    onLearning: () => learning.resolve(),
    onWarning: (warning) => void warnings.push(warning),
  })
  await learning.promise
  const losses: number[] = []
  let right = 0
  const send = async (count: number): Promise<void> => {
    const producer = await topics.producer(OBSERVATIONS)
    for (let n = 0; n < count; n++) {
      // Most features are of the first blocks, which steps keep in memory.
      const rare = 10_000 + random.below(390_000)
      const ids = [random.below(5000), 5000 + random.below(5000), ...(n % 4 === 0 ? [rare] : [])]
      const decision = ids.reduce((sum, id) => sum + many[id]!, 0)
      const isRight = random.next() < 0.95
      if (isRight) right++
      losses.push(Math.max(0, 1 - (isRight ? Math.abs(decision) : -Math.abs(decision))))
      const sign = decision > 0 === isRight ? '+1' : '-1'
      const line = `${sign}${ids.map((id) => ` ${id}:1`).join('')}`
      producer.sendRecord(null, encoder.encode(line), 0, 0, [])
    }
    await producer.sync()
    await producer.close()
  }
  await send(1000)
  await errorOf(job, losses.length)
  await send(1000)
  await until('some are read', async () => (await metric(job, 'observationsRead')) > 1200)
  expect(await metric(job, 'examplesAsked')).toBeGreaterThan(0)
  await kill(job, 0)
  await send(1000)
  const { accuracy, loss } = await errorOf(job, losses.length)
  expect(accuracy).toBeCloseTo(right / losses.length, 9)
  expect(loss).toBeCloseTo(mean(losses), 4)
  const stepped = new Set<number>()
  await scanTopic(topics, `${TOPIC}-deltas`, (record) => {
    stepped.add(Buffer.from(record.value()!).readDoubleLE(12))
    return true
  })
  // A loss next to 0 may be 0 in another order of the sum.
  const unsure = losses.flatMap((own, offset) => (own > 0 && own < 1e-5 ? [offset] : []))
  const wanted = losses.flatMap((own, offset) => (own > 0 ? [offset] : []))
  for (const offset of unsure) stepped.add(offset)
  expect([...stepped].sort((a, b) => a - b)).toEqual(wanted)
  expect(warnings).toEqual([])
  await job.close()
})
