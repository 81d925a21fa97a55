import { WeirError } from '../../core/errors.ts'
import { bestClass } from '../../core/features/classes.ts'
import { RunningMean, wilsonInterval } from '../../models/quality/intervals.ts'
import type { MeanEstimate } from './ranking.ts'

/** Quality of a classifier of several classes. */
export interface MulticlassSummary {
  readonly count: number
  readonly classes: number
  /** Share of correct labels; 95 % interval by Wilson's score. */
  readonly accuracy: MeanEstimate
  /** Mean over the classes of the examples of 2 x right / (labelled + predicted), as in scikit-learn. */
  readonly macroF1: number
  /**
   * Mean of -log of the probability of the true class, which is that of its own model over the sum of all classes'
   * (scikit-learn's one-vs-rest), at least 1e-15; undefined if scores are not log-odds.
   */
  readonly logLoss: MeanEstimate | undefined
}

const SMALLEST_PROBABILITY = 1e-15

/** Collects the quality of scores of several classes. A label that is no class of the model is predicted wrong. */
export class MulticlassAccumulator {
  private readonly labels: readonly number[]
  private readonly isLogOdds: boolean
  private readonly labelled = new Map<number, number>()
  private readonly predicted = new Map<number, number>()
  private readonly right = new Map<number, number>()
  private count = 0
  private readonly loss = new RunningMean()

  /** `labels`: of the classes. `isLogOdds`: scores are log-odds, so the summary has a log loss. */
  constructor(labels: readonly number[], isLogOdds: boolean) {
    this.labels = labels
    this.isLogOdds = isLogOdds
  }

  /** Adds an example with the scores of the classes. Throws NOT_FINITE. */
  add(label: number, scores: ArrayLike<number>): void {
    if (!Array.prototype.every.call(scores, Number.isFinite)) {
      throw new WeirError('NOT_FINITE', `the scores of an example are ${Array.from(scores)}`)
    }
    const guess = this.labels[bestClass(scores)]!
    this.count++
    increment(this.labelled, label)
    increment(this.predicted, guess)
    if (guess === label) increment(this.right, label)
    if (this.isLogOdds) this.loss.add(this.lossOf(label, scores))
  }

  private lossOf(label: number, scores: ArrayLike<number>): number {
    const shares = Array.from(scores, (score) => 1 / (1 + Math.exp(-score)))
    const sum = shares.reduce((total, share) => total + share, 0)
    const share = shares[this.labels.indexOf(label)] ?? 0
    return -Math.log(Math.max(SMALLEST_PROBABILITY, sum === 0 ? 0 : share / sum))
  }

  /** Quality so far. Throws EMPTY_DATASET before the first example. */
  summary(): MulticlassSummary {
    const { count, labelled, predicted, right } = this
    if (count === 0) {
      throw new WeirError('EMPTY_DATASET', 'no example was evaluated; check the test file')
    }
    const seen = new Set([...labelled.keys(), ...predicted.keys()])
    const f1 = [...seen].map(
      (label) =>
        (2 * (right.get(label) ?? 0)) / ((labelled.get(label) ?? 0) + (predicted.get(label) ?? 0)),
    )
    const hits = [...right.values()].reduce((sum, each) => sum + each, 0)
    return {
      count,
      classes: this.labels.length,
      accuracy: wilsonInterval(hits, count),
      macroF1: f1.reduce((sum, each) => sum + each, 0) / f1.length,
      logLoss: this.isLogOdds ? this.loss.interval() : undefined,
    }
  }
}

function increment(counts: Map<number, number>, key: number): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
