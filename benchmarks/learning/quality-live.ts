import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WeirClient } from '../../src/client/weir-client.ts'
import { openTopics } from '../../src/connectors/topics/open.ts'
import type { TopicsPlace } from '../../src/connectors/topics/place.ts'
import { ByteReader } from '../../src/core/byte-reader.ts'
import { systemClock } from '../../src/core/clock.ts'
import { msgpackSerializer } from '../../src/core/formats/msgpack-serializer.ts'
import { LEARNING_ERROR_STATE } from '../../src/jobs/learning/error/learning-error.ts'
import type { RatingError } from '../../src/jobs/learning/error/rating-error.ts'
import { publishAls } from '../../src/kinds/factors/publish.ts'
import type { OnlineRuleOptions } from '../../src/models/als/online/rules.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { trainBmf } from '../../src/training/bmf/train.ts'
import { ratingsOf } from '../../src/training/data/ratings-table.ts'
import { evaluateServed } from '../../src/training/evaluate/served.ts'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import { rounded } from '../load/statistics.ts'
import { type MovieLensByTime, movieLensByTime } from './movielens-by-time.ts'
import { counted, OBSERVATIONS, startLearning } from './run.ts'

const FACTORS = 10
const PREQUENTIAL_TARGET = 0.862
const FINAL_TARGET = 1.033
const LOOK_MS = 50
/** The error is reported every second. */
const REPORT_MS = 2500
const RULES = ['gram', 'stack'] as const
const encoder = new TextEncoder()

/**
 * `quality-online-live`: MovieLens 100K by time, on rows of Bayesian factorisation, learned by one job of two
 * slots as fast as it can, with the defaults of `weir learn als`.
 */
export const qualityLiveBenchmark: Benchmark = {
  name: 'quality-online-live',
  summary: 'MovieLens 100K by time: prequential and test MSE of one job that learns at full speed',
  async run(options) {
    const parts = await movieLensByTime(options.say)
    if (parts === undefined) return []
    const { model, history } = await trainBmf(parts.train, { factors: FACTORS, threads: 2 })
    const trainRmse = history.at(-1)!.trainRmse
    const figures: Figure[] = []
    for (const rule of RULES) {
      figures.push(...(await learnedLive(options, { parts, model, trainRmse, rule })))
    }
    return figures
  },
}

interface LiveLearning {
  readonly parts: MovieLensByTime
  readonly model: AlsModel
  /** From which the rule takes the noise of ratings. */
  readonly trainRmse: number
  readonly rule: (typeof RULES)[number]
}

async function learnedLive(
  { scratch, say }: BenchmarkOptions,
  learning: LiveLearning,
): Promise<Figure[]> {
  const { parts, model, rule } = learning
  const place = { logDirectory: mkdtempSync(join(scratch, 'log-')) }
  await prepare(place, learning)
  const options: OnlineRuleOptions = { rule }
  await using run = await startLearning(scratch, place, { rule: options })
  while ((await counted(run.job, 'deltasFolded')) < parts.stream.size) await pause(LOOK_MS)
  const seconds = (performance.now() - run.startedMs) / 1000
  await pause(REPORT_MS)
  await using client = await WeirClient.connect({ host: '127.0.0.1', port: run.job.port })
  const prequential = await prequentialMse(client)
  const { mse } = await evaluateServed(client, parts.held, {
    state: ALS_MODEL,
    query: {},
    range: { min: model.range.min, max: model.range.max },
  })
  say(`${rule}: prequential ${prequential.toFixed(4)}, test ${mse.toFixed(4)}`)
  const details = { ratings: parts.stream.size, seconds: rounded(seconds) }
  const figure = { unit: 'MSE', higher: false, details }
  return [
    {
      ...figure,
      name: `quality-online-live-${rule}-prequential`,
      value: prequential,
      target: PREQUENTIAL_TARGET,
    },
    { ...figure, name: `quality-online-live-${rule}-final`, value: mse, target: FINAL_TARGET },
  ]
}

/** Publishes the model and writes all ratings, in the order of their time, before the job starts. */
async function prepare(
  place: TopicsPlace,
  { model, trainRmse, parts: { stream } }: LiveLearning,
): Promise<void> {
  await using log = await openTopics(place)
  await publishAls(model, {
    metrics: { trainRmse },
    log,
    topic: 'als-model',
    version: 1,
    clock: systemClock,
    partitions: 4,
  })
  // One partition: the order of the ratings is that of their time.
  await log.create(OBSERVATIONS, { partitions: 1 })
  const producer = await log.producer(OBSERVATIONS)
  const inTime = [...ratingsOf(stream)].sort(
    (a, b) => a.timestamp - b.timestamp || (a.user < b.user ? -1 : a.user > b.user ? 1 : 0),
  )
  for (const { user, item, rating, timestamp } of inTime) {
    const line = encoder.encode(`${user},${item},${rating}`)
    producer.sendRecord(encoder.encode(user), line, timestamp * 1000, -1, [])
    if (!producer.ready()) await producer.whenReady()
  }
  await producer.sync()
  await producer.close()
}

async function prequentialMse(client: WeirClient): Promise<number> {
  const [answer] = await client.values(LEARNING_ERROR_STATE, ['1'])
  if (answer?.ok !== true) throw new Error('the job has not reported its error')
  return msgpackSerializer<RatingError>().read(new ByteReader(answer.value)).mse
}
