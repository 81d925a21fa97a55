import { requireArgument } from '../core/errors.ts'

/** Options of `PrequentialError`. */
export interface PrequentialOptions {
  /** What an error weighs after each later one; the reading is over about 1 / (1 - a) ratings. @default 0.999 */
  readonly fading?: number
  /** Ratings in the window. @default 1000 */
  readonly window?: number
}

/**
 * Error of a model that predicts each rating before it learns from it (Gama, Sebastiao, Rodrigues
 * 2013): over all ratings, over a window of the last ones, and with a fading factor a,
 *
 *   S = e^2 + a S,   B = 1 + a B,   error = S / B
 */
export class PrequentialError {
  readonly fading: number
  private readonly errors: Float64Array
  private ratings = 0
  private known = 0
  private total = 0
  private windowSum = 0
  private fadedSum = 0
  private fadedCount = 0

  constructor(options: PrequentialOptions = {}) {
    this.fading = options.fading ?? 0.999
    const window = options.window ?? 1000
    requireArgument(this.fading > 0 && this.fading < 1, `fading lies between 0 and 1`)
    requireArgument(Number.isSafeInteger(window) && window > 0, 'window is a whole number from 1')
    this.errors = new Float64Array(window)
  }

  /** Ratings so far. */
  get count(): number {
    return this.ratings
  }

  /** Takes the error of a prediction; `known` says that both rows were there. Errors that are not finite are left out. */
  add(error: number, known: boolean): void {
    const square = error * error
    if (!Number.isFinite(square)) return
    const at = this.ratings % this.errors.length
    this.windowSum += square - this.errors[at]!
    this.errors[at] = square
    // Rounding must not build up over years.
    if (at === 0) this.windowSum = this.errors.reduce((sum, each) => sum + each, 0)
    this.ratings++
    if (known) this.known++
    this.total += square
    this.fadedSum = square + this.fading * this.fadedSum
    this.fadedCount = 1 + this.fading * this.fadedCount
  }

  /** Mean squared error over all ratings; NaN before the first. */
  get mse(): number {
    return this.total / this.ratings
  }

  /** Over the last `window` ratings. */
  get windowMse(): number {
    return this.windowSum / Math.min(this.ratings, this.errors.length)
  }

  /** With the fading factor. */
  get fadedMse(): number {
    return this.fadedSum / this.fadedCount
  }

  /** Share of the ratings whose user and item both had a row. */
  get coverage(): number {
    return this.known / this.ratings
  }

  /** Count, known, sums: what a checkpoint keeps. The window begins anew. */
  encode(): Float64Array {
    return Float64Array.of(this.ratings, this.known, this.total, this.fadedSum, this.fadedCount)
  }

  /** Adds what another one saw before this one's first rating; of its window, the faded mean is taken. */
  restore(numbers: Float64Array): void {
    const [ratings = 0, known = 0, total = 0, fadedSum = 0, fadedCount = 0] = numbers
    this.ratings += ratings
    this.known += known
    this.total += total
    this.fadedSum += fadedSum
    this.fadedCount += fadedCount
    if (this.fadedCount === 0) return
    this.errors.fill(this.fadedMse, 0, Math.min(this.ratings, this.errors.length))
    this.windowSum = this.errors.reduce((sum, each) => sum + each, 0)
  }
}
