import type { PromotionChecks } from '../../jobs/promotion/checks.ts'
import type { Interval } from '../../models/quality/intervals.ts'
import { cohortText } from '../../models/registry/checks/cohorts.ts'
import { shortNumber } from './model-version.ts'

/** Groups of users that are printed, worst first. */
const PRINTED_COHORTS = 3

/** Lines that say what the checks of a promotion measured. */
export function checkLines({
  checks,
  error,
  difference,
  best,
  cohorts,
  advice,
}: PromotionChecks): readonly string[] {
  const lines = checks.map(({ check, passed, measures }) => {
    const parts = measures.map(
      (measure) =>
        `${measure.name} ${shortNumber(measure.value)} ${measure.passed ? '' : 'NOT '}${measure.relation} ${shortNumber(measure.bound)}`,
    )
    return `${check.padEnd(8)} ${passed ? 'passed' : 'FAILED'}  ${parts.join(', ')}`
  })
  if (!Number.isFinite(difference.mean)) return lines
  return [
    ...lines,
    `${error} of the candidate minus live: ${intervalText(difference)}`,
    ...(best === undefined
      ? []
      : [
          `${error} of the candidate minus version ${best.number}, the best: ${intervalText(best.difference)}`,
        ]),
    ...cohorts.slice(0, PRINTED_COHORTS).map((cohort) => `${cohort.name}: ${cohortText(cohort)}`),
    ...advice,
  ]
}

function intervalText({ mean, low, high }: Interval): string {
  return `${shortNumber(mean)} (95 %: ${shortNumber(low)} to ${shortNumber(high)}, paired)`
}
