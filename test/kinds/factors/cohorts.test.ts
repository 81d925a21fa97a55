import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import type { PlacedRating } from '../../../src/kinds/factors/ratings-profile.ts'
import { alsKey, idOfKey } from '../../../src/models/als/row-key.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'
import { PromotionLab } from '../../jobs/promotion/lab.ts'

const NAME = 'als-model'
const USERS = 300
const ITEMS = 200

/** Ratings in the training of each user: a third has 3, a third 12, a third 40. */
const ratingsOf = (user: number): number => [3, 12, 40][user % 3]!

/** Golden ratings, half as many of each user as in the training, and how far a version is off, in units of its error. */
function goldenSet() {
  const random = seededRandom(5)
  const golden: Rating[] = []
  const [off, values] = [new Map<string, number>(), new Map<string, number>()]
  for (let user = 0; user < USERS; user++) {
    for (let n = 0; n < ratingsOf(user) / 2; n++) {
      const item = (user * 7 + n * 3) % ITEMS
      const rating = 1 + random.below(5)
      golden.push({ user: String(user), item: String(item), rating, timestamp: n })
      values.set(`${user}/${item}`, rating)
      // Predictions stay within 1 to 5, so that they are not clipped.
      off.set(`${user}/${item}`, (rating >= 3 ? -1 : 1) * Math.abs(random.normal()))
    }
  }
  return { golden, off, values }
}

const { golden, off, values } = goldenSet()
const items = Array.from({ length: 10 }, (_, n) => alsKey(String(n), 'I'))

/** Checks versions whose error of each user is known: `errorOf` gives it for each user, by version. */
class CohortLab {
  private readonly registry = new PromotionLab(NAME)
  private readonly errors: ((user: number) => number)[] = []
  private readonly cohorts: ReadonlyMap<string, ReadonlySet<string>> | undefined

  constructor(cohorts?: ReadonlyMap<string, ReadonlySet<string>>) {
    this.cohorts = cohorts
  }

  /** Names of the measures that failed, none if the version was promoted. */
  async check(errorOf: (user: number) => number): Promise<readonly string[]> {
    this.errors.push(errorOf)
    const { cohorts } = this
    return await this.registry.check(versionOf(this.errors.length), {
      reader: this.reader,
      state: 'ALS_MODEL',
      golden: {
        ratings: ratingsTable(golden),
        subject: 'golden',
        ...(cohorts === undefined ? {} : { cohorts }),
      },
      observations: () => trained(),
    })
  }

  /** Root mean squared error of a version over the golden set. */
  rmse(version: number): number {
    const squares = golden.map(({ user, item }) => {
      return (this.errors[version - 1]!(Number(user)) * off.get(`${user}/${item}`)!) ** 2
    })
    return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length)
  }

  private readonly reader = {
    predict: async (_: string, left: string, right: string, { version }: { version: number }) => {
      const [user, item] = [idOfKey(left), idOfKey(right)]
      const rating = values.get(`${user}/${item}`)!
      const error = this.errors[version - 1]!(Number(user))
      const score = rating + error * off.get(`${user}/${item}`)!
      return { score, leftCold: false, rightCold: false }
    },
    topK: async (_: string, __: string, { k }: { k: number }) => ({
      ok: true,
      value: items.slice(0, k).map((key) => ({ key, score: 1 })),
    }),
  } as unknown as ModelReader
}

function versionOf(number: number): RegisteredVersion {
  return {
    ...{ name: NAME, topic: NAME, number, createdMs: number, state: 'candidate' },
    ...{ processingName: `als-${number}`, id: `id-${number}`, checks: [], notes: [] },
    ...{ dimension: 4, users: USERS, items: ITEMS },
    lineage: {
      ranges: [{ topic: 'ratings', partition: 0, from: 0, to: 10_000 }],
      files: [],
      code: 'als/1',
      hyperparameters: {},
      metrics: { observations: 5500, unparsable: 0, smallestRating: 1, largestRating: 5 },
      newestEventMs: 1,
    },
  }
}

/** Training data: other pairs than the golden ones. */
async function* trained(): AsyncGenerator<readonly PlacedRating[]> {
  let offset = 0
  for (let user = 0; user < USERS; user++) {
    yield Array.from({ length: ratingsOf(user) }, (_, n) => {
      const item = String((user * 7 + n * 3 + 1) % ITEMS)
      return { user: String(user), item, rating: 1 + (n % 5), partition: 0, offset: offset++ }
    })
  }
}

it('a version that is 1 % better but 10 % worse for new users is refused, with the cohort', async () => {
  const lab = new CohortLab()
  expect(await lab.check(() => 0.5)).toEqual([])
  const failed = await lab.check((user) => (user % 3 === 0 ? 0.55 : 0.49))
  expect(lab.rmse(2)).toBeLessThan(0.991 * lab.rmse(1))
  expect(failed).toEqual(['certain rise of MSE of new users (0 to 3 ratings)'])
  // Better for each of them it is promoted.
  expect(await lab.check((user) => (user % 3 === 0 ? 0.49 : 0.5))).toEqual([])
})

it('a version that is better but worse for a named group of users is refused, with its name', async () => {
  const inGroup = (user: number): boolean => user % 5 === 0
  const ids = Array.from({ length: USERS }, (_, user) => user)
    .filter(inGroup)
    .map(String)
  const other = Array.from({ length: USERS }, (_, user) => user).filter((user) => !inGroup(user))
  const worse = (user: number): number => (inGroup(user) ? 0.53 : 0.48)
  const lab = new CohortLab(
    new Map([
      ['country=NZ', new Set(ids)],
      ['country=DE', new Set(other.map(String))],
    ]),
  )
  expect(await lab.check(() => 0.5)).toEqual([])
  expect(await lab.check(worse)).toEqual(['certain rise of MSE of users of country=NZ'])
  // By activity alone it is not seen.
  const plain = new CohortLab()
  expect(await plain.check(() => 0.5)).toEqual([])
  expect(await plain.check(worse)).toEqual([])
})
