import { requireArgument } from '../core/errors.ts'
import type { DriftDetector } from './drift-detector.ts'

/** Options of `PageHinkley`. */
export interface PageHinkleyOptions {
  /** Rise of the mean that is tolerated, in the unit of the errors. @default 0.005 */
  readonly delta?: number
  /** Sum of rises above the tolerated that is an alarm: larger is later and surer. @default 50 */
  readonly threshold?: number
  /** Fading of the sum, above 0 and at most 1. @default 0.9999 */
  readonly fading?: number
  /** Errors before the first alarm. @default 30 */
  readonly minErrors?: number
}

/**
 * Page-Hinkley test for a rise of the mean: with the running mean of all errors since the last alarm,
 * `m = fading m + (error - mean - delta)`, alarm when `m - min(m) > threshold` (Page, "Continuous
 * inspection schemes", Biometrika 41, 1954; with fading in Gama, Sebastiao and Rodrigues, "On
 * evaluating stream learning algorithms", 2013). Starts anew after an alarm.
 */
export class PageHinkley implements DriftDetector {
  alarms = 0
  private readonly delta: number
  private readonly threshold: number
  private readonly fading: number
  private readonly minErrors: number
  private count = 0
  private mean = 0
  private sum = 0
  private lowest = 0

  /** Throws INVALID_ARGUMENT. */
  constructor(options: PageHinkleyOptions = {}) {
    this.delta = options.delta ?? 0.005
    this.threshold = options.threshold ?? 50
    this.fading = options.fading ?? 0.9999
    this.minErrors = options.minErrors ?? 30
    requireArgument(this.delta >= 0, `delta is at least 0, not ${this.delta}`)
    requireArgument(this.threshold > 0, `the threshold is above 0, not ${this.threshold}`)
    requireArgument(
      this.fading > 0 && this.fading <= 1,
      `a fading factor lies above 0 and at most at 1, not at ${this.fading}`,
    )
  }

  /** How far the sum is above its lowest value; an alarm when it passes the threshold. */
  get level(): number {
    return this.sum - this.lowest
  }

  add(error: number): boolean {
    this.count++
    this.mean += (error - this.mean) / this.count
    this.sum = this.fading * this.sum + (error - this.mean - this.delta)
    this.lowest = Math.min(this.lowest, this.sum)
    if (this.count < this.minErrors || this.level <= this.threshold) return false
    this.alarms++
    this.count = 0
    this.mean = 0
    this.sum = 0
    this.lowest = 0
    return true
  }
}
