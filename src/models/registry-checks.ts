/** The three checks that a version must pass before it goes live. */
export type CheckName = 'data' | 'quality' | 'serving'

/** All of them, in the order in which they are run and told. */
export const CHECK_NAMES: readonly CheckName[] = ['data', 'quality', 'serving']

/** One measured value with its bound. */
export interface CheckMeasure {
  readonly name: string
  readonly value: number
  /** At most (`<=`) or at least (`>=`) this. */
  readonly bound: number
  readonly relation: '<=' | '>='
  readonly passed: boolean
}

/** A run of a check as the registry keeps it. */
export interface StoredCheck {
  readonly check: CheckName
  readonly passed: boolean
  readonly atMs: number
  /** Live version that it was measured against, 0 for none. */
  readonly against: number
  /** What it was measured on, such as the golden set's file and hash. */
  readonly subject: string
  readonly measures: readonly CheckMeasure[]
}

function atMost(name: string, value: number, bound: number): CheckMeasure {
  // NaN passes nothing.
  return { name, value, bound, relation: '<=', passed: value <= bound }
}

function atLeast(name: string, value: number, bound: number): CheckMeasure {
  return { name, value, bound, relation: '>=', passed: value >= bound }
}

/** What was seen of the data that a version was trained on. */
export interface DataFacts {
  readonly observations: number
  /** Records of the range that were no observation. */
  readonly unparsable: number
  readonly smallest: number
  readonly largest: number
  /** Users and items of the golden set without a row, as a share of its pairs. */
  readonly unknownShare: number
}

/** Bounds of the data check. */
export interface DataLimits {
  /** @default 100 */
  readonly minObservations?: number
  /** Largest share of records that are no observation. @default 0.01 */
  readonly maxUnparsableShare?: number
  /** The rating scale. @default no bounds */
  readonly smallest?: number
  readonly largest?: number
  /** Largest share of golden pairs with an unknown user or item. @default 0.5 */
  readonly maxUnknownShare?: number
}

/** The data check: volume, schema, range, unknown share. */
export function dataMeasures(facts: DataFacts, limits: DataLimits = {}): readonly CheckMeasure[] {
  const records = facts.observations + facts.unparsable
  const unparsable = records === 0 ? 1 : facts.unparsable / records
  return [
    atLeast('observations', facts.observations, limits.minObservations ?? 100),
    atMost('unparsable share', unparsable, limits.maxUnparsableShare ?? 0.01),
    ...(limits.smallest === undefined
      ? []
      : [atLeast('smallest rating', facts.smallest, limits.smallest)]),
    ...(limits.largest === undefined
      ? []
      : [atMost('largest rating', facts.largest, limits.largest)]),
    atMost('unknown share', facts.unknownShare, limits.maxUnknownShare ?? 0.5),
  ]
}

/** Errors on the golden set: the same pairs for all. */
export interface QualityFacts {
  readonly pairs: number
  readonly candidateRmse: number
  /** Undefined while no version is live. */
  readonly liveRmse: number | undefined
  /** Error of predicting the mean rating alone. */
  readonly meanRmse: number
}

/** Bounds of the quality check. */
export interface QualityLimits {
  /** How much worse than live the candidate may be, as a share of live's RMSE. @default 0.01 */
  readonly tolerance?: number
  /** Smallest golden set that says anything. @default 100 */
  readonly minPairs?: number
}

/** The quality check: no worse than live by more than the tolerance, and better than the mean. */
export function qualityMeasures(
  facts: QualityFacts,
  limits: QualityLimits = {},
): readonly CheckMeasure[] {
  const tolerance = limits.tolerance ?? 0.01
  return [
    atLeast('golden pairs', facts.pairs, limits.minPairs ?? 100),
    atMost('RMSE against the mean rating', facts.candidateRmse, facts.meanRmse),
    ...(facts.liveRmse === undefined
      ? []
      : [atMost('RMSE against live', facts.candidateRmse, facts.liveRmse * (1 + tolerance))]),
  ]
}

/** What a version did when it was asked. */
export interface ServingFacts {
  /** Milliseconds until it answered, Infinity if it never did. */
  readonly loadMs: number
  readonly asked: number
  readonly failed: number
  readonly p99Ms: number
}

/** Bounds of the serving check. */
export interface ServingLimits {
  /** @default 60000 */
  readonly maxLoadMs?: number
  /** @default 100 */
  readonly maxP99Ms?: number
  /** @default 0 */
  readonly maxFailedShare?: number
}

/** The serving check: it loads, answers, and in time. */
export function servingMeasures(
  facts: ServingFacts,
  limits: ServingLimits = {},
): readonly CheckMeasure[] {
  const failed = facts.asked === 0 ? 1 : facts.failed / facts.asked
  return [
    atMost('load time in ms', facts.loadMs, limits.maxLoadMs ?? 60_000),
    atMost('failed share', failed, limits.maxFailedShare ?? 0),
    atMost('p99 latency in ms', facts.p99Ms, limits.maxP99Ms ?? 100),
  ]
}

/** A check as it is stored: passed if every measure is. */
export function storedCheck(
  check: CheckName,
  measures: readonly CheckMeasure[],
  facts: { readonly atMs: number; readonly against: number; readonly subject: string },
): StoredCheck {
  const finite = measures.map((measure) =>
    // What was never measured is told as the largest number: JSON has no Infinity.
    Number.isFinite(measure.value) ? measure : { ...measure, value: Number.MAX_VALUE },
  )
  return { check, passed: measures.every(({ passed }) => passed), measures: finite, ...facts }
}

/** Why a version may not go live, or that it may. */
export type PromotionVerdict =
  | { readonly kind: 'allowed' }
  /** A check was never run. */
  | { readonly kind: 'missing'; readonly check: CheckName }
  /** A check was run against a version that is no longer the live one. */
  | { readonly kind: 'outdated'; readonly check: CheckName; readonly against: number }
  /** A measure missed its bound. */
  | { readonly kind: 'failed'; readonly check: CheckName; readonly measure: CheckMeasure }

/** Whether the stored checks allow a promotion while `live` is live; the first reason against it. */
export function promotionVerdict(checks: readonly StoredCheck[], live: number): PromotionVerdict {
  for (const name of CHECK_NAMES) {
    const stored = checks.find(({ check }) => check === name)
    if (stored === undefined) return { kind: 'missing', check: name }
    const failed = stored.measures.find(({ passed }) => !passed)
    if (failed !== undefined) return { kind: 'failed', check: name, measure: failed }
    // Only quality is measured against live; data and serving speak of the version alone.
    if (name === 'quality' && stored.against !== live) {
      return { kind: 'outdated', check: name, against: stored.against }
    }
  }
  return { kind: 'allowed' }
}

/** A verdict as a sentence: which check, and by how much. */
export function verdictText(verdict: PromotionVerdict): string {
  switch (verdict.kind) {
    case 'allowed':
      return 'all three checks passed'
    case 'missing':
      return `the ${verdict.check} check was never run`
    case 'outdated':
      return `the ${verdict.check} check was measured against version ${verdict.against}, which is not live now`
    case 'failed': {
      const { name, value, bound, relation } = verdict.measure
      const by = Math.abs(value - bound)
      return `the ${verdict.check} check failed: ${name} is ${rounded(value)} where ${relation} ${rounded(bound)} was asked (by ${rounded(by)})`
    }
  }
}

function rounded(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)))
}
