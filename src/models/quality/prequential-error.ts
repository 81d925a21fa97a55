import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { count, numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { NewestValues } from './newest-values.ts'

/** Ratings that the error at the start is measured over. */
const START_RATINGS = 1000

/** Numbers of an error in checkpoints of before its window was state; in those of before its start, 5. */
export const EARLIER_ERROR_LENGTH = 7

/** Options of `PrequentialError`. */
export interface PrequentialOptions {
  /**
   * Fading factor a: the weight of an error is multiplied by it with each later error, which gives a mean over about 1
   * / (1 - a) ratings. @default 0.999
   */
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
 *
 * In a checkpoint:
 *
 *   | ratings f64 | known f64 | total f64 | S f64 | B f64 | ratings of the start f64 | their total f64
 *   | start goes on u8 | window (`NewestValues`) |
 */
export class PrequentialError {
  readonly fading: number
  private readonly window: NewestValues
  private ratings = 0
  private known = 0
  private total = 0
  private fadedSum = 0
  private fadedCount = 0
  private startRatings = 0
  private startTotal = 0
  private isStart = true

  constructor(options: PrequentialOptions = {}) {
    checkOptions('new PrequentialError', PREQUENTIAL, options)
    this.fading = options.fading ?? 0.999
    this.window = new NewestValues(options.window ?? 1000)
  }

  /** Ratings so far. */
  get count(): number {
    return this.ratings
  }

  /** Adds the error of a prediction; `known`: both rows existed. Errors that are not finite are left out. */
  add(error: number, known: boolean): void {
    this.addLoss(error * error, known)
  }

  /** Adds the loss of a prediction, in the place of a squared error. A loss that is not finite is left out. */
  addLoss(loss: number, known: boolean): void {
    if (!Number.isFinite(loss)) return
    this.window.add(loss)
    if (this.isStart) {
      this.startTotal += loss
      this.isStart = ++this.startRatings < START_RATINGS
    }
    this.ratings++
    if (known) this.known++
    this.total += loss
    this.fadedSum = loss + this.fading * this.fadedSum
    this.fadedCount = 1 + this.fading * this.fadedCount
  }

  /** Mean squared error over all ratings; NaN before the first. */
  get mse(): number {
    return this.total / this.ratings
  }

  /** Over the last `window` ratings. */
  get windowMse(): number {
    return this.window.mean
  }

  /** With the fading factor. */
  get fadedMse(): number {
    return this.fadedSum / this.fadedCount
  }

  /** Over the first 1,000 ratings; NaN before they are complete. A rise is measured from it. */
  get startMse(): number {
    return this.startRatings < START_RATINGS ? Number.NaN : this.startTotal / this.startRatings
  }

  /** Ratings of `startMse` so far. */
  get startCount(): number {
    return this.startRatings
  }

  /** Share of the ratings whose user and item both had a row. */
  get coverage(): number {
    return this.known / this.ratings
  }

  /** Leaves the start out: the model was learned before, elsewhere. */
  leaveOutStart(): void {
    this.isStart = false
  }

  write(writer: ByteWriter): void {
    const { ratings, known, total, fadedSum, fadedCount, startRatings, startTotal } = this
    const numbers = [ratings, known, total, fadedSum, fadedCount, startRatings, startTotal]
    for (const number of numbers) writer.float64(number)
    writer.uint8(this.isStart ? 1 : 0)
    this.window.write(writer)
  }

  /** Adds another error of `write`: counts and sums are added, windows are joined (`NewestValues.join`). */
  join(reader: ByteReader): void {
    const own = this.ratings
    const numbers = Float64Array.from({ length: EARLIER_ERROR_LENGTH }, () => reader.float64())
    const isStart = reader.uint8() === 1 || (own > 0 && this.isStart)
    this.addNumbers(numbers)
    this.isStart = isStart && this.startRatings < START_RATINGS
    this.window.join(reader, own / this.ratings)
  }

  /** Adds the numbers of a checkpoint of before the window was state: the window is filled with the faded mean. */
  restoreEarlier(numbers: Float64Array): void {
    this.addNumbers(numbers)
    this.isStart = this.ratings === this.startRatings && this.startRatings < START_RATINGS
    if (this.fadedCount > 0) this.window.fill(this.fadedMse, this.ratings)
  }

  private addNumbers([
    ratings = 0,
    known = 0,
    total = 0,
    fadedSum = 0,
    fadedCount = 0,
    startRatings = 0,
    startTotal = 0,
  ]: Float64Array): void {
    this.ratings += ratings
    this.known += known
    this.total += total
    this.fadedSum += fadedSum
    this.fadedCount += fadedCount
    this.startRatings += startRatings
    this.startTotal += startTotal
  }
}
