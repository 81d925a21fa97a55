import { join } from 'node:path'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { feedRatings } from '../../../src/training/evaluate/ratings-topic.ts'

/** The topics of the log below a folder. */
export const logTopics = (folder: string): LogTopics => new LogTopics(join(folder, 'log'))

/** Appends the ratings number 100 `part` to 100 (`part` + 1) to the topic `ratings`. */
export async function feedHundred(topics: LogTopics, part: number): Promise<void> {
  const ratings = Array.from({ length: 100 }, (_, i) => {
    const n = 100 * part + i
    return { user: `u${n % 17}`, item: `i${n % 11}`, rating: 1 + ((n * 7) % 5), timestamp: n }
  })
  const options = { topics, topic: 'ratings', feed: 'test', clock: systemClock }
  await feedRatings(ratingsTable(ratings), options)
}
