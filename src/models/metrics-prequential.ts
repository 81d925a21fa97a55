import { requireArgument } from '../core/errors.ts'

/**
 * Prequential error (predict, then learn) with a fading factor: old losses weigh less and less.
 * `S = loss + alpha S`, `B = 1 + alpha B`, error `S / B` (Gama, Sebastiao and Rodrigues, "On evaluating
 * stream learning algorithms", Machine Learning 90, 2013). Two numbers of memory.
 */
export class FadingError {
  private readonly alpha: number
  private sum = 0
  private weight = 0

  /** `alpha` is above 0 and at most 1; about 1 / (1 - alpha) losses count. Throws INVALID_ARGUMENT. */
  constructor(alpha = 0.999) {
    requireArgument(
      alpha > 0 && alpha <= 1,
      `a fading factor lies above 0 and at most at 1, not at ${alpha}`,
    )
    this.alpha = alpha
  }

  add(loss: number): void {
    this.sum = loss + this.alpha * this.sum
    this.weight = 1 + this.alpha * this.weight
  }

  /** The error so far; NaN before the first loss. */
  get value(): number {
    return this.weight === 0 ? Number.NaN : this.sum / this.weight
  }

  /** How many losses it is worth: grows towards 1 / (1 - alpha). */
  get effectiveCount(): number {
    return this.weight
  }
}

/**
 * Prequential error over a sliding window: the mean of the last `size` losses (same paper).
 * Eight bytes a loss of the window.
 */
export class WindowError {
  private readonly losses: Float64Array
  private next = 0
  private filled = 0
  private sum = 0

  /** `size` is a whole number from 1. Throws INVALID_ARGUMENT. */
  constructor(size = 1000) {
    requireArgument(
      Number.isSafeInteger(size) && size >= 1,
      `a window holds a whole number of losses from 1, not ${size}`,
    )
    this.losses = new Float64Array(size)
  }

  add(loss: number): void {
    const { losses } = this
    this.sum += loss - (losses[this.next] as number)
    losses[this.next] = loss
    this.next++
    if (this.filled < losses.length) this.filled++
    if (this.next < losses.length) return
    this.next = 0
    // Once a round the sum is taken anew, so that rounding errors do not pile up.
    this.sum = 0
    for (const kept of losses) this.sum += kept
  }

  /** Losses in the window. */
  get count(): number {
    return this.filled
  }

  /** The error of the window; NaN before the first loss. */
  get value(): number {
    return this.filled === 0 ? Number.NaN : this.sum / this.filled
  }
}

/** What a `PrequentialError` tells. */
export interface PrequentialSummary {
  readonly count: number
  /** Predictions made from rows of both keys, as a share of all. */
  readonly coverage: number
  /** Mean squared error over everything, faded, and over the window. */
  readonly mse: number
  readonly fadedMse: number
  readonly windowMse: number
  readonly fadedMae: number
}

/** Options of `PrequentialError`. */
export interface PrequentialOptions {
  /** @default 0.999 */
  readonly fading?: number
  /** Losses in the window. @default 1000 */
  readonly window?: number
}

/**
 * Prequential errors of a predictor of numbers: add each prediction before it is learned from. A
 * prediction from a stand-in row counts too and lowers the coverage.
 */
export class PrequentialError {
  private readonly fadedSquares: FadingError
  private readonly fadedAbsolute: FadingError
  private readonly window: WindowError
  private count = 0
  private covered = 0
  private squares = 0

  constructor(options: PrequentialOptions = {}) {
    this.fadedSquares = new FadingError(options.fading)
    this.fadedAbsolute = new FadingError(options.fading)
    this.window = new WindowError(options.window)
  }

  /** Adds a pair; a loss that is not finite is refused with false, so that it cannot stay for ever. */
  add(truth: number, prediction: number, isCovered = true): boolean {
    const error = truth - prediction
    const square = error * error
    if (!Number.isFinite(square)) return false
    this.count++
    if (isCovered) this.covered++
    this.squares += square
    this.fadedSquares.add(square)
    this.fadedAbsolute.add(Math.abs(error))
    this.window.add(square)
    return true
  }

  /** Errors so far, NaN before the first pair. */
  summary(): PrequentialSummary {
    return {
      count: this.count,
      coverage: this.covered / this.count,
      mse: this.squares / this.count,
      fadedMse: this.fadedSquares.value,
      windowMse: this.window.value,
      fadedMae: this.fadedAbsolute.value,
    }
  }
}
