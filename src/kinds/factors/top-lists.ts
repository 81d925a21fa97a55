import { alsKey, idOfKey, KEY_SUFFIXES, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { ListFacts } from '../../models/registry/checks/quality.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import type { ListMove } from './golden-support.ts'

/** Users whose lists are compared. */
const SAMPLED_USERS = 100
/** Length of a list, where the model has enough items. */
const LIST_LENGTH = 10
/** A list has at most this share of the items: two lists of all items would always agree. */
const MAX_SHARE = 0.1

/** Inputs of `compareLists`. */
export interface CompareListsOptions {
  readonly reader: ModelReader
  /** Name of the model's queryable state. */
  readonly state: string
  readonly candidate: number
  readonly live: number
  /** Items of the candidate. */
  readonly items: number
  readonly users: readonly string[]
  /** Whether trusted ratings say that an item deserves to have moved; then its move does not count. */
  readonly isSupported: (item: string, move: ListMove) => boolean
}

/**
 * Compares the top lists of candidate and live version over a sample of users. An attack on one item
 * hardly changes the error, but it brings the item into most lists, or out of them.
 */
export async function compareLists(options: CompareListsOptions): Promise<ListFacts> {
  const { candidate, live, items, users } = options
  const k = listLengthOf(items)
  const sample = sampleOf(users)
  const now = new Map<string, number>()
  const before = new Map<string, number>()
  let overlap = 0
  for (const user of sample) {
    const [ours, theirs] = await Promise.all([
      listOf(options, user, { version: candidate, k }),
      listOf(options, user, { version: live, k }),
    ])
    const known = new Set(theirs)
    overlap += ours.filter((item) => known.has(item)).length / k
    for (const item of ours) now.set(item, (now.get(item) ?? 0) + 1)
    for (const item of theirs) before.set(item, (before.get(item) ?? 0) + 1)
  }
  const risen = largestGrowth(now, before, (item) => options.isSupported(item, 'rise'))
  const fallen = largestGrowth(before, now, (item) => options.isSupported(item, 'fall'))
  return {
    users: sample.length,
    overlap: overlap / sample.length,
    rise: risen.growth / sample.length,
    ...(risen.item === undefined ? {} : { risenItem: risen.item }),
    fall: fallen.growth / sample.length,
    ...(fallen.item === undefined ? {} : { fallenItem: fallen.item }),
  }
}

/** Length of the lists that are compared, for a number of items. */
export function listLengthOf(items: number): number {
  return Math.max(1, Math.min(LIST_LENGTH, Math.floor(items * MAX_SHARE)))
}

/** The item that is in the most lists of `many` above those of `few`, of those that are not supported. */
function largestGrowth(
  many: ReadonlyMap<string, number>,
  few: ReadonlyMap<string, number>,
  isSupported: (item: string) => boolean,
): { readonly growth: number; readonly item?: string } {
  const growths = [...many]
    .map(([key, lists]) => ({ item: idOfKey(key), growth: lists - (few.get(key) ?? 0) }))
    .filter(({ growth }) => growth > 0)
    .sort((a, b) => b.growth - a.growth)
  return growths.find(({ item }) => !isSupported(item)) ?? { growth: 0 }
}

function sampleOf(users: readonly string[]): readonly string[] {
  const size = Math.min(SAMPLED_USERS, users.length)
  return Array.from(
    { length: size },
    (_, n) => users[Math.floor((n * users.length) / size)] as string,
  )
}

async function listOf(
  { reader, state }: CompareListsOptions,
  user: string,
  { version, k }: { readonly version: number; readonly k: number },
): Promise<readonly string[]> {
  const answer = await reader.topK(state, alsKey(user, 'U'), {
    version,
    k,
    suffix: KEY_SUFFIXES.I,
    cold: MEAN_KEYS.U,
    exclude: [MEAN_KEYS.I],
  })
  if (!answer.ok) throw answer.error
  return answer.value.map(({ key }) => key)
}
