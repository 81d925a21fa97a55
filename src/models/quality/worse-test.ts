import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'

/** Where the compared losses are equal on the average, one alarm comes in so many comparisons, or in more. */
const COMPARISONS_TO_A_FALSE_ALARM = 1e8
const LOG_ALARM = Math.log(COMPARISONS_TO_A_FALSE_ALARM)
/** Parts of a capital that are staked: large ones soon see a large difference, small ones see a small one. */
const STAKES = Float64Array.of(0.9, ...Array.from({ length: 9 }, (_, n) => 2 ** -(n + 1)))

/**
 * Says when one predictor is certainly worse than another one, from the losses of both on the same records: a sequential test,
 * which may be looked at after each record. For each stake s, a capital bets on the difference d of the losses, in parts of
 * their bound:
 *
 *   log capital = max(0, log capital) + log(1 + s d),   alarm: mean of the capitals >= 10^8
 *
 * While the first predictor is not expected to be worse, no capital is expected to grow, so that an alarm is due after 10^8
 * comparisons or more on the average, whatever the distribution of the losses (Shin, Ramdas and Rinaldo, "E-detectors: a
 * nonparametric framework for sequential change detection", NEJSDS 2024; the bets are those of Waudby-Smith and Ramdas,
 * "Estimating means of bounded random variables by betting", JRSSB 2024). A capital below 1 begins again at 1, so a long good
 * time does not delay the alarm of a bad one.
 *
 * In a checkpoint: `| stakes u8 | log capital f64 x stakes |`.
 */
export class WorseTest {
  private readonly bound: number
  private readonly logs = new Float64Array(STAKES.length)

  /** `bound`: a larger loss counts as this one. */
  constructor(bound: number) {
    this.bound = bound
  }

  /** Adds the losses of both predictors on a record, 0 or more; true where the first one is certainly worse. */
  add(first: number, second: number): boolean {
    const { bound, logs } = this
    const difference = (capped(first, bound) - capped(second, bound)) / bound
    let capital = 0
    for (let n = 0; n < logs.length; n++) {
      logs[n] = Math.max(0, logs[n]!) + Math.log1p(STAKES[n]! * difference)
      capital += Math.exp(logs[n]! - LOG_ALARM)
    }
    return capital >= logs.length
  }

  /** Forgets all records. */
  restart(): void {
    this.logs.fill(0)
  }

  write(writer: ByteWriter): void {
    writer.uint8(this.logs.length)
    for (const log of this.logs) writer.float64(log)
  }

  /** Takes over another test of `write`: of each stake the larger capital counts. */
  join(reader: ByteReader): void {
    const stakes = reader.uint8()
    for (let n = 0; n < stakes; n++) {
      const log = reader.float64()
      if (n < this.logs.length) this.logs[n] = Math.max(this.logs[n]!, log)
    }
  }
}

/** A loss that is no number is one without a bound. */
function capped(loss: number, bound: number): number {
  return Number.isNaN(loss) ? bound : Math.min(loss, bound)
}
