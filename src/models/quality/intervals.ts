import { normalQuantile } from '../../core/numbers/normal-quantile.ts'
import type { Random } from '../../core/random.ts'

/** Two-sided 95 % quantile of the normal distribution. */
export const QUANTILE_95 = 1.959964

/** An estimate with its 95 % confidence interval. */
export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
}

/**
 * Interval of a share by Wilson's score ("Probable inference, the law of succession, and statistical
 * inference", JASA 22, 1927): unlike the normal interval it stays in [0, 1] and is right near its ends.
 */
export function wilsonInterval(successes: number, count: number): Interval {
  if (count === 0) return { mean: Number.NaN, low: 0, high: 1 }
  const share = successes / count
  const z2 = QUANTILE_95 * QUANTILE_95
  const centre = (share + z2 / (2 * count)) / (1 + z2 / count)
  const margin =
    (QUANTILE_95 / (1 + z2 / count)) *
    Math.sqrt((share * (1 - share)) / count + z2 / (4 * count * count))
  return {
    mean: share,
    low: Math.max(0, centre - margin),
    high: Math.min(1, centre + margin),
  }
}

/**
 * Interval of a mean by the percentile bootstrap (Efron 1979): resamples the values `rounds` times and
 * takes the 2.5 % and 97.5 % quantiles. It suits losses whose distribution is far from normal.
 */
export function bootstrapInterval(
  values: ArrayLike<number>,
  random: Random,
  rounds = 1000,
): Interval {
  const count = values.length
  if (count === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN }
  const means = new Float64Array(rounds)
  for (let round = 0; round < rounds; round++) {
    let sum = 0
    for (let i = 0; i < count; i++) sum += values[random.below(count)] as number
    means[round] = sum / count
  }
  means.sort()
  let sum = 0
  for (let i = 0; i < count; i++) sum += values[i] as number
  const at = (quantile: number): number =>
    means[Math.min(rounds - 1, Math.floor(quantile * rounds))] as number
  return { mean: sum / count, low: at(0.025), high: at(0.975) }
}

/** Mean of a stream of independent values with its interval: normal approximation, variance by Welford's update. */
export class RunningMean {
  private count = 0
  private mean = 0
  private squareDeviation = 0

  add(value: number): void {
    this.count++
    const delta = value - this.mean
    this.mean += delta / this.count
    this.squareDeviation += delta * (value - this.mean)
  }

  /** Number of values so far. */
  get size(): number {
    return this.count
  }

  /** The mean so far; 0 before the first value. */
  get value(): number {
    return this.mean
  }

  /** Sum of the squared deviations from the mean. */
  get deviations(): number {
    return this.squareDeviation
  }

  /** The mean so far with its interval of `coverage`, which has no width before the second value. */
  interval(coverage = 0.95): Interval {
    const deviation = Math.sqrt(this.squareDeviation / Math.max(1, this.count - 1))
    const quantile = normalQuantile((1 + coverage) / 2)
    const margin = (quantile * deviation) / Math.sqrt(Math.max(1, this.count))
    return { mean: this.mean, low: this.mean - margin, high: this.mean + margin }
  }
}
