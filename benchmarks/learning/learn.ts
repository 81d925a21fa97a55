import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { TopicsPlace } from '../../src/connectors/topics/place.ts'
import type { ServedJob } from '../../src/jobs/served-job.ts'
import { generateAlsRow } from '../../src/models/als/model-generator.ts'
import { onlineRule } from '../../src/models/als/online/rules.ts'
import { SequentialLearner } from '../../src/models/als/online/sequential-learner.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import { KafkaBroker } from '../../test/services/kafka/broker.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { median, rounded } from '../load/statistics.ts'
import {
  counted,
  LEARNING_RULE,
  LEARNING_SHAPE,
  type LearningShape,
  prepareLearning,
  startLearning,
} from './run.ts'

const RATINGS = 1_000_000
/** Ratings before the clock starts: a learning job runs for months, and compiling its code takes seconds. */
const WARM_UP = 250_000
const ROUNDS = 3
/** Time between two reads of the counters; a read costs all threads together half a millisecond. */
const LOOK_MS = 50

interface LearnTimes {
  /** Ratings a second until the last delta is applied and its row visible. */
  readonly visible: number
  /** The same until a checkpoint with all rows is complete. */
  readonly durable: number
  /** The same, with the start of the job and the ratings of the warm-up. */
  readonly fromStart: number
  readonly cpuMicroseconds: number
}

async function learnAll(
  options: BenchmarkOptions,
  place: TopicsPlace,
  { warmUp, ratings }: { readonly warmUp: number; readonly ratings: number },
): Promise<LearnTimes> {
  await using run = await startLearning(options.scratch, place)
  const warm = await foldedFrom(run.job, warmUp)
  const startMs = performance.now()
  const cpu = process.cpuUsage()
  const all = await foldedFrom(run.job, warmUp + ratings)
  const visibleMs = performance.now() - startMs
  await run.job.execution.triggerCheckpoint()
  const durableMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(cpu)
  return {
    visible: ((all - warm) / visibleMs) * 1000,
    durable: ((all - warm) / durableMs) * 1000,
    fromStart: (all / (performance.now() - run.startedMs)) * 1000,
    cpuMicroseconds: (user + system) / (all - warm),
  }
}

/** Waits until at least `least` deltas are folded. Returns how many there are then. */
async function foldedFrom(job: ServedJob, least: number): Promise<number> {
  for (;;) {
    const folded = await counted(job, 'deltasFolded')
    if (folded >= least) return folded
    await pause(LOOK_MS)
  }
}

/** Ratings a second of the rule alone in one thread, with rows in memory. */
function ruleAlone(shape: LearningShape, ratings: number): number {
  const vector = new Float32Array(shape.factors)
  const learner = new SequentialLearner(
    {
      row(side, id) {
        generateAlsRow(side === 'user' ? 'U' : 'I', Number(id) - 1, 1, vector)
        return vector
      },
      evidence: () => 0,
      coldUser: vector,
      coldItem: vector,
      range: { min: 1, max: 5 },
    },
    onlineRule({ dimension: shape.factors, biased: false }, LEARNING_RULE, () => {
      throw new Error('SGD needs no moments')
    }),
  )
  const stream = [...generateRatings({ ...shape, factors: 8, ratings })]
  const start = performance.now()
  for (const rating of stream) learner.learn(rating)
  return stream.length / ((performance.now() - start) / 1000)
}

interface LearnGoal {
  readonly name: string
  /** Ratings a second. */
  readonly target: number
  /** A place for the topics of a round. */
  readonly places: () => Promise<TopicsPlace>
}

async function figure(
  options: BenchmarkOptions,
  { name, target, places }: LearnGoal,
): Promise<Figure> {
  const { scale, say } = options
  const ratings = Math.round(RATINGS * scale)
  const warmUp = Math.round(WARM_UP * scale)
  const shape = {
    ...LEARNING_SHAPE,
    users: Math.ceil(LEARNING_SHAPE.users * scale),
    items: Math.ceil(LEARNING_SHAPE.items * scale),
  }
  const times: LearnTimes[] = []
  for (let i = 0; i < ROUNDS; i++) {
    const place = await places()
    await prepareLearning(place, shape, warmUp + ratings)
    times.push(await learnAll(options, place, { warmUp, ratings }))
    const { visible, durable, fromStart, cpuMicroseconds } = times[i]!
    say(
      `round ${i + 1}: ${Math.round(visible)} ratings/s visible, ${Math.round(durable)} durable (${Math.round(fromStart)} since the start of the job), ${rounded(cpuMicroseconds)} us CPU each`,
    )
  }
  return {
    name,
    value: median(times.map(({ durable }) => durable)),
    unit: 'ratings/s',
    target,
    rival: ruleAlone(shape, Math.min(ratings, 200_000)),
    rivalName: 'the rule alone in one thread',
    details: {
      ...shape,
      ratings,
      warmUp,
      visiblePerSecond: Math.round(median(times.map(({ visible }) => visible))),
      fromStartPerSecond: Math.round(median(times.map(({ fromStart }) => fromStart))),
      cpuMicroseconds: rounded(median(times.map((t) => t.cpuMicroseconds))),
    },
  }
}

/** `learn`: ratings from the embedded log until both new rows are visible and in a checkpoint. */
export const learnBenchmark: Benchmark = {
  name: 'learn',
  summary:
    'online learning, 100 factors, 2 slots: from the embedded log until both rows are durable and visible',
  async run(options) {
    const fresh = async (): Promise<TopicsPlace> => ({
      logDirectory: join(mkdtempSync(join(options.scratch, 'learn-log-')), 'log'),
    })
    return [await figure(options, { name: 'learn', target: 80_000, places: fresh })]
  },
}

/** `learn-kafka`: as `learn`, with all topics in Kafka. */
export const learnKafkaBenchmark: Benchmark = {
  name: 'learn-kafka',
  summary: 'as learn, with ratings, rows and deltas in Kafka',
  async run(options) {
    const brokers: KafkaBroker[] = []
    const fresh = async (): Promise<TopicsPlace> => {
      await brokers.pop()?.stop()
      const broker = await KafkaBroker.start()
      brokers.push(broker)
      return { kafka: { brokers: broker.bootstrap } }
    }
    try {
      return [await figure(options, { name: 'learn-kafka', target: 40_000, places: fresh })]
    } finally {
      await brokers.pop()?.stop()
    }
  },
}
