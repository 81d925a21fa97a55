import { type Clock, sleep } from '../core/clock.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import { PairedDifference } from '../models/metrics-intervals.ts'
import {
  type DataLimits,
  dataMeasures,
  type QualityLimits,
  qualityMeasures,
  type ServingFacts,
  type ServingLimits,
  type StoredCheck,
  servingMeasures,
  storedCheck,
} from '../models/registry-checks.ts'
import type { RegisteredVersion } from '../models/registry-version.ts'
import { ErrorAccumulator, type ErrorSummary } from '../training/metrics.ts'
import { type RatingsTable, ratingStatistics } from '../training/ratings-table.ts'
import type { Consistency, ModelReader, QueryOptions } from '../wire/model-reader.ts'
import { type EvaluateOptions, predictServed } from './evaluate-served.ts'

/** Ratings that candidates and the live version are measured on, never trained on. */
export interface GoldenSet {
  readonly ratings: RatingsTable
  /** What it is, for the registry: file or topic and a hash. */
  readonly subject: string
}

/** Bounds of all three checks. */
export interface PromotionLimits {
  readonly data?: DataLimits
  readonly quality?: QualityLimits
  readonly serving?: ServingLimits
}

/** What the checks work with. */
export interface PromotionChecksOptions {
  readonly reader: ModelReader
  /** Queryable state of the model. */
  readonly state: string
  readonly version: RegisteredVersion
  /** Number of the live version, 0 for none. */
  readonly live: number
  readonly golden: GoldenSet
  /** Last positions of the version's rows in the model topic: it is loaded when they are applied. */
  readonly positions: readonly { readonly partition: number; readonly offset: number }[]
  readonly limits?: PromotionLimits
  readonly clock: Clock
}

/** Results, and what the golden set said beside the bounds. */
export interface PromotionChecks {
  readonly checks: readonly StoredCheck[]
  readonly candidate: ErrorSummary | undefined
  readonly live: ErrorSummary | undefined
  /** Mean squared error of the candidate minus that of live, with its interval. */
  readonly difference: { readonly mean: number; readonly low: number; readonly high: number }
}

const NO_DIFFERENCE = { mean: Number.NaN, low: Number.NaN, high: Number.NaN }
/** Predictions that are timed one by one. */
const TIMED = 500
/** Users, spread over the slots, that are asked whether a version is loaded. */
const PROBED_USERS = 64
const POLL_MS = 10

/**
 * Runs the three checks on a version that a job serves beside the live one: whether it loads and
 * answers in time, how it does on the golden set against live, and what it was trained on.
 */
export async function runPromotionChecks(
  options: PromotionChecksOptions,
): Promise<PromotionChecks> {
  const { version, live, golden, limits = {}, clock } = options
  const serving = await servingFacts(options)
  const facts = { atMs: clock.nowMs(), against: live, subject: golden.subject }
  const servingCheck = storedCheck('serving', servingMeasures(serving, limits.serving), facts)
  const answers = serving.asked > 0 && serving.failed === 0
  const quality = answers ? await goldenErrors(options) : undefined
  const meanRmse = deviation(golden.ratings)
  const qualityFacts = {
    pairs: quality?.candidate.count ?? 0,
    candidateRmse: quality?.candidate.rmse ?? Number.NaN,
    liveRmse: live === 0 ? undefined : (quality?.live?.rmse ?? Number.NaN),
    meanRmse,
  }
  const dataCheck = storedCheck(
    'data',
    dataMeasures(dataFacts(version, quality?.candidate), limits.data),
    facts,
  )
  const qualityCheck = storedCheck('quality', qualityMeasures(qualityFacts, limits.quality), facts)
  return {
    checks: [dataCheck, qualityCheck, servingCheck],
    candidate: quality?.candidate,
    live: quality?.live,
    difference: quality?.difference ?? NO_DIFFERENCE,
  }
}

/** What the lineage tells of the training data; missing figures fail the check. */
function dataFacts(version: RegisteredVersion, golden: ErrorSummary | undefined) {
  const { metrics } = version.lineage
  const known = golden?.coverage.known ?? 0
  return {
    observations: metrics['observations'] ?? 0,
    unparsable: metrics['unparsable'] ?? 0,
    smallest: metrics['smallestRating'] ?? Number.NaN,
    largest: metrics['largestRating'] ?? Number.NaN,
    unknownShare: golden === undefined ? Number.NaN : 1 - known / golden.count,
  }
}

/**
 * Waits until the serving job has applied the version's rows up to the given positions; resolves with
 * the time that it took in ms, Infinity when it took longer than the limit.
 */
export async function untilLoaded(options: PromotionChecksOptions): Promise<number> {
  const { clock, limits } = options
  const startMs = clock.monotonicMs()
  const maxLoadMs = limits?.serving?.maxLoadMs ?? 60_000
  while (!(await answersNow(options))) {
    if (clock.monotonicMs() - startMs > maxLoadMs) return Number.POSITIVE_INFINITY
    await sleep(clock, POLL_MS)
  }
  return clock.monotonicMs() - startMs
}

/** Waits until the version answers, then times predictions of golden pairs one after the other. */
async function servingFacts(options: PromotionChecksOptions): Promise<ServingFacts> {
  const { clock, golden, version } = options
  const loadMs = await untilLoaded(options)
  if (!Number.isFinite(loadMs)) return { loadMs, asked: 0, failed: 0, p99Ms: Number.NaN }
  const times: number[] = []
  let failed = 0
  const { ratings } = golden
  const asked = Math.min(TIMED, ratings.size)
  for (let i = 0; i < asked; i++) {
    const at = Math.floor((i * ratings.size) / asked)
    const beginMs = clock.monotonicMs()
    const user = ratings.users[ratings.user[at] as number] as string
    const item = ratings.items[ratings.item[at] as number] as string
    const isRight = await answers(options, user, item, { version: version.number })
    if (!isRight) failed++
    times.push(clock.monotonicMs() - beginMs)
  }
  times.sort((a, b) => a - b)
  const p99Ms = times[Math.min(times.length - 1, Math.floor(times.length * 0.99))] ?? Number.NaN
  return { loadMs, asked, failed, p99Ms }
}

/** Whether the slots of some golden users have applied all rows of the version. */
async function answersNow(options: PromotionChecksOptions): Promise<boolean> {
  const { golden, positions, version } = options
  const [item] = golden.ratings.items
  if (item === undefined) {
    throw new WeirError('EMPTY_DATASET', 'the golden set is empty; give ratings to measure on')
  }
  const users = golden.ratings.users.slice(0, PROBED_USERS)
  const levels: readonly Consistency[] =
    positions.length === 0
      ? [{ level: 'live' }]
      : positions.map((position) => ({ level: 'at-least', ...position }))
  for (const consistency of levels) {
    const query = { version: version.number, consistency }
    const found = await Promise.all(users.map((user) => answers(options, user, item, query)))
    if (found.includes(false)) return false
  }
  return true
}

async function answers(
  { reader, state }: PromotionChecksOptions,
  user: string,
  item: string,
  query: QueryOptions,
): Promise<boolean> {
  try {
    const cold = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
    const { score } = await reader.predict(state, `${user}-U`, `${item}-I`, { ...query, ...cold })
    return Number.isFinite(score)
  } catch (error) {
    if (isWeirError(error)) return false
    throw error
  }
}

/** Candidate and live over the same pairs. */
async function goldenErrors(options: PromotionChecksOptions): Promise<{
  readonly candidate: ErrorSummary
  readonly live: ErrorSummary | undefined
  readonly difference: { readonly mean: number; readonly low: number; readonly high: number }
}> {
  const { reader, state, golden, version, live } = options
  const { min, max } = ratingStatistics(golden.ratings)
  const evaluation = (number: number): EvaluateOptions => ({
    state,
    query: { version: number },
    range: { min, max },
  })
  const candidate = new ErrorAccumulator()
  const other = new ErrorAccumulator()
  const difference = new PairedDifference()
  const ours = predictServed(reader, golden.ratings, evaluation(version.number))
  const theirs = predictServed(reader, golden.ratings, evaluation(live))
  for await (const piece of ours) {
    const beside = live === 0 ? undefined : (await theirs.next()).value
    for (const [i, { rating, score, coverage }] of piece.entries()) {
      candidate.add(rating.rating, score, coverage)
      const same = beside?.[i]
      if (same === undefined) continue
      other.add(rating.rating, same.score, same.coverage)
      difference.add((rating.rating - score) ** 2, (rating.rating - same.score) ** 2)
    }
  }
  return {
    candidate: candidate.summary(),
    live: live === 0 ? undefined : other.summary(),
    difference: difference.interval(),
  }
}

/** Error of predicting the mean rating for every pair. */
function deviation(ratings: RatingsTable): number {
  const { mean } = ratingStatistics(ratings)
  let sum = 0
  for (const rating of ratings.rating) sum += (rating - mean) ** 2
  return Math.sqrt(sum / ratings.size)
}
