import { WeirClient } from '../client/weir-client.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import { evaluateServed } from '../jobs/evaluate-served.ts'
import type { CoverageCounts } from '../training/metrics.ts'
import { type RatingsTable, ratingStatistics } from '../training/ratings-table.ts'
import type { Flags } from './command.ts'
import { measurePredictions, type PredictionTimes } from './prediction-times.ts'
import type { Tell } from './quickstart-text.ts'

/** What the quickstart found out by asking the served model. */
export interface QuickstartMeasurements extends PredictionTimes {
  readonly rmse: number
  readonly mse: number
  readonly coverage: CoverageCounts
}

/** What `measureServed` works with. */
export interface MeasureContext {
  readonly port: number
  readonly flags: Flags
  readonly train: RatingsTable
  readonly test: RatingsTable
  readonly tell: Tell
}

const count = (n: number): string => n.toLocaleString('en-US')

/** Predicts, recommends and evaluates through the client library, as any other process would. */
export async function measureServed(context: MeasureContext): Promise<{
  readonly result: QuickstartMeasurements
  readonly user: string
  readonly items: readonly string[]
}> {
  const { port, flags, train, test, tell } = context
  const token = flags.optional('token')
  await using client = await WeirClient.connect({
    host: flags.string('host'),
    port,
    ...(token === undefined ? {} : { token }),
  })
  const times = await measurePredictions(client, train)
  tell(
    'predict',
    `user row x item row, over TCP: one by one ${times.predictP50Ms.toFixed(2)} ms (p50), ${times.predictP99Ms.toFixed(2)} ms (p99); 256 at once ${count(times.predictionsPerSecond)}/s`,
  )
  const user = train.users[0]!
  const items = await recommend(client, train, user, tell)
  const result = await evaluate(client, train, test, tell)
  return { result: { ...result, ...times }, user, items }
}

async function recommend(
  client: WeirClient,
  train: RatingsTable,
  user: string,
  tell: Tell,
): Promise<readonly string[]> {
  const best = await client.topK(ALS_MODEL, `${user}-U`, { k: 5, suffix: '-I', cold: 'MEAN-U' })
  if (!best.ok) throw best.error
  const list = best.value.map(({ key, score }) => `${key.slice(0, -2)} (${score.toFixed(2)})`)
  tell(
    'recommend',
    `best 5 of all ${count(train.items.length)} items for user ${user}, item (score): ${list.join(', ')}`,
  )
  return best.value.map(({ key }) => key.slice(0, -2))
}

async function evaluate(
  client: WeirClient,
  train: RatingsTable,
  test: RatingsTable,
  tell: Tell,
): Promise<Pick<QuickstartMeasurements, 'rmse' | 'mse' | 'coverage'>> {
  const { mean, min, max } = ratingStatistics(train)
  const errors = await evaluateServed(client, test, {
    state: ALS_MODEL,
    query: {},
    range: { min, max },
  })
  tell(
    'evaluate',
    `RMSE ${errors.rmse.toFixed(4)} on ${count(errors.count)} held-out ratings, each predicted by query (the mean rating alone: ${errorOfMean(test, mean).toFixed(4)})`,
  )
  const { known, coldUser, coldItem, coldBoth } = errors.coverage
  tell(
    '',
    `${count(known)} of the pairs known, ${count(coldUser + coldItem + coldBoth)} with a user or item never rated before`,
  )
  return { rmse: errors.rmse, mse: errors.mse, coverage: errors.coverage }
}

/** RMSE of a model that always answers the mean of the training ratings: what there is to beat. */
function errorOfMean(test: RatingsTable, mean: number): number {
  let sum = 0
  for (const rating of test.rating) sum += (rating - mean) ** 2
  return Math.sqrt(sum / test.size)
}
