import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { openTopics } from '../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../src/connectors/topics/place.ts'
import { systemClock } from '../../src/core/clock.ts'
import { dataDirectory } from '../../src/jobs/serve/data-directory.ts'
import type { AlsLearningJobOptions } from '../../src/jobs/serve/learning-als.ts'
import { learnAlsJob } from '../../src/jobs/serve/learning-als.ts'
import type { ServedJob } from '../../src/jobs/served-job.ts'
import { publishGeneratedModel } from '../../src/kinds/factors/generated-model.ts'
import type { OnlineRuleOptions } from '../../src/models/als/online/rules.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'

/** Size of a generated model whose ratings are learned. */
export interface LearningShape {
  readonly users: number
  readonly items: number
  readonly factors: number
}

/** The model of the `learn` benchmarks. */
export const LEARNING_SHAPE: LearningShape = { users: 200_000, items: 50_000, factors: 100 }
/** The rule of the `learn` benchmarks. */
export const LEARNING_RULE: OnlineRuleOptions = { rule: 'sgd', learningRate: 0.02 }
const TOPIC = 'als-model'
/** Topic of the ratings. */
export const OBSERVATIONS = 'observations'
const encoder = new TextEncoder()

/** Publishes a generated model, and writes ratings of it into the topic `OBSERVATIONS`. */
export async function prepareLearning(
  place: TopicsPlace,
  shape: LearningShape,
  ratings: number,
): Promise<void> {
  await using topics = await openTopics(place)
  await publishGeneratedModel(shape, { log: topics, topic: TOPIC, version: 1, clock: systemClock })
  await topics.create(OBSERVATIONS, { partitions: 4 })
  const producer = await topics.producer(OBSERVATIONS)
  for (const { user, item, rating, timestamp } of generateRatings({
    ...shape,
    factors: 8,
    ratings,
  })) {
    const line = encoder.encode(`${user},${item},${rating}`)
    producer.sendRecord(encoder.encode(user), line, timestamp, -1, [])
    if (!producer.ready()) await producer.whenReady()
  }
  await producer.sync()
  await producer.close()
}

/** A served job that learns. */
export interface LearningRun extends AsyncDisposable {
  readonly job: ServedJob
  /** When it began to learn, ms of `performance.now`. */
  readonly startedMs: number
}

/** Serves the model and learns on two slots. Resolves when learning begins. */
export async function startLearning(
  scratch: string,
  place: TopicsPlace,
  job: Partial<AlsLearningJobOptions> = {},
): Promise<LearningRun> {
  const root = mkdtempSync(join(scratch, 'learn-'))
  let started: (atMs: number) => void
  const learning = new Promise<number>((resolve) => {
    started = resolve
  })
  const served = await learnAlsJob({
    data: dataDirectory(root),
    place,
    topic: TOPIC,
    slots: 2,
    queryThreads: 1,
    port: 0,
    configuration: {
      'state.backend.memory.budget': '8 gb',
      'execution.checkpointing.interval': '10 s',
    },
    job: { observations: OBSERVATIONS, rule: LEARNING_RULE, ...job },
    onLive: () => {},
    onLearning: () => started(performance.now()),
  })
  const startedMs = await learning
  return { job: served, startedMs, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() }
}

/** Sum of a counter over the slots. */
export async function counted(job: ServedJob, counter: string): Promise<number> {
  const metrics = await job.execution.metrics()
  return Object.entries(metrics)
    .filter(([name]) => name.endsWith(`als-model.${counter}`) || name.endsWith(`.${counter}`))
    .reduce((sum, [, value]) => sum + Number(value), 0)
}
