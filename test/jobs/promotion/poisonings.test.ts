import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { labWithLive, noise, type planted, rated } from './als-lab.ts'

type Data = ReturnType<typeof planted>

/** The most popular item, which golden ratings know best. */
const POPULAR = '1'

/** Poisoned observations of a kind, and the measures of which at least one must refuse the model of them. */
interface Poisoning {
  readonly name: string
  readonly ratings: (data: Data, random: Random, seed: number) => readonly Rating[]
  readonly refusedBy: RegExp
}

/** Accounts that each give ordinary ratings, and then those of `target`. */
function accounts(
  random: Random,
  { bots, ordinary }: { readonly bots: number; readonly ordinary: number },
  target: readonly (readonly [item: string, rating: number])[],
): Rating[] {
  return Array.from({ length: bots }, (_, bot) => bot).flatMap((bot) => [
    ...Array.from({ length: ordinary }, (_, n) =>
      rated(`bot${bot}`, String(1 + random.below(300)), 3 + random.below(2), n),
    ),
    ...target.map(([item, rating], n) => rated(`bot${bot}`, item, rating, ordinary + n)),
  ])
}

/** Ratings of accounts that were taken over: the opposite of what their users would give. */
function takenOver(data: Data, users: ReadonlySet<string>): Rating[] {
  return [...data.later, ...data.test]
    .filter(({ user }) => users.has(user))
    .map((rating) => ({ ...rating, rating: 6 - rating.rating }))
}

function mostActive({ later }: Data, count: number): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const { user } of later) counts.set(user, (counts.get(user) ?? 0) + 1)
  const users = [...counts].sort((a, b) => b[1] - a[1]).map(([user]) => user)
  return new Set(users.slice(0, count))
}

/** The item of the ten most popular ones that is rated lowest. */
function dislikedItem({ golden }: Data): string {
  const meanOf = (item: number): number => {
    const ratings = golden.filter((rating) => rating.item === String(item))
    return ratings.reduce((sum, { rating }) => sum + rating, 0) / ratings.length
  }
  const popular = Array.from({ length: 10 }, (_, n) => n + 1)
  return String(popular.sort((a, b) => meanOf(a) - meanOf(b))[0])
}

const OF_ITEM = /item \d+|share of one item/

const POISONINGS: readonly Poisoning[] = [
  {
    name: 'a tenth of random ratings',
    ratings: (_, __, seed) => noise(1200, seed),
    refusedBy: /certain loss of MSE/,
  },
  {
    name: 'ratings that are all five',
    ratings: (_, __, seed) => noise(3000, seed).map((rating) => ({ ...rating, rating: 5 })),
    refusedBy: /change of the distribution of ratings/,
  },
  {
    name: 'ratings that are all one',
    ratings: (_, __, seed) => noise(3000, seed).map((rating) => ({ ...rating, rating: 1 })),
    refusedBy: /change of the distribution of ratings/,
  },
  {
    name: 'honest ratings turned round',
    ratings: ({ later }) =>
      later.slice(0, 2000).map((rating) => ({ ...rating, rating: 6 - rating.rating })),
    refusedBy: /certain loss of MSE/,
  },
  {
    name: 'one user with a third of all ratings',
    ratings: () =>
      Array.from({ length: 6000 }, (_, n) => rated('spam', String(1 + (n % 300)), 5, n)),
    refusedBy: /share of one user/,
  },
  {
    name: 'golden ratings, with random ones that they hide',
    ratings: ({ golden }, _, seed) => [...golden, ...golden, ...noise(4000, seed)],
    refusedBy: /golden ratings in the training data/,
  },
  {
    // Each golden pair of them would be predicted better and hide what the others do.
    name: '4 % of the golden ratings, with as many random ones as 5 % of all',
    ratings: ({ golden }, _, seed) => [...golden.slice(0, 120), ...noise(600, seed)],
    refusedBy: /certain loss of MSE/,
  },
  {
    name: 'up: 40 accounts whose every second rating is one for a rare item',
    ratings: (_, random) =>
      accounts(
        random,
        { bots: 40, ordinary: 50 },
        Array.from({ length: 50 }, () => ['299', 5]),
      ),
    refusedBy: OF_ITEM,
  },
  {
    name: 'up: 60 accounts with 39 ordinary ratings and a five for a disliked item',
    ratings: (data, random) =>
      accounts(random, { bots: 60, ordinary: 39 }, [[dislikedItem(data), 5]]),
    refusedBy: OF_ITEM,
  },
  {
    name: 'up: 300 accounts with 19 ordinary ratings and a five for a disliked item',
    ratings: (data, random) =>
      accounts(random, { bots: 300, ordinary: 19 }, [[dislikedItem(data), 5]]),
    refusedBy: OF_ITEM,
  },
  {
    name: 'down: 60 accounts with 39 ordinary ratings and a one for the most popular item',
    ratings: (_, random) => accounts(random, { bots: 60, ordinary: 39 }, [[POPULAR, 1]]),
    refusedBy: OF_ITEM,
  },
  {
    name: 'down: 300 accounts with 19 ordinary ratings and a one for the most popular item',
    ratings: (_, random) => accounts(random, { bots: 300, ordinary: 19 }, [[POPULAR, 1]]),
    refusedBy: OF_ITEM,
  },
  {
    name: 'down: 60 accounts with a one for each of five popular items',
    ratings: (_, random) =>
      accounts(
        random,
        { bots: 60, ordinary: 35 },
        ['1', '2', '3', '4', '5'].map((item) => [item, 1]),
      ),
    refusedBy: OF_ITEM,
  },
  {
    name: 'down: 60 accounts with a one for the most popular item among 4,000 honest ratings',
    ratings: ({ later }, random) => [
      ...later.slice(0, 4000),
      ...accounts(random, { bots: 60, ordinary: 39 }, [[POPULAR, 1]]),
    ],
    refusedBy: OF_ITEM,
  },
  {
    name: 'both ways: the accounts of ten users taken over',
    ratings: (data) => takenOver(data, mostActive(data, 10)),
    refusedBy: /one user|certain loss of MSE/,
  },
  {
    name: 'both ways: one account taken over that rates everything anew',
    ratings: (data) => {
      const [user = ''] = mostActive(data, 1)
      return Array.from({ length: 300 }, (_, n) => rated(user, String(n + 1), 1, n))
    },
    refusedBy: /one user/,
  },
]

/** The short part has one of them, by the commit. */
const seeds = [1, 2, 3, 4, 5, 6].filter((seed) =>
  campaignSize(seed === 1 + (commitSeed() % 6), true),
)

describe('poisoned observations are refused', () => {
  const cases = POISONINGS.flatMap((poisoning) => seeds.map((seed) => ({ ...poisoning, seed })))

  it.each(cases)('$name, seed $seed', async ({ name, ratings, refusedBy, seed }) => {
    const { lab, data } = await labWithLive()
    const before = { rmse: lab.rmse(data.test), popular: lab.prediction(POPULAR) }
    lab.observations.push(...ratings(data, seededRandom(seed), seed))
    const failed = await lab.retrain()
    const after = { rmse: lab.rmse(data.test), popular: lab.prediction(POPULAR) }
    console.info(name, JSON.stringify({ before, after, failed }))
    expect(failed.join()).toMatch(refusedBy)
  })

  // With fewer random ratings the harm shows on the other golden pairs alone; on these seeds it is certain.
  it.each([1, 2, 3])('leaked golden pairs are not compared on, seed %d', async (seed) => {
    const { lab, data } = await labWithLive()
    lab.observations.push(...data.golden.slice(0, 120), ...noise(450, seed))
    expect(await lab.retrain()).toContain('certain loss of MSE against version 1, the best')
  })

  it.each(seeds)('a push down whose training data cannot be read, seed %d', async (seed) => {
    const { lab } = await labWithLive({ isReadable: false })
    const attack = { bots: 600, ordinary: 9 }
    lab.observations.push(...accounts(seededRandom(seed), attack, [[POPULAR, 1]]))
    expect((await lab.retrain()).join()).toContain('moved predictions of item 1')
  })
})
