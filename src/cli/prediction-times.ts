import type { WeirClient } from '../client/weir-client.ts'
import { systemClock } from '../core/clock.ts'
import { ALS_MODEL } from '../jobs/als-serving-function.ts'
import type { RatingsTable } from '../training/ratings-table.ts'

/** How fast predictions were. */
export interface PredictionTimes {
  readonly predictP50Ms: number
  readonly predictP99Ms: number
  /** With `OUTSTANDING` predictions under way. */
  readonly predictionsPerSecond: number
}

const WARM_UP = 500
const SEQUENTIAL = 2000
const TOGETHER = 40_000
const OUTSTANDING = 256
const COLD = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }

/** Times predictions of pairs that occur in the ratings: one by one, then many together. */
export async function measurePredictions(
  client: WeirClient,
  ratings: RatingsTable,
): Promise<PredictionTimes> {
  const predict = (i: number): Promise<unknown> => {
    const row = i % ratings.size
    const user = ratings.users[ratings.user[row]!]!
    const item = ratings.items[ratings.item[row]!]!
    return client.predict(ALS_MODEL, `${user}-U`, `${item}-I`, COLD)
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
