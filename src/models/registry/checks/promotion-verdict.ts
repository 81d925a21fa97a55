import { atMost, type CheckMeasure } from './measure.ts'
import { type NotLearnable, notLearnableText } from './not-learnable.ts'

/** The three checks that a version must pass before it goes live. */
export type CheckName = 'data' | 'quality' | 'serving'

/** All checks, in the order in which they run and are reported. */
const CHECK_NAMES: readonly CheckName[] = ['data', 'quality', 'serving']

/** A run of a check as the registry stores it. */
export interface StoredCheck {
  readonly check: CheckName
  readonly passed: boolean
  readonly atMs: number
  /** Live version that it was compared with, 0 for none. */
  readonly against: number
  /** What it was measured on, for example file and hash of the golden set. */
  readonly subject: string
  readonly measures: readonly CheckMeasure[]
}

/** Facts about a version that was loaded and queried. */
export interface ServingFacts {
  /** Time until its first answer, ms; Infinity if there was none. */
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

/** The serving check: the version loads and answers in time. */
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
    // JSON has no Infinity: the largest number stands for it.
    Number.isFinite(measure.value) ? measure : { ...measure, value: Number.MAX_VALUE },
  )
  return { check, passed: measures.every(({ passed }) => passed), measures: finite, ...facts }
}

/** Whether a version may go live, and if not, why. */
export type PromotionVerdict =
  | { readonly kind: 'allowed' }
  /** A check has not been run. */
  | { readonly kind: 'missing'; readonly check: CheckName }
  /** A check compared the version with one that is not live now. */
  | { readonly kind: 'outdated'; readonly check: CheckName; readonly against: number }
  /** A measure is beyond its bound. */
  | { readonly kind: 'failed'; readonly check: CheckName; readonly measure: CheckMeasure }
  /** The job that learns the model would serve the version, and not learn it. */
  | ({ readonly kind: 'not-learnable' } & NotLearnable)

/** Whether the stored checks allow a promotion while `live` is live; else the first reason. */
export function promotionVerdict(checks: readonly StoredCheck[], live: number): PromotionVerdict {
  for (const name of CHECK_NAMES) {
    const stored = checks.find(({ check }) => check === name)
    if (stored === undefined) return { kind: 'missing', check: name }
    const failed = stored.measures.find(({ passed }) => !passed)
    if (failed !== undefined) return { kind: 'failed', check: name, measure: failed }
    // Only the quality check compares with the live version.
    if (name === 'quality' && stored.against !== live) {
      return { kind: 'outdated', check: name, against: stored.against }
    }
  }
  return { kind: 'allowed' }
}

/** A verdict as a sentence with the check and the distance from its bound. */
export function verdictText(verdict: PromotionVerdict): string {
  switch (verdict.kind) {
    case 'allowed':
      return 'all three checks passed'
    case 'missing':
      return `the ${verdict.check} check has not been run`
    case 'outdated':
      return `the ${verdict.check} check compared it with version ${verdict.against}, which is not live now`
    case 'not-learnable':
      return notLearnableText(verdict)
    case 'failed': {
      const { name, value, bound, relation, detail } = verdict.measure
      const by = rounded(Math.abs(value - bound))
      const side = relation === '<=' ? 'above' : 'below'
      const distance = Number.isFinite(value) ? `${by} ${side} the limit of` : 'the limit is'
      const reason = detail === undefined ? '' : ` (${detail})`
      return `the ${verdict.check} check failed: ${name} is ${rounded(value)}, ${distance} ${rounded(bound)}${reason}`
    }
  }
}

function rounded(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)))
}
