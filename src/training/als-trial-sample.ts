import { paddedLength } from './gpu-als-batches.ts'
import { countsOf, type RatingsTable, selectRatings } from './ratings-table.ts'

/**
 * About `ratings` of a table to time devices on, those of whole users; all of a smaller table. They
 * fill batches of a GPU as the whole does: users of the padded length that most ratings have come first.
 */
export function trialSample(table: RatingsTable, ratings: number): RatingsTable {
  if (table.size <= ratings) return table
  const counts = countsOf(table.user, table.users.length)
  const isTaken = new Uint8Array(counts.length)
  let taken = 0
  for (const length of commonestLengths(counts)) {
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

/** Padded lengths of rows, that of most ratings first. */
function commonestLengths(counts: Uint32Array): readonly number[] {
  const ratings = new Map<number, number>()
  for (const count of counts) {
    const length = paddedLength(count)
    ratings.set(length, (ratings.get(length) ?? 0) + count)
  }
  return [...ratings].sort(([, a], [, b]) => b - a).map(([length]) => length)
}
