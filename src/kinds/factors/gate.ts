import { createHash } from 'node:crypto'
import { isWeirError } from '../../core/errors.ts'
import { predictServed } from '../../jobs/evaluate/served.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import { clipRating } from '../../models/ratings/rating.ts'
import {
  type DataLimits,
  dataMeasures,
  type ProfileFacts,
} from '../../models/registry/checks/data.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import {
  type ListFacts,
  type QualityFacts,
  type QualityLimits,
  qualityMeasures,
} from '../../models/registry/checks/quality.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsOf,
} from '../../training/data/ratings-table.ts'
import { ErrorAccumulator } from '../../training/metrics/errors.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import {
  type GateOptions,
  type GoldenComparison,
  type ModelGate,
  versionBefore,
} from '../port/gate.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import { type GoldenSummary, type MeasuredErrors, sampled } from '../port/measured-errors.ts'
import { isSupported } from './golden-support.ts'
import { type PlacedRating, ratingsProfile } from './ratings-profile.ts'
import { compareLists } from './top-lists.ts'

/** Number of users whose predictions show whether a version is loaded in their slots. */
const PROBED_USERS = 64

/** The gate of models of factor rows that predict ratings: squared errors of golden ratings, top lists, shares of users and items. */
export class RatingsGate implements ModelGate {
  readonly id: string
  readonly error = 'MSE'
  readonly size: number
  readonly probes: readonly number[]
  private readonly options: GateOptions<GoldenRatings, PlacedRating>
  private readonly ratings: RatingsTable

  constructor(options: GateOptions<GoldenRatings, PlacedRating>) {
    this.options = options
    this.ratings = options.golden.ratings
    this.id = goldenRatingsId(this.ratings)
    this.size = this.ratings.size
    this.probes = firstOfUsers(this.ratings)
  }

  async answers(example: number, query: QueryOptions): Promise<boolean> {
    const { reader, state } = this.options
    const { users, items, user, item } = this.ratings
    const left = alsKey(users[user[example] as number] as string, 'U')
    const right = alsKey(items[item[example] as number] as string, 'I')
    try {
      const { score } = await reader.predict(state, left, right, { ...query, ...MEAN_IF_UNKNOWN })
      return Number.isFinite(score)
    } catch (error) {
      if (isWeirError(error)) return false
      throw error
    }
  }

  /** Each pair is predicted by query and clipped to the range of the set. */
  async measure(number: number): Promise<MeasuredErrors> {
    const { reader, state } = this.options
    const { min, max } = ratingStatistics(this.ratings)
    const summary = new ErrorAccumulator()
    const all = new Float32Array(this.size)
    let at = 0
    const options = { state, query: { version: number }, range: { min, max } }
    for await (const piece of predictServed(reader, this.ratings, options)) {
      for (const { rating, score, coverage } of piece) {
        summary.add(rating.rating, score, coverage)
        all[at++] = (rating.rating - score) ** 2
      }
    }
    const { count, mse, coverage } = summary.summary()
    const found: GoldenSummary = { count, mean: mse, knownShare: coverage.known / count }
    return { number, summary: found, errors: sampled(all) }
  }

  /** Missing facts about the training data fail the check. */
  async data(
    candidate: MeasuredErrors | undefined,
    limits?: DataLimits,
  ): Promise<readonly CheckMeasure[]> {
    const { metrics } = this.options.version.lineage
    const facts = {
      observations: metrics['observations'] ?? 0,
      unparsable: metrics['unparsable'] ?? 0,
      smallest: metrics['smallestRating'] ?? Number.NaN,
      largest: metrics['largestRating'] ?? Number.NaN,
      unknownShare: 1 - (candidate?.summary?.knownShare ?? Number.NaN),
    }
    return dataMeasures({ ...facts, profile: await this.profile() }, limits)
  }

  private async profile(): Promise<ProfileFacts | undefined> {
    const { observations: read, version, golden } = this.options
    if (read === undefined) return undefined
    const before = versionBefore(this.options)
    return await ratingsProfile({ read, version, before, golden: golden.ratings })
  }

  async quality(
    found: GoldenComparison | undefined,
    limits?: QualityLimits,
  ): Promise<readonly CheckMeasure[]> {
    const { live } = this.options
    const best = found?.best
    const facts: QualityFacts = {
      pairs: found?.candidate.summary?.count ?? 0,
      candidateRmse: rmseOf(found?.candidate),
      liveRmse: live === 0 ? undefined : rmseOf(found?.live),
      meanRmse: deviation(this.ratings),
      best:
        best === undefined
          ? undefined
          : { number: best.number, mse: best.mean, differenceLow: best.difference.low },
      lists: live === 0 || found === undefined ? undefined : await this.lists(),
    }
    return qualityMeasures(facts, limits)
  }

  /** The candidate's top lists beside those of the live version. */
  async lists(): Promise<ListFacts> {
    const { reader, state, version, live } = this.options
    return await compareLists({
      reader,
      state,
      candidate: version.number,
      live,
      items: version.items,
      users: this.ratings.users,
      isSupported: (item) => this.isSupported(item),
    })
  }

  /** Whether the golden ratings of an item are about as high as the candidate predicts them. */
  private async isSupported(item: string): Promise<boolean> {
    const { reader, state, version } = this.options
    const options = { version: version.number, ...MEAN_IF_UNKNOWN }
    const range = ratingStatistics(this.ratings)
    const golden = [...ratingsOf(this.ratings)].filter((rating) => rating.item === item)
    const pairs = golden.map(async ({ user, rating }) => {
      const key = alsKey(user, 'U')
      const { score } = await reader.predict(state, key, alsKey(item, 'I'), options)
      return { rating, prediction: clipRating(score, range) }
    })
    return isSupported(await Promise.all(pairs))
  }
}

/** Identity of golden ratings: a hash over them, in their order. */
export function goldenRatingsId(ratings: RatingsTable): string {
  const hash = createHash('sha256')
  for (const { user, item, rating } of ratingsOf(ratings))
    hash.update(`${user}\0${item}\0${rating}\n`)
  return hash.digest('hex').slice(0, 32)
}

/** The number of the first rating of each of the first users. */
function firstOfUsers({ user, size }: RatingsTable): readonly number[] {
  const first = new Map<number, number>()
  for (let n = 0; n < size && first.size < PROBED_USERS; n++) {
    const each = user[n] as number
    if (!first.has(each)) first.set(each, n)
  }
  return [...first.values()]
}

function rmseOf(measured: MeasuredErrors | undefined): number {
  return Math.sqrt(measured?.summary?.mean ?? Number.NaN)
}

/** RMSE of predicting the mean rating for every pair. */
function deviation(ratings: RatingsTable): number {
  const { mean } = ratingStatistics(ratings)
  let sum = 0
  for (const rating of ratings.rating) sum += (rating - mean) ** 2
  return Math.sqrt(sum / ratings.size)
}
