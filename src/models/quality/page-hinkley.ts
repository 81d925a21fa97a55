import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import { flag, numberIn } from '../../core/options/kinds.ts'
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
  /**
   * Mean and deviation are of the errors before the present rise, so that those of a change do not hide it: it is also found
   * where few errors came before it. @default false
   */
  readonly calmOnly?: boolean
}

const PAGE_HINKLEY: OptionShape<PageHinkleyOptions> = {
  delta: numberIn({ min: 0 }),
  threshold: numberIn({ above: 0 }),
  fading: numberIn({ above: 0, max: 1 }),
  minErrors: numberIn({ min: 2 }),
  calmOnly: flag,
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
 * In a checkpoint: `| alarms u32 | errors f64 | mean f64 | squared deviations f64 | m f64 |`; with `calmOnly` then errors,
 * mean and squared deviations of the present rise.
 */
export class PageHinkley implements DriftDetector {
  alarms = 0
  private readonly delta: number
  private readonly threshold: number
  private readonly fading: number
  private readonly minErrors: number
  private readonly calmOnly: boolean
  private calm = new Spread()
  /** Of the errors since the sum of rises was 0, with `calmOnly`. */
  private rising = new Spread()
  private rise = 0

  /** Throws INVALID_ARGUMENT. */
  constructor(options: PageHinkleyOptions = {}) {
    checkOptions('new PageHinkley', PAGE_HINKLEY, options)
    this.delta = options.delta ?? 0.1
    this.threshold = options.threshold ?? 100
    this.fading = options.fading ?? 0.9999
    this.minErrors = options.minErrors ?? 100
    this.calmOnly = options.calmOnly === true
  }

  /** Sum of the rises since it was lowest, in standard deviations; above the threshold it is an alarm. */
  get level(): number {
    return this.rise
  }

  add(error: number): boolean {
    const { calm, calmOnly, minErrors } = this
    const isEarly = calm.count + 1 < minErrors
    if (!calmOnly || isEarly) calm.add(error)
    // The deviation of few errors is uncertain: until then only the mean and the deviation are learned.
    if (isEarly) return false
    // Calm errors that are all alike must not make a change invisible.
    const deviation = Math.max(calm.deviation, calmOnly ? LEAST_DEVIATION * calm.mean : 0)
    if (deviation > 0) {
      const step = (error - calm.mean) / deviation - this.delta
      this.rise = Math.max(0, this.fading * this.rise + step)
    }
    if (calmOnly) this.keep(error)
    if (this.rise <= this.threshold) return false
    this.alarms++
    this.calm = new Spread()
    this.rising = new Spread()
    this.rise = 0
    return true
  }

  write(writer: ByteWriter): void {
    writer.uint32(this.alarms)
    this.calm.write(writer)
    writer.float64(this.rise)
    if (this.calmOnly) this.rising.write(writer)
  }

  /** The sums of rises are added: what each stream shows of a rise adds up in one that has both. */
  join(reader: ByteReader): void {
    this.alarms += reader.uint32()
    this.calm.merge(Spread.read(reader))
    this.rise += reader.float64()
    if (this.calmOnly) this.rising.merge(Spread.read(reader))
  }

  /** An error is a calm one as soon as no rise goes on. */
  private keep(error: number): void {
    this.rising.add(error)
    if (this.rise > 0) return
    this.calm.merge(this.rising)
    this.rising = new Spread()
  }
}

/** Smallest deviation of calm errors, in parts of their mean. */
const LEAST_DEVIATION = 0.05

/** Mean and squared deviations of errors (Welford). */
class Spread {
  count = 0
  mean = 0
  squares = 0

  static read(reader: ByteReader): Spread {
    const spread = new Spread()
    spread.count = reader.float64()
    spread.mean = reader.float64()
    spread.squares = reader.float64()
    return spread
  }

  /** Standard deviation; 0 of errors that are equal. */
  get deviation(): number {
    return Math.sqrt(this.squares / (this.count - 1))
  }

  add(error: number): void {
    this.count++
    const before = error - this.mean
    this.mean += before / this.count
    this.squares += before * (error - this.mean)
  }

  merge({ count, mean, squares }: Spread): void {
    if (count === 0) return
    const all = this.count + count
    const difference = mean - this.mean
    this.squares += squares + (difference * difference * this.count * count) / all
    this.mean = this.count === 0 ? mean : this.mean + (difference * count) / all
    this.count = all
  }

  write(writer: ByteWriter): void {
    for (const number of [this.count, this.mean, this.squares]) writer.float64(number)
  }
}
