import { alsKey, MEAN_KEYS } from '../../models/als/row-key.ts'
import type { DataLimits } from '../../models/registry/checks/data.ts'
import type { CheckMeasure } from '../../models/registry/checks/measure.ts'
import { type QualityLimits, rankingMeasures } from '../../models/registry/checks/quality.ts'
import { meanOf } from '../../models/registry/forgotten-versions.ts'
import { trainedObservations } from '../../models/versions/trained-ranges.ts'
import { ratingsOf } from '../../training/data/ratings-table.ts'
import { topItems } from '../../training/evaluate/ranking-served.ts'
import { RankingAccumulator } from '../../training/metrics/ranking.ts'
import type { QueryOptions } from '../../wire/model-reader.ts'
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
} from '../port/measured-errors.ts'

/** Length of a list. */
const K = 10
/** Users whose lists are asked for at the same time. */
const OUTSTANDING = 64

/**
 * The gate of ALS models of implicit feedback: lists are compared, because the scores are preferences and say nothing about
 * the values of the golden set. A user's error is 1 - NDCG@10 (`RankingSummary`) of the list of all items that the user did
 * not use in the training data, where that is a topic.
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
  private seen: Promise<ReadonlyMap<string, ReadonlySet<string>>> | undefined

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
    const errors = await this.errorsOf(number, (user) => alsKey(user, 'U'))
    const { summary } = await this.ratings.measure(number)
    return {
      number,
      summary: { count: errors.length, mean: meanOf(errors), knownShare: summary!.knownShare },
      errors: sampled(errors),
    }
  }

  /** Errors are those of users, and lists of different users are independent. */
  async compared(): Promise<ComparedErrors> {
    return allCompared(this.relevant.size)
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
      },
      limits,
    )
  }

  /** Low end of the interval of the fall of NDCG from the list of the mean row to those of the users. */
  private async fallBelowOneList({ candidate }: GoldenComparison): Promise<number> {
    const errors = await this.errorsOf(candidate.number, () => MEAN_KEYS.U)
    const oneList = { number: candidate.number, summary: undefined, errors: sampled(errors) }
    return differenceOf(candidate, oneList, await this.compared()).low
  }

  /** 1 - NDCG of each golden user's list; `keyOf`: of the row that makes it. */
  private async errorsOf(version: number, keyOf: (user: string) => string): Promise<Float32Array> {
    const { reader, state } = this.options
    this.seen ??= this.seenItems()
    const seen = await this.seen
    const users = [...this.relevant]
    const errors = new Float32Array(users.length)
    for (let at = 0; at < users.length; at += OUTSTANDING) {
      const piece = users.slice(at, at + OUTSTANDING)
      const lists = await Promise.all(
        piece.map(([user]) =>
          topItems(reader, keyOf(user), {
            ...{ state, query: { version }, k: K },
            seen: seen.get(user) ?? NOTHING,
          }),
        ),
      )
      for (const [n, [, items]] of piece.entries()) errors[at + n] = 1 - ndcgOf(lists[n]!, items)
    }
    return errors
  }

  /** What golden users used in the training data of the candidate and the live version, golden items aside. */
  private async seenItems(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const { observations: read, history, version } = this.options
    const before = versionBefore(this.options)
    const seen = new Map<string, Set<string>>()
    if (read === undefined) return seen
    const add = ({ user, item }: PlacedRating): void => {
      const relevant = this.relevant.get(user)
      if (relevant === undefined || relevant.has(item)) return
      seen.set(user, (seen.get(user) ?? new Set()).add(item))
    }
    const trainings = [{ version, reader: { read, history } }]
    if (before !== undefined)
      trainings.push({ version: before, reader: { read, history: undefined } })
    for (const { version: each, reader } of trainings) {
      const observed = trainedObservations(reader, { version: each, before: undefined })
      for await (const [rating] of observed) add(rating)
    }
    return seen
  }
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
