import { alsKey, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { CohortErrors, CohortPair } from '../../models/registry/checks/cohorts.ts'
import type { DataLimits } from '../../models/registry/checks/data.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import { type QualityLimits, rankingMeasures } from '../../models/registry/checks/quality.ts'
import { meanOf } from '../../models/registry/forgotten-versions.ts'
import { trainedObservations } from '../../models/versions/trained-ranges.ts'
import { ratingsOf } from '../../training/data/ratings-table.ts'
import { topItems } from '../../training/evaluate/ranking-served.ts'
import { RankingAccumulator } from '../../training/metrics/ranking.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
import { comparedCohorts } from '../factors/cohorts.ts'
import { goldenRatingsId, RatingsGate } from '../factors/gate.ts'
import type { PlacedRating } from '../factors/ratings-profile.ts'
import {
  type GateOptions,
  type GoldenComparison,
  type ModelGate,
  versionBefore,
} from '../port/gate.ts'
import type { GoldenRatings } from '../port/golden-set.ts'
import {
  allCompared,
  type ComparedErrors,
  differenceOf,
  type MeasuredErrors,
  sampled,
  storedExamples,
} from '../port/measured-errors.ts'

/** Length of a list. */
const K = 10
/** Users whose lists are asked for at the same time. */
const OUTSTANDING = 64
/** Fewest users whose golden events are all outside the training data, for the comparison with stored errors. */
const MIN_WHOLE_USERS = 30

/** What the list of a golden user is measured on. */
interface UserEvents {
  readonly user: string
  /** Items that belong into the list. */
  readonly relevant: ReadonlySet<string>
  /** Items that are left out of the list. */
  readonly seen: ReadonlySet<string>
}

/** The events of all golden users, in the same order. */
interface GoldenEvents {
  readonly all: readonly UserEvents[]
  /** Without those that the candidate or the live version was trained on; the same object where it was trained on none. */
  readonly left: readonly UserEvents[]
}

/**
 * The gate of ALS models of implicit feedback: lists are compared, because the scores are preferences and say nothing about
 * the values of the golden set. A user's error is 1 - NDCG@10 (`RankingSummary`) of the list of all items that the user did
 * not use in the training data, where that is a topic. Candidate and live version are compared on the golden events that
 * neither was trained on, both in the same check. Errors on all golden events are stored: those of a later check would have
 * others that are left.
 */
export class ImplicitGate implements ModelGate {
  readonly id: string
  readonly error = `1 - NDCG@${K}`
  readonly size: number
  readonly probes: readonly number[]
  private readonly options: GateOptions<GoldenRatings, PlacedRating>
  private readonly ratings: RatingsGate
  /** Golden items that each user used. */
  private readonly relevant: ReadonlyMap<string, ReadonlySet<string>>
  private events: Promise<GoldenEvents> | undefined
  /** By version, the error of each user on the events that are left; NaN where none is. */
  private readonly left = new Map<number, Float32Array>()

  constructor(options: GateOptions<GoldenRatings, PlacedRating>) {
    this.options = options
    this.ratings = new RatingsGate(options)
    this.id = goldenListsId(options.golden.ratings)
    this.size = this.ratings.size
    this.probes = this.ratings.probes
    this.relevant = usedItems(ratingsOf(options.golden.ratings))
  }

  answers(example: number, query: QueryOptions): Promise<boolean> {
    return this.ratings.answers(example, query)
  }

  async measure(number: number): Promise<MeasuredErrors> {
    const rowOf = (user: string): string => alsKey(user, 'U')
    const { all } = await this.golden()
    const errors = await this.errorsOf(number, rowOf, all)
    const left = await this.errorsLeft(number, rowOf, errors)
    this.left.set(number, left)
    const known = left.filter((error) => !Number.isNaN(error))
    const mean = known.length === 0 ? Number.NaN : meanOf(known)
    const { summary } = await this.ratings.measure(number)
    return {
      number,
      summary: { count: known.length, mean, knownShare: summary!.knownShare },
      errors: sampled(errors),
      left: sampled(left),
    }
  }

  /**
   * Errors are those of users, and lists of different users are independent. With stored errors, only users are compared all
   * of whose golden events are outside the training data.
   */
  async compared(): Promise<ComparedErrors> {
    const { all, left } = await this.golden()
    const { places } = allCompared(all.length)
    const stored = storedExamples(all.length)
    const whole = places.filter((place) => all[stored[place]!] === left[stored[place]!])
    if (whole.length === places.length || whole.length >= MIN_WHOLE_USERS) return { places: whole }
    return {
      places: [],
      note: `only ${whole.length} of ${places.length} golden users have all their golden events outside the training data, so the candidate is not compared with versions before the live one: leave golden events out of the training data`,
    }
  }

  data(
    candidate: MeasuredErrors | undefined,
    limits?: DataLimits,
  ): Promise<readonly CheckMeasure[]> {
    return this.ratings.data(candidate, limits)
  }

  async quality(
    found: GoldenComparison | undefined,
    limits?: QualityLimits,
  ): Promise<readonly CheckMeasure[]> {
    const { live } = this.options
    const candidate = found?.candidate.summary
    const best = found?.best
    return rankingMeasures(
      {
        k: K,
        users: candidate?.count ?? 0,
        fallBelowOneList: found === undefined ? Number.NaN : await this.fallBelowOneList(found),
        live:
          live === 0 || found?.live === undefined
            ? undefined
            : {
                ndcg: 1 - (found.live.summary?.mean ?? Number.NaN),
                fallLow: found.difference.low,
              },
        best:
          best === undefined
            ? undefined
            : { number: best.number, error: best.mean, fallLow: best.difference.low },
        lists: live === 0 || found === undefined ? undefined : await this.ratings.lists(['rise']),
        cohorts: await this.cohorts(),
      },
      limits,
    )
  }

  async cohorts(): Promise<readonly CohortErrors[]> {
    const { version, live } = this.options
    const [candidate, before] = [this.left.get(version.number), this.left.get(live)]
    if (candidate === undefined || before === undefined) return []
    const groups = await this.ratings.groups()
    const numbers = new Map(groups.users.map((id, number) => [id, number]))
    const pairs = (await this.golden()).all.flatMap(({ user: id }, n): CohortPair[] => {
      const user = numbers.get(id)!
      const errors = { candidate: candidate[n]!, live: before[n]! }
      return Number.isNaN(errors.candidate) ? [] : [{ user, item: user, ...errors }]
    })
    return comparedCohorts(pairs, groups, { error: this.error, baseOf: (error) => 1 - error })
  }

  /**
   * Low end of the interval of the fall of NDCG from the list of the mean row to those of the users, on all golden events: it
   * is a lower bound of any use, and where users come back to items, that is a use, too.
   */
  private async fallBelowOneList({ candidate }: GoldenComparison): Promise<number> {
    const { all } = await this.golden()
    const { number, summary, errors } = candidate
    const oneList = sampled(await this.errorsOf(number, () => MEAN_KEYS.U, all))
    return differenceOf(
      { number, summary, errors },
      { number, summary: undefined, errors: oneList },
      allCompared(all.length),
    ).low
  }

  /** The errors of a version on the events that are left. `errors`: on all of them. */
  private async errorsLeft(
    version: number,
    keyOf: (user: string) => string,
    errors: Float32Array,
  ): Promise<Float32Array> {
    const { all, left } = await this.golden()
    const changed = left.flatMap((events, n) => (events === all[n] ? [] : [n]))
    const others = await this.errorsOf(
      version,
      keyOf,
      changed.map((n) => left[n]!),
    )
    const result = errors.slice()
    for (const [at, n] of changed.entries()) result[n] = others[at]!
    return result
  }

  /** 1 - NDCG of the list of each user; NaN where no item belongs into it. `keyOf`: of the row that makes it. */
  private async errorsOf(
    version: number,
    keyOf: (user: string) => string,
    users: readonly UserEvents[],
  ): Promise<Float32Array> {
    const { reader, state } = this.options
    const errors = new Float32Array(users.length)
    for (let at = 0; at < users.length; at += OUTSTANDING) {
      const piece = users.slice(at, at + OUTSTANDING)
      const found = await Promise.all(
        piece.map(async ({ user, relevant, seen }) => {
          if (relevant.size === 0) return Number.NaN
          const asked = { state, query: { version }, k: K, seen }
          return 1 - ndcgOf(await topItems(reader, keyOf(user), asked), relevant)
        }),
      )
      errors.set(found, at)
    }
    return errors
  }

  private golden(): Promise<GoldenEvents> {
    this.events ??= this.goldenEvents()
    return this.events
  }

  /** Golden events, beside what their users used in the training data of the candidate and the live version. */
  private async goldenEvents(): Promise<GoldenEvents> {
    const { observations: read, history, version } = this.options
    const before = versionBefore(this.options)
    const [seen, trained] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()]
    const add = ({ user, item }: PlacedRating): void => {
      const relevant = this.relevant.get(user)
      if (relevant === undefined) return
      const used = relevant.has(item) ? trained : seen
      used.set(user, (used.get(user) ?? new Set()).add(item))
    }
    const trainings = read === undefined ? [] : [{ version, reader: { read, history } }]
    if (read !== undefined && before !== undefined)
      trainings.push({ version: before, reader: { read, history: undefined } })
    for (const { version: each, reader } of trainings) {
      const observed = trainedObservations(reader, { version: each, before: undefined })
      for await (const [rating] of observed) add(rating)
    }
    const all = [...this.relevant].map(([user, relevant]) => ({
      ...{ user, relevant },
      seen: seen.get(user) ?? NOTHING,
    }))
    const left = all.map((events) => withoutTrained(events, trained.get(events.user)))
    return { all, left }
  }
}

/** The events of a user without those that are trained; the same object where none is. */
function withoutTrained(events: UserEvents, trained: ReadonlySet<string> = NOTHING): UserEvents {
  if (trained.size === 0) return events
  const { user, relevant, seen } = events
  const rest = [...relevant].filter((item) => !trained.has(item))
  return { user, relevant: new Set(rest), seen: new Set([...seen, ...trained]) }
}

const NOTHING: ReadonlySet<string> = new Set()

/** Identity of a golden set whose lists are compared. */
export function goldenListsId(ratings: GoldenRatings['ratings']): string {
  return `ndcg${K}-${goldenRatingsId(ratings)}`
}

/** The items that each user used; a value of 0 or less is not a use. */
function usedItems(
  ratings: Iterable<{ readonly user: string; readonly item: string; readonly rating: number }>,
): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>()
  for (const { user, item, rating } of ratings) {
    if (rating <= 0) continue
    used.set(user, (used.get(user) ?? new Set()).add(item))
  }
  return used
}

function ndcgOf(list: readonly string[], relevant: ReadonlySet<string>): number {
  const accumulator = new RankingAccumulator<string>(K)
  accumulator.add(list, relevant)
  return accumulator.summary().ndcg.mean
}
