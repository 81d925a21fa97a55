import { expect, it } from 'vitest'
import type { PlacedRating } from '../../../src/kinds/factors/ratings-profile.ts'
import { scoreOf } from '../../../src/models/als/online/rule.ts'
import { alsKey, idOfKey, kindOfKey } from '../../../src/models/als/row-key.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { Rating } from '../../../src/models/ratings/rating.ts'
import type { RegisteredVersion } from '../../../src/models/registry/version.ts'
import type { AlsModel } from '../../../src/training/als/solver/model.ts'
import { trainAls } from '../../../src/training/als/train.ts'
import { ratingsTable } from '../../../src/training/data/ratings-table.ts'
import type { ModelReader } from '../../../src/wire/model-reader.ts'
import { PromotionLab } from '../../jobs/promotion/lab.ts'

const NAME = 'als-model'
const BASE = 9000
const GOLDEN = 2000
/** Golden events that are trained on. */
const LEAKED = 150

/** Uses of items: each value is a count from 1 to 10. */
function uses(): Rating[] {
  const all = [...generateRatings({ users: 400, items: 200, ratings: 40_000, seed: 3 })]
  return all
    .filter(({ rating }) => rating >= 4)
    .map((use, n) => ({ ...use, rating: 1 + ((n * 7) % 10) }))
}

/** Models that are checked as versions of implicit feedback. */
class ImplicitLab {
  private readonly models: AlsModel[] = []
  private readonly registry = new PromotionLab(NAME)
  private readonly observations: readonly Rating[]
  private readonly golden: readonly Rating[]

  constructor(observations: readonly Rating[], golden: readonly Rating[]) {
    this.observations = observations
    this.golden = golden
  }

  /** Names of the measures that failed, none if the version was promoted. `to`: observations that it was trained on. */
  async check(model: AlsModel, to: number): Promise<readonly string[]> {
    this.models.push(model)
    return await this.registry.check(this.versionOf(model, to), {
      reader: this.reader,
      state: 'ALS_MODEL',
      golden: { ratings: ratingsTable(this.golden), subject: 'golden' },
      observations: (ranges) => this.read(ranges[0]!.to),
    })
  }

  private versionOf(model: AlsModel, to: number): RegisteredVersion {
    const number = this.models.length
    return {
      ...{ name: NAME, topic: NAME, number, createdMs: number, state: 'candidate' },
      ...{ processingName: `als-${number}`, id: `id-${number}`, checks: [], notes: [] },
      ...{ dimension: model.dimension, users: model.users.length, items: model.items.length },
      lineage: {
        ranges: [{ topic: 'uses', partition: 0, from: 0, to }],
        files: [],
        code: 'als/1',
        hyperparameters: { feedback: 'implicit' },
        metrics: { observations: to, unparsable: 0, smallestRating: 1, largestRating: 10 },
        newestEventMs: number,
      },
    }
  }

  private async *read(to: number): AsyncGenerator<readonly PlacedRating[]> {
    const placed = this.observations.slice(0, to)
    yield placed.map((rating, offset) => ({ ...rating, partition: 0, offset }))
  }

  private readonly reader = {
    predict: async (_: string, left: string, right: string, { version }: { version: number }) => {
      const [user, item] = [this.row(left, version), this.row(right, version)]
      return { score: scoreOf(user.row, item.row), leftCold: user.cold, rightCold: item.cold }
    },
    topK: async (
      _: string,
      key: string,
      { version, k, exclude = [] }: { version: number; k: number; exclude?: string[] },
    ) => {
      const { row } = this.row(key, version)
      const out = new Set(exclude)
      const value = this.models[version - 1]!.items.map((item) => alsKey(item, 'I'))
        .filter((each) => !out.has(each))
        .map((each) => ({ key: each, score: scoreOf(row, this.row(each, version).row) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, k)
      return { ok: true, value }
    },
  } as unknown as ModelReader

  private row(key: string, version: number): { row: Float32Array; cold: boolean } {
    const model = this.models[version - 1]!
    const kind = kindOfKey(key)
    const row = model.rowOf(kind, idOfKey(key))
    if (row !== undefined) return { row, cold: false }
    return { row: kind === 'U' ? model.meanUser : model.meanItem, cold: true }
  }
}

const implicit = (ratings: readonly Rating[]): Promise<AlsModel> =>
  trainAls(ratingsTable(ratings), {
    // The counts of this data say nothing of a preference.
    ...{ feedback: 'implicit', alpha: 0.1, factors: 8, iterations: 8, threads: 0 },
  })

it('lists decide on a model of implicit feedback, not the distance of a preference from a count', async () => {
  const all = uses()
  const golden = all.slice(0, GOLDEN)
  const observations = all.slice(GOLDEN)
  const lab = new ImplicitLab(observations, golden)
  expect(await lab.check(await implicit(observations.slice(0, BASE)), BASE)).toEqual([])
  const more = BASE + 2000
  expect(await lab.check(await implicit(observations.slice(0, more)), more)).toEqual([])
  // Trained on the counts as ratings it has the smaller error of the counts, and lists that are far worse.
  const explicit = await trainAls(ratingsTable(observations.slice(0, more)), {
    ...{ factors: 6, iterations: 8, threads: 0 },
  })
  expect((await lab.check(explicit, more)).join()).toMatch(
    /certain fall of NDCG@10 against live,certain fall of NDCG@10 against version \d, the best/,
  )
})

it('golden events that a candidate was trained on do not hide that it ranks the others worse', async () => {
  const all = uses()
  const golden = all.slice(0, GOLDEN)
  const base = all.slice(GOLDEN, GOLDEN + BASE)
  const leaked = [...base, ...golden.slice(0, LEAKED)]
  const lab = new ImplicitLab(leaked, golden)
  expect(await lab.check(await implicit(base), BASE)).toEqual([])
  // It remembers what it was trained on: NDCG over all golden events rises from 0.508 to 0.532.
  const remembering = await trainAls(ratingsTable(leaked.map((use) => ({ ...use, rating: 1 }))), {
    ...{ feedback: 'implicit', alpha: 3, factors: 16, iterations: 8, threads: 0 },
  })
  const failed = await lab.check(remembering, leaked.length)
  expect(failed).toContain('certain fall of NDCG@10 against live')
})

it('a candidate that has more uses is promoted, also where some of the golden ones are among them', async () => {
  const all = uses()
  const golden = all.slice(0, GOLDEN)
  const observations = [
    ...all.slice(GOLDEN, GOLDEN + BASE),
    ...golden.slice(0, LEAKED),
    ...all.slice(GOLDEN + BASE),
  ]
  const lab = new ImplicitLab(observations, golden)
  expect(await lab.check(await implicit(observations.slice(0, BASE)), BASE)).toEqual([])
  for (const more of [BASE + 1500, BASE + 4000]) {
    expect(await lab.check(await implicit(observations.slice(0, more)), more)).toEqual([])
  }
})
