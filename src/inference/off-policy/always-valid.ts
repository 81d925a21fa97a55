import { requireArgument } from '../../core/errors.ts'

/** Sums of what one side of an experiment has seen: enough for its mean and its spread. */
export interface SampleSums {
  readonly count: number
  readonly sum: number
  readonly squares: number
}

/** Difference of two means with an interval that may be looked at as often as one likes. */
export interface AlwaysValidDifference {
  /** Mean of the second less mean of the first. */
  readonly difference: number
  readonly low: number
  readonly high: number
}

/** Options of `alwaysValidDifference`. */
export interface AlwaysValidOptions {
  /** Confidence that the interval has the true difference at all looks together. @default 0.95 */
  readonly confidence?: number
  /**
   * Number of samples of each side at which the interval is to be narrowest, beside others of its kind: it is valid at
   * all numbers. @default 2000
   */
  readonly tunedFor?: number
}

/** Samples of each side before which nothing is said: the spread of fewer is not known, and sums are not yet normal. */
const FEWEST = 30

/**
 * The difference of two means and a confidence sequence of it: with the wanted confidence the true difference is in the
 * interval at every look, so that a report may be read each day and an experiment stopped on it. The bound is that of the
 * mixture sequential probability ratio test with a normal mixture (Robbins, "Statistical methods related to the law of the
 * iterated logarithm", 1970; for experiments: Johari, Koomen, Pekelis and Walsh, "Always valid inference", Operations
 * Research 70, 2022, section 5; with estimated spread: Waudby-Smith et al., "Time-uniform central limit theory and
 * asymptotic confidence sequences", Annals of Statistics 52, 2024, theorem 2.2). Below 30 samples of a side the interval
 * has no ends.
 */
export function alwaysValidDifference(
  first: SampleSums,
  second: SampleSums,
  { confidence = 0.95, tunedFor = 2000 }: AlwaysValidOptions = {},
): AlwaysValidDifference {
  requireArgument(
    confidence > 0 && confidence < 1,
    `alwaysValidDifference: confidence must be a number above 0 and below 1, not ${confidence}`,
  )
  requireArgument(
    Number.isFinite(tunedFor) && tunedFor >= FEWEST,
    `alwaysValidDifference: tunedFor must be a number from ${FEWEST}, not ${tunedFor}`,
  )
  const difference = meanOf(second) - meanOf(first)
  if (Math.min(first.count, second.count) < FEWEST) {
    return { difference, low: -Infinity, high: Infinity }
  }
  // The variance of the difference now; the mixture is as wide as it is where the interval is to be narrow.
  const variance = varianceOf(first) / first.count + varianceOf(second) / second.count
  const samples = 2 / (1 / first.count + 1 / second.count)
  const ratio = samples / tunedFor
  const alpha = 1 - confidence
  const tuning = -2 * Math.log(alpha) + Math.log(-2 * Math.log(alpha)) + 1
  const spread = 1 + ratio * tuning
  const width = Math.sqrt(
    variance * (spread / (ratio * tuning)) * (2 * Math.log(1 / alpha) + Math.log(spread)),
  )
  return { difference, low: difference - width, high: difference + width }
}

/** The sums after one more sample. */
export function withSample(sums: SampleSums, value: number): SampleSums {
  return {
    count: sums.count + 1,
    sum: sums.sum + value,
    squares: sums.squares + value * value,
  }
}

function meanOf({ count, sum }: SampleSums): number {
  return count === 0 ? Number.NaN : sum / count
}

function varianceOf({ count, sum, squares }: SampleSums): number {
  return Math.max(0, (squares - (sum * sum) / count) / (count - 1))
}
