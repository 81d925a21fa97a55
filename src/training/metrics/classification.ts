import { WeirError } from '../../core/errors.ts'
import { areaUnderCurve } from '../../models/quality/area-under-curve.ts'
import { QUANTILE_95, RunningMean, wilsonInterval } from '../../models/quality/intervals.ts'
import type { MeanEstimate } from './ranking.ts'

/** Quality of a classifier of two labels. */
export interface ClassificationSummary {
  readonly count: number
  readonly positives: number
  /** Share of correct labels; 95 % interval by Wilson's score. */
  readonly accuracy: MeanEstimate
  /**
   * Mean of -log of the probability of the true label (natural logarithm, probabilities clipped to
   * [1e-15, 1 - 1e-15]); undefined if scores are not log-odds.
   */
  readonly logLoss: MeanEstimate | undefined
  /**
   * Probability that a positive example scores above a negative one; a tie counts half. The interval has the areas
   * whose standard error by Hanley and McNeil, "The meaning and use of the area under a ROC curve" (1982), admits
   * this one (Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic", part
   * 2, 2006, method 5). Undefined if there is only one label.
   */
  readonly auc: MeanEstimate | undefined
}

const SMALLEST_PROBABILITY = 1e-15

/** Quality of decision values; stores 9 bytes per example, because AUC needs their ranks. */
export class ClassificationAccumulator {
  private readonly isLogOdds: boolean
  private scores = new Float64Array(1024)
  private truths = new Uint8Array(1024)
  private count = 0
  private right = 0
  private readonly loss = new RunningMean()

  /** `isLogOdds`: decision values are log-odds (logistic loss), so the summary has a log loss. */
  constructor(isLogOdds: boolean) {
    this.isLogOdds = isLogOdds
  }

  /** Adds an example; a decision above 0 predicts positive. Throws NOT_FINITE. */
  add(isPositive: boolean, decision: number): void {
    if (!Number.isFinite(decision)) {
      throw new WeirError('NOT_FINITE', `a decision value is ${decision}`)
    }
    if (this.count === this.scores.length) this.grow()
    this.scores[this.count] = decision
    this.truths[this.count++] = isPositive ? 1 : 0
    if (decision > 0 === isPositive) this.right++
    if (!this.isLogOdds) return
    const probability = 1 / (1 + Math.exp(isPositive ? -decision : decision))
    const cut = Math.min(1 - SMALLEST_PROBABILITY, Math.max(SMALLEST_PROBABILITY, probability))
    this.loss.add(-Math.log(cut))
  }

  /** Quality so far. Throws EMPTY_DATASET before the first example. */
  summary(): ClassificationSummary {
    const { count } = this
    if (count === 0) {
      throw new WeirError('EMPTY_DATASET', 'no example was evaluated; check the test file')
    }
    let positives = 0
    for (let i = 0; i < count; i++) positives += this.truths[i] as number
    return {
      count,
      positives,
      accuracy: wilsonInterval(this.right, count),
      logLoss: this.isLogOdds ? notNegative(this.loss.interval()) : undefined,
      auc: this.auc(),
    }
  }

  private auc(): MeanEstimate | undefined {
    const { area, positives, negatives } = areaUnderCurve(this.scores, this.truths, this.count)
    if (positives === 0 || negatives === 0) return undefined
    const isTooLow = (other: number): boolean =>
      area - other > QUANTILE_95 * hanleyMcNeil(other, positives, negatives)
    const isTooHigh = (other: number): boolean =>
      other - area > QUANTILE_95 * hanleyMcNeil(other, positives, negatives)
    return { mean: area, low: boundary(0, area, isTooLow), high: boundary(1, area, isTooHigh) }
  }

  private grow(): void {
    const scores = new Float64Array(this.scores.length * 2)
    scores.set(this.scores)
    this.scores = scores
    const truths = new Uint8Array(scores.length)
    truths.set(this.truths)
    this.truths = truths
  }
}

/** Halvings that reach the precision of a double. */
const HALVINGS = 60

/** The end of what is outside between `from`, which may be outside, and `to`, which is not. */
function boundary(from: number, to: number, isOutside: (value: number) => boolean): number {
  if (!isOutside(from)) return from
  let [outside, inside] = [from, to]
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (outside + inside) / 2
    if (isOutside(middle)) outside = middle
    else inside = middle
  }
  return inside
}

/** Standard error of an area under the curve. */
function hanleyMcNeil(area: number, positives: number, negatives: number): number {
  const q1 = area / (2 - area)
  const q2 = (2 * area * area) / (1 + area)
  const square = area * area
  const variance =
    (area * (1 - area) + (positives - 1) * (q1 - square) + (negatives - 1) * (q2 - square)) /
    (positives * negatives)
  return Math.sqrt(Math.max(0, variance))
}

/** A loss is at least 0, so its interval is too. */
function notNegative(loss: MeanEstimate): MeanEstimate {
  return { ...loss, low: Math.max(0, loss.low) }
}
