import { join } from 'node:path'
import type { TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { RetrainOptions } from '../../../src/jobs/retrain/options.ts'
import type { TrainingProcess } from '../../../src/jobs/retrain/process.ts'
import { RetrainTrainer } from '../../../src/jobs/retrain/trainer.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'

/** Ratings `from` to `to` of 17 users and 11 items; each pair has one of 187. */
export const ratingsBetween = (from: number, to: number): Rating[] =>
  Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    return {
      ...{ user: `u${n % 17}`, item: `i${n % 11}`, rating: 1 + ((n * 7) % 5) },
      timestamp: n * 1000,
    }
  })

/** Feeds these ratings to the topic `ratings`. */
export async function feedBetween(topics: TopicStore, from: number, to: number): Promise<void> {
  const options = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
  await feedRatings(ratingsTable(ratingsBetween(from, to)), options)
}

/** The trainer in this process; `before` runs before each request. */
export function trainerHere(
  before: (kind: string) => Promise<void> = async () => {},
): TrainingProcess {
  const trainer = new RetrainTrainer(() => {})
  return {
    async ask(request) {
      await before(request.kind)
      return (await trainer.answer(request)) as never
    },
    async [Symbol.asyncDispose]() {},
  }
}

/** Options of a retraining of four factors in a folder. */
export const retrainOptions = (folder: string, start: () => TrainingProcess): RetrainOptions => ({
  place: { logDirectory: join(folder, 'log') },
  registry: new ModelRegistry({
    place: { logDirectory: join(folder, 'registry') },
    clock: systemClock,
  }),
  model: 'als-model',
  observations: 'ratings',
  als: { factors: 4, iterations: 2, threads: 0 },
  rule: { rule: 'gram' },
  temporary: join(folder, 'temporary'),
  start,
  newId: () => 'id',
  clock: systemClock,
})
