import { createHash } from 'node:crypto'
import { isWeirError } from '../../core/errors.ts'
import { NO_TIMESTAMP } from '../../core/time.ts'
import { alsKey, MEAN_IF_UNKNOWN } from '../../models/als/row-key.ts'
import { RunningMean } from '../../models/quality/intervals.ts'
import type { CohortErrors, CohortPair } from '../../models/registry/checks/cohorts.ts'
import { type DataLimits, dataMeasures } from '../../models/registry/checks/data.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import { type PredictedPair, worstMoved } from '../../models/registry/checks/moved-predictions.ts'
import {
  type ListFacts,
  type MovedFacts,
  type QualityFacts,
  type QualityLimits,
  qualityMeasures,
} from '../../models/registry/checks/quality.ts'
import {
  type RatingsTable,
  ratingStatistics,
  ratingsOf,
} from '../../training/data/ratings-table.ts'
import { predictServed } from '../../training/evaluate/served.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import {
  type GateOptions,
  type GoldenComparison,
  type ModelGate,
  versionBefore,
} from '../port/gate.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import {
  type ComparedErrors,
  type GoldenSummary,
  type MeasuredErrors,
  sampled,
  storedExamples,
} from '../port/measured-errors.ts'
import { comparedCohorts, type UserGroups } from './cohorts.ts'
import { isSupported, type ListMove } from './golden-support.ts'
import { type PlacedRating, type RatingsProfile, ratingsProfile } from './ratings-profile.ts'
import { compareLists } from './top-lists.ts'

/** Number of users whose predictions show whether a version is loaded in their slots. */
const PROBED_USERS = 64

/**
 * The gate of models of factor rows that predict ratings: squared errors of golden ratings, top lists, predictions that
 * have moved, shares of users and items. Golden ratings whose pairs are in the candidate's training data say nothing about
 * it and are left out.
 */
export class RatingsGate implements ModelGate {
  readonly id: string
  readonly error = 'MSE'
  readonly size: number
  readonly probes: readonly number[]
  private readonly options: GateOptions<GoldenRatings, PlacedRating>
  private readonly ratings: RatingsTable
  private training: Promise<RatingsProfile | undefined> | undefined
  /** By version, the prediction of each golden rating. */
  private readonly scores = new Map<number, Float32Array>()

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

  /** Each pair is predicted by query and clipped to the range of the set; the summary is of pairs outside the training. */
  async measure(number: number): Promise<MeasuredErrors> {
    const { reader, state } = this.options
    const { min, max } = ratingStatistics(this.ratings)
    const squares = new RunningMean()
    const all = new Float32Array(this.size)
    const scores = new Float32Array(this.size)
    const isTrained = await this.isTrained()
    let [at, known] = [0, 0]
    const options = { state, query: { version: number }, range: { min, max } }
    for await (const piece of predictServed(reader, this.ratings, options)) {
      for (const { rating, score, coverage } of piece) {
        const square = (rating.rating - score) ** 2
        if (!isTrained(at)) squares.add(square)
        if (coverage === 'known') known++
        scores[at] = score
        all[at++] = square
      }
    }
    this.scores.set(number, scores)
    const mean = squares.size === 0 ? Number.NaN : squares.value
    const summary: GoldenSummary = { count: squares.size, mean, knownShare: known / this.size }
    return { number, summary, errors: sampled(all) }
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
    const profile = await this.profile()
    return dataMeasures({ ...facts, profile: profile?.facts }, limits)
  }

  async compared(): Promise<ComparedErrors> {
    const { user, item, timestamp } = this.ratings
    const isTrained = await this.isTrained()
    const kept = [...storedExamples(this.size).entries()].filter(([, pair]) => !isTrained(pair))
    return {
      places: kept.map(([place]) => place),
      pairs: kept.map(([, pair]) => ({ user: user[pair] as number, item: item[pair] as number })),
      ...(timestamp.includes(NO_TIMESTAMP)
        ? {}
        : { times: kept.map(([, pair]) => timestamp[pair]!) }),
    }
  }

  /** What the training data are like, read once. */
  private profile(): Promise<RatingsProfile | undefined> {
    const { observations: read, history, version, golden } = this.options
    if (read === undefined) return Promise.resolve(undefined)
    const before = versionBefore(this.options)
    this.training ??= ratingsProfile({ read, history, version, before, golden: golden.ratings })
    return this.training
  }

  /** Whether the training data have the pair of a golden rating. */
  private async isTrained(): Promise<(pair: number) => boolean> {
    const trained = (await this.profile())?.trained
    return (pair) => trained?.[pair] === 1
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
      meanRmse: await this.deviation(),
      best:
        best === undefined
          ? undefined
          : { number: best.number, mse: best.mean, differenceLow: best.difference.certain },
      lists: live === 0 || found === undefined ? undefined : await this.lists(['rise', 'fall']),
      moved: live === 0 || found === undefined ? undefined : await this.moved(),
      cohorts: await this.cohorts(),
    }
    return qualityMeasures(facts, limits)
  }

  /** The candidate's top lists beside those of the live version; `moves`: those that golden ratings must support. */
  async lists(moves: readonly ListMove[]): Promise<ListFacts> {
    const { reader, state, version, live } = this.options
    return await compareLists({
      reader,
      state,
      candidate: version.number,
      live,
      items: version.items,
      users: this.ratings.users,
      isSupported: (item, move) => !moves.includes(move) || this.isSupported(item, move),
    })
  }

  /** The item and the user whose predictions have moved away from their golden ratings the most. */
  private async moved(): Promise<MovedFacts> {
    const { version, live } = this.options
    const { min, max } = ratingStatistics(this.ratings)
    const width = max - min
    if (width === 0) return { item: undefined, user: undefined }
    const [candidate, before] = [this.scores.get(version.number)!, this.scores.get(live)!]
    const isTrained = await this.isTrained()
    const [items, users] = [new Map<string, PredictedPair[]>(), new Map<string, PredictedPair[]>()]
    let at = 0
    for (const { user, item, rating } of ratingsOf(this.ratings)) {
      const pair = { rating, candidate: candidate[at] as number, live: before[at] as number }
      if (isTrained(at++)) continue
      appendTo(items, item, pair)
      appendTo(users, user, pair)
    }
    return { item: worstMoved(items, width), user: worstMoved(users, width) }
  }

  async cohorts(): Promise<readonly CohortErrors[]> {
    const { version, live } = this.options
    const [candidate, before] = [this.scores.get(version.number), this.scores.get(live)]
    if (candidate === undefined || before === undefined) return []
    const isTrained = await this.isTrained()
    const { user, item, rating } = this.ratings
    const pairs: CohortPair[] = []
    for (let n = 0; n < this.size; n++) {
      if (isTrained(n)) continue
      const errors = {
        candidate: (rating[n]! - candidate[n]!) ** 2,
        live: (rating[n]! - before[n]!) ** 2,
      }
      pairs.push({ user: user[n]!, item: item[n]!, ...errors })
    }
    return comparedCohorts(pairs, await this.groups(), { error: this.error, baseOf: (mse) => mse })
  }

  /** Groups of the golden users. */
  async groups(): Promise<UserGroups> {
    const { golden } = this.options
    const activity = (await this.profile())?.activity
    return { users: this.ratings.users, activity, cohorts: golden.cohorts }
  }

  /** RMSE of predicting the mean rating for every pair outside the training. */
  private async deviation(): Promise<number> {
    const isTrained = await this.isTrained()
    const ratings = new RunningMean()
    for (const [pair, rating] of this.ratings.rating.entries()) {
      if (!isTrained(pair)) ratings.add(rating)
    }
    return Math.sqrt(ratings.deviations / ratings.size)
  }

  /** Whether the golden ratings of an item support that the candidate has moved it in the lists. */
  private isSupported(item: string, move: ListMove): boolean {
    const scores = this.scores.get(this.options.version.number)!
    const pairs = [...ratingsOf(this.ratings)]
      .map((rating, at) => ({ ...rating, prediction: scores[at] as number }))
      .filter((rating) => rating.item === item)
    return isSupported(pairs, move)
  }
}

function appendTo<T>(groups: Map<string, T[]>, group: string, value: T): void {
  const known = groups.get(group)
  if (known === undefined) groups.set(group, [value])
  else known.push(value)
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
