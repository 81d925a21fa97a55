import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { ratingsOf, ratingsTable } from '../../../src/training/data/ratings-table.ts'
import { evaluateStrong, type UsedItem } from '../../../src/training/evaluate/strong.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'

/** A version that knows the users 1 and 2, and the items 0 to 99. */
const reader = {
  rows: (_: string, keys: readonly string[]) =>
    Promise.resolve(
      keys.map((key) => {
        const [id = '', kind] = key.split('-')
        const isKnown = kind === 'U' ? Number(id) <= 2 : Number(id) < 100
        return isKnown
          ? { ok: true, value: Float32Array.of(1), envelope: {} }
          : { ok: false, error: new WeirError('UNKNOWN_KEY', key) }
      }),
    ),
} as unknown as ModelReader

const OPTIONS = { state: 'ALS_MODEL', query: {}, foldIn: 0.8, seed: 1, areCounts: false }

const rate = (user: number, item: number, rating = 1) => ({
  user: String(user),
  item: String(item),
  rating,
  timestamp: -1,
})

/** The items from `first` on, each used once. */
const used = (user: number, count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => rate(user, first + i))

/** Lists every item by its number, without those that were folded in; `asked` gets these. */
function byNumber(asked: (readonly UsedItem[])[] = []) {
  return (items: readonly UsedItem[], k: number): Promise<readonly string[]> => {
    asked.push(items)
    const own = new Set(items.map(({ item }) => item))
    const all = Array.from({ length: 100 }, (_, item) => String(item))
    return Promise.resolve(all.filter((item) => !own.has(item)).slice(0, k))
  }
}

describe('the strong protocol', () => {
  it('folds in four fifths of the items of each user without a row, and looks for the rest in the list', async () => {
    const asked: (readonly UsedItem[])[] = []
    const ratings = ratingsTable([...used(1, 30), ...used(3, 10), ...used(4, 10, 90)])
    const found = await evaluateStrong(reader, byNumber(asked), ratings, OPTIONS)
    expect(asked.map((items) => items.length)).toEqual([8, 8])
    expect(found).toMatchObject({
      ...{ users: 2, knownUsers: 1, smallUsers: 0, unknownItems: 0, foldedIn: 8 },
    })
    // The two items that are left of user 3 are the first of the list, and those of user 4 are behind the 50th.
    expect(found.recall20.mean).toBe(0.5)
    expect(found.recall50.mean).toBe(0.5)
    const ideal = 1 + 1 / Math.log2(3)
    const places = [...Array(10).keys()].map((i) => 90 + i)
    const left = places.filter((item) => !asked[1]!.some((one) => one.item === String(item)))
    // Of the items before 90 none is folded in; of those from 90 on only the two are listed.
    const gain = left.reduce((sum, _, i) => sum + 1 / Math.log2(91 + i + 1), 0)
    expect(found.ndcg100.mean).toBeCloseTo((1 + gain / ideal) / 2, 10)
  })

  it('divides recall by the length of the list where more items are left than it has', async () => {
    const ratings = ratingsTable(used(3, 100))
    const found = await evaluateStrong(reader, byNumber(), ratings, { ...OPTIONS, foldIn: 0.5 })
    expect(found.recall20.mean).toBe(1)
    expect(found.recall50.mean).toBe(1)
  })

  it('leaves out items without a row, users with fewer than five others, and users of whose rest nothing is relevant', async () => {
    const asked: (readonly UsedItem[])[] = []
    const ratings = ratingsTable([
      ...used(3, 4),
      ...used(3, 3, 200),
      ...used(4, 10).map((one) => ({ ...one, rating: 3 })),
      ...used(5, 5).map((one) => ({ ...one, rating: 4 })),
    ])
    const options = { ...OPTIONS, relevantFrom: 4 }
    const found = await evaluateStrong(reader, byNumber(asked), ratings, options)
    expect(found).toMatchObject({ users: 1, smallUsers: 2, unknownItems: 3, foldedIn: 4 })
    expect(asked).toHaveLength(1)
  })

  it('chooses by the seed and the ids alone, not by the order of the ratings', async () => {
    const ratings = ratingsTable([...used(3, 20), ...used(4, 20)])
    const turned = ratingsTable([...ratingsOf(ratings)].reverse())
    const chosen = async (from: typeof ratings, seed: number): Promise<unknown> => {
      const asked: (readonly UsedItem[])[] = []
      await evaluateStrong(reader, byNumber(asked), from, { ...OPTIONS, seed })
      return asked.map((items) => items.map(({ item }) => item).sort()).sort()
    }
    expect(await chosen(turned, 1)).toEqual(await chosen(ratings, 1))
    expect(await chosen(ratings, 2)).not.toEqual(await chosen(ratings, 1))
  })

  it('adds up the counts of a pair, where a rating replaces the one before', async () => {
    const ratings = ratingsTable([...used(3, 5), ...used(3, 5).map((r) => ({ ...r, rating: 2 }))])
    const strengths = async (areCounts: boolean): Promise<unknown> => {
      const asked: (readonly UsedItem[])[] = []
      await evaluateStrong(reader, byNumber(asked), ratings, { ...OPTIONS, areCounts })
      return asked[0]!.map(({ strength }) => strength)
    }
    expect(await strengths(true)).toEqual([3, 3, 3, 3])
    expect(await strengths(false)).toEqual([2, 2, 2, 2])
  })

  it('ends with the error of a row that cannot be read, and where no user is left', async () => {
    const error = new WeirError('RESTORING', 'the slot restores')
    const broken = {
      rows: (_: string, keys: readonly string[]) =>
        Promise.resolve(keys.map(() => ({ ok: false, error }))),
    } as unknown as ModelReader
    const some = ratingsTable(used(3, 10))
    await expect(evaluateStrong(broken, byNumber(), some, OPTIONS)).rejects.toBe(error)
    const known = ratingsTable(used(1, 10))
    const nobody = evaluateStrong(reader, byNumber(), known, OPTIONS)
    await expect(nobody).rejects.toMatchObject({ code: 'EMPTY_DATASET' })
  })
})
