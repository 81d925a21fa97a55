import { count, numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'

/** Ratings that the error at the start is measured over. */
const START_RATINGS = 1000

/** Numbers of `PrequentialError.encode`; before the start was measured there were 5. */
export const ENCODED_ERROR_LENGTH = 7

/** Options of `PrequentialError`. */
export interface PrequentialOptions {
  /** Fading factor a: the weight of an error is multiplied by it with each later error, which gives a mean over about 1 / (1 - a) ratings. @default 0.999 */
  readonly fading?: number
  /** Ratings in the window. @default 1000 */
  readonly window?: number
}

/** The options of a prequential error. */
export const PREQUENTIAL: OptionShape<PrequentialOptions> = {
  fading: numberIn({ above: 0, below: 1 }),
  window: count,
}

/**
 * Error of a model that predicts each rating before it learns from it (Gama, Sebastiao, Rodrigues
 * 2013): over all ratings, over a window of the newest ones, and with a fading factor a,
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
  private startRatings = 0
  private startTotal = 0

  constructor(options: PrequentialOptions = {}) {
    checkOptions('new PrequentialError', PREQUENTIAL, options)
    this.fading = options.fading ?? 0.999
    const window = options.window ?? 1000
    this.errors = new Float64Array(window)
  }

  /** Ratings so far. */
  get count(): number {
    return this.ratings
  }

  /** Adds the error of a prediction; `known`: both rows existed. Errors that are not finite are left out. */
  add(error: number, known: boolean): void {
    const square = error * error
    if (!Number.isFinite(square)) return
    const at = this.ratings % this.errors.length
    this.windowSum += square - this.errors[at]!
    this.errors[at] = square
    // Rounding errors must not accumulate over years.
    if (at === 0) this.windowSum = this.errors.reduce((sum, each) => sum + each, 0)
    if (this.ratings === this.startRatings && this.startRatings < START_RATINGS) {
      this.startRatings++
      this.startTotal += square
    }
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

  /** Over the first 1,000 ratings; NaN before they are complete. A rise is measured from it. */
  get startMse(): number {
    return this.startRatings < START_RATINGS ? Number.NaN : this.startTotal / this.startRatings
  }

  /** Share of the ratings whose user and item both had a row. */
  get coverage(): number {
    return this.known / this.ratings
  }

  /** Counts and sums for a checkpoint. The window is not part of them. */
  encode(): Float64Array {
    const { ratings, known, total, fadedSum, fadedCount, startRatings, startTotal } = this
    return Float64Array.of(ratings, known, total, fadedSum, fadedCount, startRatings, startTotal)
  }

  /** Adds `encode` of another one, before the first rating. Its window counts as its faded mean. */
  restore(numbers: Float64Array): void {
    const [ratings = 0, known = 0, total = 0, fadedSum = 0, fadedCount = 0] = numbers
    this.startRatings += numbers[5] ?? 0
    this.startTotal += numbers[6] ?? 0
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
