import { murmur3 } from '../../core/hash/murmur3.ts'
import { seededRandom } from '../../core/random.ts'
import { alsKey } from '../../models/als/row-key.ts'
import { RunningMean } from '../../models/quality/intervals.ts'
import type { ModelReader, QueryOptions } from '../../wire/model-reader.ts'
import { type MeanEstimate, RankingAccumulator } from '../metrics/ranking.ts'
import { type EvaluationRatings, ratingPieces } from './served.ts'

/** An item of a user with its rating, or the number of its events. */
export interface UsedItem {
  readonly item: string
  readonly strength: number
}

/** The best items for someone who used some, best first, without those. */
export type ListForItems = (items: readonly UsedItem[], k: number) => Promise<readonly string[]>

/** Options of `evaluateStrong`. */
export interface StrongOptions {
  readonly state: string
  /** Names the version, so that all answers are of one. */
  readonly query: QueryOptions
  /** Share of the items of a user that are folded in, above 0 and below 1. */
  readonly foldIn: number
  readonly seed: number
  /** Smallest rating of a relevant item. @default every rating above 0 */
  readonly relevantFrom?: number
  /** Whether the ratings of a pair are counts that add up; else the last one holds. */
  readonly areCounts: boolean
  readonly onProgress?: (users: number) => void
  /** Takes the measures of each list, beside those of other evaluations. @default new ones */
  readonly measures?: StrongMeasures
}

/** Quality of lists; means are over users. */
export interface MeasuredLists {
  readonly users: number
  /** Items that were folded in for each, on average. */
  readonly foldedIn: number
  readonly recall20: MeanEstimate
  readonly recall50: MeanEstimate
  readonly ndcg100: MeanEstimate
}

/** Quality of the lists for users that the training never saw. */
export interface StrongSummary extends MeasuredLists {
  /** Users left out, as the version has their rows. */
  readonly knownUsers: number
  /** Users left out, as they have too few items of the version, or none of the others is relevant. */
  readonly smallUsers: number
  /** Items left out, as the version has no rows of them. */
  readonly unknownItems: number
}

/** Users with fewer items are left out, as in the papers. */
export const LEAST_ITEMS = 5
/** Length of a list. */
const LIST = 100
/** Lists that are asked for at the same time. */
const OUTSTANDING = 64
/** Rows that are asked for at a time. */
const ROWS = 256

const encoder = new TextEncoder()

/**
 * Strong generalisation: of each user that the version has no row of, a part of the items is folded in, all other items are
 * ranked, and the list is compared with the user's rest. The protocol of Liang et al., "Variational autoencoders for
 * collaborative filtering", 2018, section 4, and of Rendle et al., "Revisiting the performance of iALS", 2021: recall at
 * 20 and 50 is the hits divided by the smaller one of list and rest, NDCG is at 100, and items that the training never saw
 * are left out. Which items are folded in depends on the seed, the user's id and those of the items alone. Only the
 * items of these users are in memory. Rejects with EMPTY_DATASET or the first failed query.
 */
export async function evaluateStrong(
  reader: Pick<ModelReader, 'rows'>,
  listFor: ListForItems,
  ratings: EvaluationRatings,
  options: StrongOptions,
): Promise<StrongSummary> {
  const rows = new KnownRows(reader, options)
  const { strangers, knownUsers } = await strangersIn(ratings, rows, options)
  const unknownItems = await dropUnknown(strangers, rows)
  const { measures = new StrongMeasures() } = options
  const users = [...strangers.keys()]
  let ranked = 0
  for (let at = 0; at < users.length; at += OUTSTANDING) {
    const piece = users
      .slice(at, at + OUTSTANDING)
      .flatMap((user) => splitOf(user, strangers.get(user)!, options) ?? [])
    const lists = await Promise.all(piece.map(({ folded }) => listFor(folded, LIST)))
    for (const [i, { folded, relevant }] of piece.entries()) {
      measures.add(lists[i]!, relevant, folded.length)
    }
    ranked += piece.length
    options.onProgress?.(ranked)
  }
  const smallUsers = users.length - ranked
  return { ...measures.summary(), knownUsers, smallUsers, unknownItems }
}

/** The items of a user. */
type ItemsOfUser = Map<string, number>

/** Which keys have rows in the version. */
class KnownRows {
  private readonly reader: Pick<ModelReader, 'rows'>
  private readonly options: Pick<StrongOptions, 'state' | 'query'>
  private readonly known = new Map<string, boolean>()

  constructor(reader: Pick<ModelReader, 'rows'>, options: Pick<StrongOptions, 'state' | 'query'>) {
    this.reader = reader
    this.options = options
  }

  /** Looks for the keys that were not looked for before. */
  async look(keys: Iterable<string>): Promise<void> {
    const fresh = [...new Set(keys)].filter((key) => !this.known.has(key))
    const { state, query } = this.options
    for (let at = 0; at < fresh.length; at += ROWS) {
      const piece = fresh.slice(at, at + ROWS)
      const answers = await this.reader.rows(state, piece, query)
      for (const [i, answer] of answers.entries()) {
        if (!answer.ok && answer.error.code !== 'UNKNOWN_KEY') throw answer.error
        this.known.set(piece[i]!, answer.ok)
      }
    }
  }

  /** Whether a key that was looked for has a row. */
  has(key: string): boolean {
    return this.known.get(key) === true
  }
}

/** The items of the users without a row, and how many users have one. */
async function strangersIn(
  ratings: EvaluationRatings,
  rows: KnownRows,
  { areCounts }: Pick<StrongOptions, 'areCounts'>,
): Promise<{ readonly strangers: Map<string, ItemsOfUser>; readonly knownUsers: number }> {
  const strangers = new Map<string, ItemsOfUser>()
  const known = new Set<string>()
  for await (const piece of ratingPieces(ratings, 4096)) {
    await rows.look(piece.map(({ user }) => alsKey(user, 'U')))
    for (const { user, item, rating } of piece) {
      if (rows.has(alsKey(user, 'U'))) {
        known.add(user)
        continue
      }
      const items = strangers.get(user) ?? new Map<string, number>()
      strangers.set(user, items.set(item, rating + (areCounts ? (items.get(item) ?? 0) : 0)))
    }
  }
  return { strangers, knownUsers: known.size }
}

/** Takes away the items that the version does not know; returns how many different ones. */
async function dropUnknown(
  strangers: ReadonlyMap<string, ItemsOfUser>,
  rows: KnownRows,
): Promise<number> {
  const items = new Set<string>()
  for (const own of strangers.values()) for (const item of own.keys()) items.add(item)
  await rows.look([...items].map((item) => alsKey(item, 'I')))
  const unknown = new Set([...items].filter((item) => !rows.has(alsKey(item, 'I'))))
  if (unknown.size === 0) return 0
  for (const own of strangers.values()) {
    for (const item of own.keys()) if (unknown.has(item)) own.delete(item)
  }
  return unknown.size
}

/** The items of a user in two parts: those that are folded in, and the relevant ones of the others. */
interface FoldedUser {
  readonly folded: readonly UsedItem[]
  readonly relevant: ReadonlySet<string>
}

/** Undefined for a user who is left out. */
function splitOf(
  user: string,
  items: ItemsOfUser,
  { foldIn, seed, relevantFrom = Number.MIN_VALUE }: StrongOptions,
): FoldedUser | undefined {
  if (items.size < LEAST_ITEMS) return undefined
  const random = seededRandom(murmur3(encoder.encode(`${seed}/${user}`)))
  const order = [...items]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([item, strength]) => ({ item, strength, place: random.next() }))
    .sort((a, b) => a.place - b.place)
  // A share such as 0.8 is not exact: 0.2 of five items is one of them.
  const count = Math.max(1, Math.ceil(foldIn * order.length - 1e-9))
  const rest = order.slice(count).filter(({ strength }) => strength >= relevantFrom)
  const folded = order.slice(0, count).map(({ item, strength }) => ({ item, strength }))
  return rest.length === 0 ? undefined : { folded, relevant: new Set(rest.map(({ item }) => item)) }
}

/** The measures of lists. */
export class StrongMeasures {
  private readonly ranking = new RankingAccumulator<string>(LIST)
  private readonly recall20 = new RunningMean()
  private readonly recall50 = new RunningMean()
  private readonly foldedIn = new RunningMean()

  /** Adds a list, with the relevant items of its user and the number of items that were folded in. */
  add(list: readonly string[], relevant: ReadonlySet<string>, folded: number): void {
    this.ranking.add(list, relevant)
    this.recall20.add(recallAt(20, list, relevant))
    this.recall50.add(recallAt(50, list, relevant))
    this.foldedIn.add(folded)
  }

  /** The means so far. Throws EMPTY_DATASET before the first list. */
  summary(): MeasuredLists {
    const { users, ndcg } = this.ranking.summary()
    return {
      users,
      foldedIn: this.foldedIn.value,
      recall20: this.recall20.interval(),
      recall50: this.recall50.interval(),
      ndcg100: ndcg,
    }
  }
}

/** Hits among the first k items, of all that could be there. */
function recallAt(k: number, list: readonly string[], relevant: ReadonlySet<string>): number {
  const hits = list.slice(0, k).filter((item) => relevant.has(item)).length
  return hits / Math.min(k, relevant.size)
}
