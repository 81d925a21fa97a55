import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { ModelReader, QueryOptions } from '../../wire/model-reader.ts'
import { RankingAccumulator, type RankingSummary } from '../metrics/ranking.ts'
import type { EvaluationRatings } from './served.ts'
import { ratingPieces } from './served.ts'

/** Options of `evaluateRankingServed`. */
export interface ServedRankingOptions {
  readonly state: string
  readonly query: QueryOptions
  /** Length of each list. */
  readonly k: number
  /** Smallest relevant held-out rating. @default every rating above 0 */
  readonly relevantFrom?: number
  /** Items that a user rated in training; they are left out of the user's list. */
  readonly seen?: ReadonlyMap<string, ReadonlySet<string>>
  /** Number of items of the version, if known. */
  readonly items?: number | undefined
  /** Queries in flight at the same time. @default 64 */
  readonly outstanding?: number
}

/** Largest number of keys that a request excludes; above it, a longer list is requested and cut. */
const MOST_EXCLUDED = 256
const LONGEST_LIST = 1000

/**
 * Precision, recall, NDCG, MAP, coverage and novelty at k (`RankingSummary`) of a served ALS model, from the exact top k of every user with
 * relevant held-out items. Users without a row get the list of the mean row. Only the relevant items
 * are in memory. Rejects with EMPTY_DATASET or the first failed query.
 */
export function evaluateRankingServed(
  reader: ModelReader,
  ratings: EvaluationRatings,
  options: ServedRankingOptions,
): Promise<RankingSummary> {
  const listOf: ListOfUser = (user, seen) =>
    topItems(reader, alsKey(user, 'U'), { ...options, seen })
  return evaluateLists(listOf, ratings, options)
}

/** The best items of a user, best first, without those of `seen`. */
export type ListOfUser = (
  user: string,
  seen: ReadonlySet<string> | undefined,
) => readonly string[] | Promise<readonly string[]>

/** The same metrics of the lists of anything that makes some. Rejects with EMPTY_DATASET or the first list that fails. */
export async function evaluateLists(
  listOf: ListOfUser,
  ratings: EvaluationRatings,
  options: Omit<ServedRankingOptions, 'state' | 'query'>,
): Promise<RankingSummary> {
  const relevant = await relevantItems(ratings, options.relevantFrom ?? Number.MIN_VALUE)
  const { items, seen } = options
  const raters = seen && { users: seen.size, of: ratersOf(seen.values()) }
  const accumulator = new RankingAccumulator<string>(options.k, { items, raters })
  const users = [...relevant]
  const outstanding = options.outstanding ?? 64
  for (let at = 0; at < users.length; at += outstanding) {
    const piece = users.slice(at, at + outstanding)
    const lists = await Promise.all(piece.map(([user]) => listOf(user, seen?.get(user))))
    for (const [i, [, items]] of piece.entries()) accumulator.add(lists[i] ?? [], items)
  }
  return accumulator.summary()
}

/** Number of users who rated each item. */
function ratersOf(lists: Iterable<ReadonlySet<string>>): Map<string, number> {
  const raters = new Map<string, number>()
  for (const items of lists) {
    for (const item of items) raters.set(item, (raters.get(item) ?? 0) + 1)
  }
  return raters
}

/** Relevant items of each user; users in order of appearance. */
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

/** The best items for a row of a user, best first, without those of `seen`; those of the mean row where there is none. */
export async function topItems(
  reader: ModelReader,
  key: string,
  {
    state,
    query,
    k,
    seen,
  }: Pick<ServedRankingOptions, 'state' | 'query' | 'k'> & {
    readonly seen: ReadonlySet<string> | undefined
  },
): Promise<readonly string[]> {
  const left = [...(seen ?? [])].map((item) => alsKey(item, 'I'))
  const isShort = left.length <= MOST_EXCLUDED
  const answer = await reader.topK(state, key, {
    ...query,
    k: isShort ? k : Math.min(LONGEST_LIST, k + left.length),
    suffix: KEY_SUFFIXES.I,
    cold: MEAN_KEYS.U,
    ...(isShort ? { exclude: left } : {}),
  })
  if (!answer.ok) throw answer.error
  const out = new Set(left)
  const items = answer.value.filter(({ key }) => !out.has(key)).map(({ key }) => idOfKey(key))
  return items.slice(0, k)
}
