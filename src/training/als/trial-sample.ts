import { countsOf, type RatingsTable, selectRatings } from '../data/ratings-table.ts'
import { paddedLength } from '../gpu/batches.ts'

/**
 * A sample of about `ratings` ratings to time devices on, with all ratings of its users; the whole
 * table if it is smaller. It fills the batches of a GPU like the whole table, because users of the most
 * frequent padded length come first.
 */
export function trialSample(table: RatingsTable, ratings: number): RatingsTable {
  if (table.size <= ratings) return table
  const counts = countsOf(table.user, table.users.length)
  const isTaken = new Uint8Array(counts.length)
  let taken = 0
  for (const length of mostFrequentLengths(counts)) {
    for (let user = 0; user < counts.length && taken < ratings; user++) {
      const count = counts[user] as number
      if (paddedLength(count) !== length) continue
      isTaken[user] = 1
      taken += count
    }
  }
  const indexes: number[] = []
  for (const [index, user] of table.user.entries()) if (isTaken[user] === 1) indexes.push(index)
  return selectRatings(table, Uint32Array.from(indexes))
}

/** Padded lengths of rows, the one with the most ratings first. */
function mostFrequentLengths(counts: Uint32Array): readonly number[] {
  const ratings = new Map<number, number>()
  for (const count of counts) {
    const length = paddedLength(count)
    ratings.set(length, (ratings.get(length) ?? 0) + count)
  }
  return [...ratings].sort(([, a], [, b]) => b - a).map(([length]) => length)
}
