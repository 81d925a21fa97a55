import { RankingAccumulator, type RankingSummary } from '../training/ranking-metrics.ts'
import type { ModelReader, QueryOptions } from '../wire/model-reader.ts'
import type { EvaluationRatings } from './evaluate-served.ts'
import { ratingPieces } from './evaluate-served.ts'

/** Options of `evaluateRankingServed`. */
export interface ServedRankingOptions {
  readonly state: string
  readonly query: QueryOptions
  /** Length of a list. */
  readonly k: number
  /** A held-out rating of at least this is relevant. @default every rating above 0 */
  readonly relevantFrom?: number
  /** Items that a user rated in training: they are left out of its list. */
  readonly seen?: ReadonlyMap<string, ReadonlySet<string>>
  /** Lists that are asked for together. @default 64 */
  readonly outstanding?: number
}

/** Most keys that a request leaves out; a list is asked for longer instead and cut here. */
const MOST_EXCLUDED = 256
const LONGEST_LIST = 1000

/**
 * Precision, recall and NDCG at k of a served ALS model: for every user with relevant held-out items
 * the exact top k of all its items, by query. Users without a row get the mean row's list. Only the
 * relevant items of users are in memory. Rejects with EMPTY_DATASET, or the first failed query.
 */
export async function evaluateRankingServed(
  reader: ModelReader,
  ratings: EvaluationRatings,
  options: ServedRankingOptions,
): Promise<RankingSummary> {
  const relevant = await relevantItems(ratings, options.relevantFrom ?? Number.MIN_VALUE)
  const accumulator = new RankingAccumulator(options.k)
  const users = [...relevant]
  const outstanding = options.outstanding ?? 64
  for (let at = 0; at < users.length; at += outstanding) {
    const piece = users.slice(at, at + outstanding)
    const lists = await Promise.all(piece.map(([user]) => topItems(reader, user, options)))
    for (const [i, [, items]] of piece.entries()) accumulator.add(lists[i] ?? [], items)
  }
  return accumulator.summary()
}

/** Relevant items by user, in order of first appearance. */
async function relevantItems(
  ratings: EvaluationRatings,
  from: number,
): Promise<Map<string, Set<string>>> {
  const relevant = new Map<string, Set<string>>()
  for await (const piece of ratingPieces(ratings, 4096)) {
    for (const { user, item, rating } of piece) {
      if (rating < from) continue
      const items = relevant.get(user) ?? new Set<string>()
      items.add(item)
      relevant.set(user, items)
    }
  }
  return relevant
}

async function topItems(
  reader: ModelReader,
  user: string,
  options: ServedRankingOptions,
): Promise<readonly string[]> {
  const { state, query, k, seen } = options
  const left = [...(seen?.get(user) ?? [])].map((item) => `${item}-I`)
  const isShort = left.length <= MOST_EXCLUDED
  const answer = await reader.topK(state, `${user}-U`, {
    ...query,
    k: isShort ? k : Math.min(LONGEST_LIST, k + left.length),
    suffix: '-I',
    cold: 'MEAN-U',
    ...(isShort ? { exclude: left } : {}),
  })
  if (!answer.ok) throw answer.error
  const out = new Set(left)
  const items = answer.value.filter(({ key }) => !out.has(key)).map(({ key }) => key.slice(0, -2))
  return items.slice(0, k)
}
