import { count, numberIn, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { FACTOR_MODEL, RATINGS_TABLE } from '../data/kinds.ts'
import { countsOf, type RatingsTable } from '../data/ratings-table.ts'
import { RankingAccumulator, type RankingSummary } from '../metrics/ranking.ts'
import type { AlsModel } from './solver/model.ts'

/** Options of `evaluateRanking`. */
export interface RankingOptions {
  /** Length of each list. @default 10 */
  readonly k?: number
  /** Smallest relevant test rating. @default every rating above 0 */
  readonly relevantFrom?: number
  /** Number of test users, the first ones. @default all */
  readonly maxUsers?: number
}

const RANKING: OptionShape<RankingOptions> = {
  k: count,
  relevantFrom: numberIn(),
  maxUsers: wholeNumber({ min: 0, orInfinity: true }),
}

/**
 * Ranks, for each test user, all items of the model that the user did not rate in training, and
 * compares the first k with the test ratings. Test items that the model does not know count as missed.
 * Users that it does not know get the list of the mean row. Throws EMPTY_DATASET.
 */
export function evaluateRanking(
  model: AlsModel,
  training: RatingsTable,
  test: RatingsTable,
  options: RankingOptions = {},
): RankingSummary {
  checkOptions('evaluateRanking', RANKING, options)
  checkArgument('evaluateRanking', 'model', FACTOR_MODEL, model)
  checkArgument('evaluateRanking', 'training', RATINGS_TABLE, training)
  checkArgument('evaluateRanking', 'test', RATINGS_TABLE, test)
  const k = options.k ?? 10
  const counts = countsOf(training.item, training.items.length)
  const accumulator = new RankingAccumulator<string>(k, {
    items: model.items.length,
    raters: {
      users: training.users.length,
      of: new Map(training.items.map((item, index) => [item, counts[index]!])),
    },
  })
  const seen = itemsByUser(training, Number.NEGATIVE_INFINITY)
  const relevant = itemsByUser(test, options.relevantFrom ?? Number.MIN_VALUE)
  let users = 0
  for (const [user, items] of relevant) {
    if (users++ === options.maxUsers) break
    const row = model.rowOf('U', user) ?? model.meanUser
    accumulator.add(topItems(model, row, { seen: seen.get(user), k }), items)
  }
  return accumulator.summary()
}

/** Items that each user rated with at least `from`. */
function itemsByUser(table: RatingsTable, from: number): Map<string, Set<string>> {
  const sets = table.users.map(() => new Set<string>())
  for (let i = 0; i < table.size; i++) {
    if ((table.rating[i] as number) < from) continue
    sets[table.user[i] as number]?.add(table.items[table.item[i] as number] as string)
  }
  return new Map(sets.map((set, user) => [table.users[user] as string, set]))
}

/** The best `k` items for the row of a user without the `seen` ones, best first; ties in order of items. */
export function topItems(
  model: AlsModel,
  row: Float32Array,
  { seen, k }: { readonly seen: ReadonlySet<string> | undefined; readonly k: number },
): string[] {
  const best: { item: string; score: number }[] = []
  for (const [index, item] of model.items.entries()) {
    const other = model.row('I', index)
    let score = 0
    for (let i = 0; i < row.length; i++) score += (row[i] as number) * (other[i] as number)
    const worst = best[k - 1]
    if ((worst !== undefined && score <= worst.score) || seen?.has(item)) continue
    let at = best.length
    while (at > 0 && (best[at - 1]?.score ?? score) < score) at--
    best.splice(at, 0, { item, score })
    if (best.length > k) best.pop()
  }
  return best.map(({ item }) => item)
}
