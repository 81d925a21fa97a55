import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { predictRating } from '../../../../src/models/als/row.ts'
import type { Rating } from '../../../../src/models/ratings/rating.ts'
import { evaluateAls } from '../../../../src/training/als/evaluate.ts'
import type { ChainState } from '../../../../src/training/bmf/chain-state.ts'
import type { BmfOptions } from '../../../../src/training/bmf/options.ts'
import { type BmfResult, trainBmf } from '../../../../src/training/bmf/train.ts'
import { type FeatureTable, featureTable } from '../../../../src/training/data/feature-table.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { splitAtRandom } from '../../../../src/training/data/split-ratings.ts'
import { copiedState } from '../copied-state.ts'

const FACTORS = 3
const KINDS = 6
const NEW_ITEMS = 20

/** Ratings of items whose rows are those of their kind, but for a little; a part of the items has none. */
function world(): { ratings: Rating[]; features: FeatureTable; later: Rating[] } {
  const random = seededRandom(5)
  const row = (scale: number): number[] =>
    Array.from({ length: FACTORS }, () => scale * random.normal())
  const kinds = Array.from({ length: KINDS }, () => ({ row: row(1), bias: random.normal() / 2 }))
  const items = Array.from({ length: 150 + NEW_ITEMS }, (_, item) => {
    const kind = item % KINDS
    const own = row(0.2)
    return { kind, row: kinds[kind]!.row.map((x, i) => x + own[i]!), bias: kinds[kind]!.bias }
  })
  const users = Array.from({ length: 200 }, () => row(1))
  const [ratings, later]: [Rating[], Rating[]] = [[], []]
  for (const [user, person] of users.entries()) {
    for (const [item, thing] of items.entries()) {
      if (random.next() > 0.06) continue
      const score = 3 + thing.bias + predictRating(person, thing.row)
      const rating = score + 0.5 * random.normal()
      const list = item < 150 ? ratings : later
      list.push({ user: `u${user}`, item: `i${item}`, rating, timestamp: -1 })
    }
  }
  const lines = items.map(({ kind }, item) => `i${item},kind ${kind}`)
  return { ratings, later, features: featureTable(['item,kind', ...lines]) }
}

const { ratings, later, features } = world()
const { train, test } = splitAtRandom(ratingsTable(ratings), 0.25)

const trainHere = (options: BmfOptions = {}): Promise<BmfResult> =>
  trainBmf(train, { threads: 0, factors: FACTORS, sweeps: 40, ...options })

describe('features of items', () => {
  it('make predictions better, and give items without ratings rows that predict', async () => {
    const plain = await trainHere()
    const featured = await trainHere({ itemFeatures: features })
    expect(evaluateAls(featured.model, test).rmse).toBeLessThan(
      0.95 * evaluateAls(plain.model, test).rmse,
    )
    expect(plain.model.rowOf('I', 'i160')).toBeUndefined()
    expect(featured.model.rowOf('I', 'i160')).toBeDefined()
    expect(featured.model.ratingsOf('I', featured.model.items.indexOf('i160'))).toBe(0)
    const unseen = ratingsTable(later)
    expect(evaluateAls(featured.model, unseen).rmse).toBeLessThan(
      0.7 * evaluateAls(plain.model, unseen).rmse,
    )
  })

  it('of nothing that matters do not make predictions worse', async () => {
    const random = seededRandom(9)
    const noise = features.ids.map((id) => `${id},${random.below(KINDS)} ${random.below(3)}`)
    const blind = await trainHere({ itemFeatures: featureTable(['item,kind', ...noise]) })
    expect(evaluateAls(blind.model, test).rmse).toBeLessThan(
      1.02 * evaluateAls((await trainHere()).model, test).rmse,
    )
  })

  it('of users do the same for the other side', async () => {
    const turned = ratings.map(({ user, item, ...rest }) => ({ ...rest, user: item, item: user }))
    const split = splitAtRandom(ratingsTable(turned), 0.25)
    const options = { threads: 0, factors: FACTORS, sweeps: 40 }
    const [plain, featured] = await Promise.all([
      trainBmf(split.train, options),
      trainBmf(split.train, { ...options, userFeatures: features }),
    ])
    expect(evaluateAls(featured.model, split.test).rmse).toBeLessThan(
      0.95 * evaluateAls(plain.model, split.test).rmse,
    )
    expect(featured.model.rowOf('U', 'i160')).toBeDefined()
  })
})

describe('who rated what', () => {
  /** Users rate what they like more often, and their choice says more than the values. */
  const chosen = (): Rating[] => {
    const random = seededRandom(3)
    const taste = (): number[] => Array.from({ length: 2 }, () => random.normal())
    const [users, items] = [Array.from({ length: 200 }, taste), Array.from({ length: 120 }, taste)]
    return users.flatMap((person, user) =>
      items.flatMap((thing, item) => {
        const liking = predictRating(person, thing)
        if (random.next() > (liking > 0.5 ? 0.3 : 0.03)) return []
        const rating = 3 + 0.7 * liking + random.normal()
        return [{ user: `u${user}`, item: `i${item}`, rating, timestamp: -1 }]
      }),
    )
  }

  it('makes predictions better where people rate what they like', async () => {
    const split = splitAtRandom(ratingsTable(chosen()), 0.25)
    const options = { threads: 0, factors: 2, sweeps: 60 }
    const [plain, implicit] = await Promise.all([
      trainBmf(split.train, options),
      trainBmf(split.train, { ...options, whoRated: true }),
    ])
    expect(evaluateAls(implicit.model, split.test).rmse).toBeLessThan(
      0.99 * evaluateAls(plain.model, split.test).rmse,
    )
  })

  it('continues from every stored state with the bits of a chain that was never stopped', async () => {
    const states: ChainState[] = []
    const store = {
      load: async () => undefined,
      save: async (state: ChainState) => void states.push(copiedState(state)),
    }
    const options = { sweeps: 12, whoRated: true, itemFeatures: features }
    const whole = await trainHere({ ...options, store, storeEvery: 1 })
    for (const state of [states[2]!, states[8]!]) {
      const middle = { load: async () => state, save: async () => {} }
      const { model } = await trainHere({ ...options, store: middle })
      for (const kind of ['U', 'I'] as const) {
        expect(model.row(kind, 5)).toEqual(whole.model.row(kind, 5))
      }
    }
  })
})

it('features are refused on a GPU before anything is loaded', async () => {
  for (const options of [{ whoRated: true }, { itemFeatures: features }]) {
    await expect(trainHere({ device: 'gpu', ...options })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('on the CPU only'),
    })
  }
})
