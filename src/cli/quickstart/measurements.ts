import { WeirClient } from '../../client/weir-client.ts'
import { systemClock } from '../../core/clock.ts'
import type { QueryAccessOptions } from '../../jobs/query-access.ts'
import {
  alsKey,
  idOfKey,
  KEY_SUFFIXES,
  MEAN_IF_UNKNOWN,
  MEAN_KEYS,
} from '../../models/als/row-key.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'
import { type RatingsTable, ratingStatistics } from '../../training/data/ratings-table.ts'
import { evaluateServed } from '../../training/evaluate/served.ts'
import type { CoverageCounts } from '../../training/metrics/errors.ts'
import type { Flags } from '../command/command.ts'
import { ownClientOptions } from '../flags/listener.ts'
import { count, type Report } from './text.ts'

/** Speed of predictions. */
interface PredictionTimes {
  readonly predictP50Ms: number
  readonly predictP99Ms: number
  /** Rate with `OUTSTANDING` predictions in flight. */
  readonly predictionsPerSecond: number
}

/** Measurements of the served model. */
export interface QuickstartMeasurements extends PredictionTimes {
  readonly rmse: number
  readonly mse: number
  readonly coverage: CoverageCounts
}

/** Options of `measureServed`. */
export interface MeasureContext {
  readonly port: number
  readonly access: QueryAccessOptions
  readonly flags: Flags
  readonly train: RatingsTable
  readonly test: RatingsTable
  readonly report: Report
}

const WARM_UP = 500
const SEQUENTIAL = 2000
const TOGETHER = 40_000
const OUTSTANDING = 256

/** Predicts, recommends and evaluates with the client library, as an application would. */
export async function measureServed(context: MeasureContext): Promise<{
  readonly result: QuickstartMeasurements
  readonly user: string
  readonly items: readonly string[]
}> {
  const { port, access, train, report } = context
  await using client = await WeirClient.connect(ownClientOptions(access, port))
  const times = await measurePredictions(client, train)
  report(
    'predict',
    `user row x item row over TCP: one at a time ${times.predictP50Ms.toFixed(2)} ms (p50), ${times.predictP99Ms.toFixed(2)} ms (p99); ${OUTSTANDING} in flight ${count(times.predictionsPerSecond)}/s`,
  )
  const user = train.users[0]!
  const items = await recommend(client, user, context)
  const result = await evaluate(client, context)
  return { result: { ...result, ...times }, user, items }
}

async function recommend(
  client: WeirClient,
  user: string,
  { train, report }: MeasureContext,
): Promise<readonly string[]> {
  const best = await client.topK(ALS_MODEL, alsKey(user, 'U'), {
    k: 5,
    suffix: KEY_SUFFIXES.I,
    cold: MEAN_KEYS.U,
  })
  if (!best.ok) throw best.error
  const list = best.value.map(({ key, score }) => `${idOfKey(key)} (${score.toFixed(2)})`)
  report(
    'recommend',
    `top 5 of ${count(train.items.length)} items for user ${user}, item (score): ${list.join(', ')}`,
  )
  return best.value.map(({ key }) => idOfKey(key))
}

async function evaluate(
  client: WeirClient,
  { train, test, report }: MeasureContext,
): Promise<Pick<QuickstartMeasurements, 'rmse' | 'mse' | 'coverage'>> {
  const { mean, min, max } = ratingStatistics(train)
  const errors = await evaluateServed(client, test, {
    state: ALS_MODEL,
    query: {},
    range: { min, max },
  })
  report(
    'evaluate',
    `RMSE ${errors.rmse.toFixed(4)} on ${count(errors.count)} held-out ratings, each predicted by query (RMSE of the mean rating: ${errorOfMean(test, mean).toFixed(4)})`,
  )
  const { known, coldUser, coldItem, coldBoth } = errors.coverage
  report(
    '',
    `${count(known)} pairs have a known user and item, ${count(coldUser + coldItem + coldBoth)} a new user or item`,
  )
  return { rmse: errors.rmse, mse: errors.mse, coverage: errors.coverage }
}

/** RMSE of predicting the mean training rating for every pair, as a baseline. */
function errorOfMean(test: RatingsTable, mean: number): number {
  let sum = 0
  for (const rating of test.rating) sum += (rating - mean) ** 2
  return Math.sqrt(sum / test.size)
}

/** Times predictions of rated pairs: first one at a time, then many in flight. */
async function measurePredictions(
  client: WeirClient,
  ratings: RatingsTable,
): Promise<PredictionTimes> {
  const predict = (i: number): Promise<unknown> => {
    const row = i % ratings.size
    const user = ratings.users[ratings.user[row]!]!
    const item = ratings.items[ratings.item[row]!]!
    return client.predict(ALS_MODEL, alsKey(user, 'U'), alsKey(item, 'I'), MEAN_IF_UNKNOWN)
  }
  for (let i = 0; i < WARM_UP; i++) await predict(i)
  const times = new Float64Array(SEQUENTIAL)
  for (let i = 0; i < SEQUENTIAL; i++) {
    const start = systemClock.monotonicMs()
    await predict(i)
    times[i] = systemClock.monotonicMs() - start
  }
  times.sort()
  const start = systemClock.monotonicMs()
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < TOGETHER) await predict(next++)
  }
  await Promise.all(Array.from({ length: OUTSTANDING }, lane))
  const seconds = (systemClock.monotonicMs() - start) / 1000
  return {
    predictP50Ms: times[SEQUENTIAL / 2]!,
    predictP99Ms: times[Math.floor(SEQUENTIAL * 0.99)]!,
    predictionsPerSecond: Math.round(TOGETHER / seconds),
  }
}
