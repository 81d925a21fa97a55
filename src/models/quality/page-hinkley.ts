import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { numberIn } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { DriftDetector } from './drift-detector.ts'

/** Options of `PageHinkley`. */
export interface PageHinkleyOptions {
  /** Rise of the mean that is tolerated, in standard deviations of the errors. @default 0.1 */
  readonly delta?: number
  /**
   * Sum of rises above the tolerated one that raises an alarm, in standard deviations: a larger one alarms later and
   * with more certainty. @default 100
   */
  readonly threshold?: number
  /** Fading of the sum of rises, above 0 and at most 1. @default 0.9999 */
  readonly fading?: number
  /** Errors before the first alarm, from 2. @default 100 */
  readonly minErrors?: number
}

const PAGE_HINKLEY: OptionShape<PageHinkleyOptions> = {
  delta: numberIn({ min: 0 }),
  threshold: numberIn({ above: 0 }),
  fading: numberIn({ above: 0, max: 1 }),
  minErrors: numberIn({ min: 2 }),
}

/**
 * Page-Hinkley test for a rise of the mean: with the running mean and standard deviation of all errors
 * since the last alarm, `m = max(0, fading m + (error - mean) / deviation - delta)`, alarm when
 * `m > threshold` (Page, "Continuous inspection schemes", Biometrika 41, 1954; with fading in Gama,
 * Sebastiao and Rodrigues, "On evaluating stream learning algorithms", 2013). Without fading, m is the
 * distance of the usual sum from its minimum. Fading must apply to this distance: a faded sum against a
 * minimum that is not faded raises false alarms. The standard deviation makes the threshold independent of
 * the unit of the errors. Starts again after an alarm.
 *
 * In a checkpoint: `| alarms u32 | errors f64 | mean f64 | squared deviations f64 | m f64 |`.
 */
export class PageHinkley implements DriftDetector {
  alarms = 0
  private readonly delta: number
  private readonly threshold: number
  private readonly fading: number
  private readonly minErrors: number
  private count = 0
  private mean = 0
  /** Sum of squared deviations from the mean (Welford). */
  private squares = 0
  private rise = 0

  /** Throws INVALID_ARGUMENT. */
  constructor(options: PageHinkleyOptions = {}) {
    checkOptions('new PageHinkley', PAGE_HINKLEY, options)
    this.delta = options.delta ?? 0.1
    this.threshold = options.threshold ?? 100
    this.fading = options.fading ?? 0.9999
    this.minErrors = options.minErrors ?? 100
  }

  /** Sum of the rises since it was lowest, in standard deviations; above the threshold it is an alarm. */
  get level(): number {
    return this.rise
  }

  add(error: number): boolean {
    this.count++
    const before = error - this.mean
    this.mean += before / this.count
    this.squares += before * (error - this.mean)
    // The deviation of few errors is uncertain: until then only the mean and the deviation are learned.
    if (this.count < this.minErrors) return false
    const deviation = Math.sqrt(this.squares / (this.count - 1))
    if (deviation === 0) return false
    const step = (error - this.mean) / deviation - this.delta
    this.rise = Math.max(0, this.fading * this.rise + step)
    if (this.rise <= this.threshold) return false
    this.alarms++
    this.count = 0
    this.mean = 0
    this.squares = 0
    this.rise = 0
    return true
  }

  write(writer: ByteWriter): void {
    writer.uint32(this.alarms)
    for (const number of [this.count, this.mean, this.squares, this.rise]) writer.float64(number)
  }

  /** The sums of rises are added: what each stream shows of a rise adds up in one that has both. */
  join(reader: ByteReader): void {
    this.alarms += reader.uint32()
    const [count, mean] = [reader.float64(), reader.float64()]
    this.squares += reader.float64()
    this.rise += reader.float64()
    const all = this.count + count
    if (count === 0) return
    const difference = mean - this.mean
    this.squares += (difference * difference * this.count * count) / all
    this.mean = this.count === 0 ? mean : this.mean + (difference * count) / all
    this.count = all
  }
}
