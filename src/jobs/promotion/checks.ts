import type { Clock } from '../../core/clock.ts'
import { requireArgument } from '../../core/errors.ts'
import { durationText } from '../../core/text/age.ts'
import { type TimeSpan, timeSpan } from '../../core/time.ts'
import type { GoldenComparison } from '../../kinds/port/gate.ts'
import type { GoldenSet } from '../../kinds/port/golden-set.ts'
import {
  bestOf,
  differenceOf,
  type ErrorDifference,
  errorsOfPromoted,
  type GoldenSummary,
  isWorseOnNewest,
  type MeasuredErrors,
  storedErrors,
} from '../../kinds/port/measured-errors.ts'
import { kindOfVersion } from '../../kinds/registered.ts'
import type { Interval } from '../../models/quality/intervals.ts'
import type { CohortErrors } from '../../models/registry/checks/cohorts.ts'
import type { DataLimits } from '../../models/registry/checks/data.ts'
import {
  type ServingLimits,
  type StoredCheck,
  servingMeasures,
  storedCheck,
} from '../../models/registry/checks/promotion-verdict.ts'
import type { QualityLimits } from '../../models/registry/checks/quality.ts'
import type { GoldenErrors, RegisteredVersion } from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import type { RangeReader } from '../../models/versions/trained-ranges.ts'
import type { ModelReader } from '../../wire/model-reader.ts'
import { type LoadingVersion, servingFacts } from './serving-probe.ts'

/** Bounds of all three checks. */
export interface PromotionLimits {
  readonly data?: DataLimits
  readonly quality?: QualityLimits
  readonly serving?: ServingLimits
}

/** A golden set, and the observations of the same kind that versions are trained on. */
export interface CheckedData {
  readonly golden: GoldenSet
  /** Reads the observations that a version was trained on. @default they are not looked at */
  readonly observations?: RangeReader<unknown>
  /** Reads the files that the version was trained on before its ranges. @default none */
  readonly history?: () => AsyncIterable<readonly unknown[]>
}

/** Options of `runPromotionChecks`. */
export interface PromotionChecksOptions extends CheckedData {
  readonly reader: ModelReader
  /** Name of the model's queryable state. */
  readonly state: string
  readonly version: RegisteredVersion
  /** Number of the live version, 0 for none. */
  readonly live: number
  /** Last positions of the version's rows in the model topic; when they are applied, it is loaded. */
  readonly positions: readonly { readonly partition: number; readonly offset: number }[]
  readonly limits?: PromotionLimits
  readonly clock: Clock
  /** The model's versions in the registry, for the comparison with the best of them. @default none */
  readonly versions?: readonly RegisteredVersion[]
}

/** Results of the three checks and the errors on the golden set. */
export interface PromotionChecks {
  readonly checks: readonly StoredCheck[]
  /** Name of the mean error: `MSE`, or a loss of linear models. */
  readonly error: string
  readonly candidate: GoldenSummary | undefined
  readonly live: GoldenSummary | undefined
  /** Mean error of the candidate minus that of live, with its interval. */
  readonly difference: Interval
  /** The best version ever promoted, and the difference to it. */
  readonly best: { readonly number: number; readonly difference: Interval } | undefined
  /** The errors of groups of users beside those of live, worst first; empty where none were compared. */
  readonly cohorts: readonly CohortErrors[]
  /** What the checks cannot judge, and what would help a candidate that failed the quality check, in words. */
  readonly advice: readonly string[]
  /** Errors to store with the versions that were measured (`record-golden`). */
  readonly golden: readonly { readonly number: number; readonly golden: GoldenErrors }[]
}

const NO_DIFFERENCE: ErrorDifference = {
  mean: Number.NaN,
  low: Number.NaN,
  high: Number.NaN,
  certain: Number.NaN,
}

/**
 * Runs the three checks on a version that a job serves beside the live one. Serving: it loads and
 * answers in time. Quality: its error on the golden set against that of the live version. Data: the
 * observations it was trained on. The gate is that of the kind of the version.
 */
export async function runPromotionChecks(
  options: PromotionChecksOptions,
): Promise<PromotionChecks> {
  const { live, golden, limits = {}, clock } = options
  const loading = loadingVersion(options)
  const { gate } = loading
  const serving = await servingFacts(loading)
  const metadata = { atMs: clock.nowMs(), against: live, subject: golden.subject }
  const answers = serving.asked > 0 && serving.failed === 0
  const compared = answers ? await compareOnGolden(gate, options) : undefined
  const { found, measured = [] } = compared ?? {}
  const data = await gate.data(found?.candidate, limits.data)
  const quality = await gate.quality(found, limits.quality)
  const ofQuality = storedCheck('quality', quality, metadata)
  return {
    checks: [
      storedCheck('data', data, metadata),
      ofQuality,
      storedCheck('serving', servingMeasures(serving, limits.serving), metadata),
    ],
    advice: [
      ...(compared?.note === undefined ? [] : [compared.note]),
      ...goldenAge(options, compared?.goldenMs),
      ...(!ofQuality.passed && compared?.isOutdated ? [halfLifeAdvice(options.version)] : []),
    ],
    error: gate.error,
    candidate: found?.candidate.summary,
    live: found?.live?.summary,
    difference: found?.difference ?? NO_DIFFERENCE,
    best: found?.best,
    cohorts: (await gate.cohorts?.()) ?? [],
    golden: measured.map((each) => ({
      number: each.number,
      golden: storedErrors(gate.id, each),
    })),
  }
}

/** What to do about a candidate that the live version is better than where the golden set is new. */
function halfLifeAdvice({ lineage }: RegisteredVersion): string {
  const isWeighed = lineage.hyperparameters['halfLifeMs'] !== undefined
  const remedy = isWeighed
    ? 'a shorter --half-life lets old observations count even less'
    : '--half-life auto lets old observations count less'
  return `live predicts the newest third of the golden set better, as it does where tastes change: ${remedy}`
}

/** Share of the time that a golden set spans, by which it may end before what the live version was trained on. */
const OLD_SHARE = 0.1

/** Says that the golden set is from before what the live version was trained on, so that it shows nothing of later changes. */
function goldenAge(
  { live, versions = [] }: PromotionChecksOptions,
  golden: TimeSpan | undefined,
): readonly string[] {
  const trainedMs = versions.find(({ number }) => number === live)?.lineage.newestEventMs ?? -1
  if (golden === undefined) return []
  const gapMs = trainedMs - golden.newest
  // A random part of the same observations ends a little before them.
  if (gapMs <= OLD_SHARE * (golden.newest - golden.oldest)) return []
  return [
    `the golden set ends ${durationText(gapMs)} before the newest observation of the live version: it shows no change since then; add newer examples that no version is trained on`,
  ]
}

/**
 * The version of a promotion, for the wait until a job has loaded it (`untilLoaded`). Throws INVALID_ARGUMENT for a golden
 * set of other observations than those of the version's kind.
 */
export function loadingVersion(options: PromotionChecksOptions): LoadingVersion {
  const { version, golden, positions, clock, limits } = options
  const kind = kindOfVersion(version)
  requireArgument(
    kind.observations in golden,
    `version ${version.number} is measured on ${kind.observations}, which the golden set does not have`,
  )
  const gate = kind.gate(options)
  return { gate, number: version.number, positions, clock, limits: limits?.serving }
}

/** Identity of a golden set, and of the error that a version is measured with on it. */
export function goldenId(golden: GoldenSet, version: RegisteredVersion): string {
  return kindOfVersion(version).goldenId(golden, version)
}

/** Stores the errors that were measured with the versions that the registry has. */
export async function recordGolden(
  registry: ModelRegistry,
  name: string,
  checks: PromotionChecks | undefined,
): Promise<void> {
  for (const { number, golden } of checks?.golden ?? []) {
    // An unknown version is a candidate that is registered later, with its errors.
    await registry.execute({ kind: 'record-golden', name, number, golden })
  }
}

/** The comparison, and all versions that were measured now. */
interface MeasuredComparison {
  readonly found: GoldenComparison
  readonly measured: readonly MeasuredErrors[]
  /** Whether live is better than the candidate where the golden set is new. */
  readonly isOutdated: boolean
  /** Times of the golden examples; undefined where they have none. */
  readonly goldenMs: TimeSpan | undefined
  /** Why fewer versions were compared, in words; undefined where all were. */
  readonly note: string | undefined
}

async function compareOnGolden(
  gate: LoadingVersion['gate'],
  { version, live, versions = [] }: PromotionChecksOptions,
): Promise<MeasuredComparison> {
  const measure = (number: number): Promise<MeasuredErrors> => gate.measure(number)
  const candidate = await measure(version.number)
  // Online learning has changed the live version since it was measured last.
  const ofLive = live === 0 ? undefined : await measure(live)
  const others = versions.filter(({ number }) => number !== version.number && number !== live)
  const earlier = await errorsOfPromoted(measure, others, gate.id)
  const stored = versions.filter(({ number }) => number === live)
  const asPromoted = await errorsOfPromoted(measure, stored, gate.id)
  const compared = await gate.compared()
  const best = bestOf([...earlier, ...asPromoted], compared)
  const found: GoldenComparison = {
    candidate,
    live: ofLive,
    difference: ofLive === undefined ? NO_DIFFERENCE : differenceOf(candidate, ofLive, compared),
    best:
      best === undefined
        ? undefined
        : {
            number: best.version.number,
            mean: best.mean,
            difference: differenceOf(candidate, best.version, compared),
          },
  }
  const isOutdated = ofLive !== undefined && isWorseOnNewest(candidate, ofLive, compared)
  return {
    found,
    measured: [candidate, ...earlier, ...asPromoted],
    isOutdated,
    goldenMs: timeSpan(compared.times ?? []),
    note: compared.note,
  }
}
