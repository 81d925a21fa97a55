import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'

/** Where the compared losses are equal on the average, one alarm comes in so many comparisons, or in more. */
const COMPARISONS_TO_A_FALSE_ALARM = 1e8
/** Mean of the capitals from which the test is suspicious: where the losses are equal on the average, in a twentieth of the time at most. */
const SUSPICION = 20
const LOG_SUSPICION = Math.log(SUSPICION)
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
 * Whether a record is compared may depend on the records before it, not on its own losses: each bet is fair all the same. So few
 * may be compared until the test is suspicious, and all of them then.
 *
 * In a checkpoint: `| stakes u8 | log capital f64 x stakes |`.
 */
export class WorseTest {
  private readonly bound: number
  private readonly logs = new Float64Array(STAKES.length)
  /** The largest of them, at least 0. */
  private highest = 0
  private mean = 0

  /** `bound`: a larger loss counts as this one. */
  constructor(bound: number) {
    this.bound = bound
  }

  /** Whether a mean of the capitals says that an alarm may come: more records should be compared. */
  get isSuspicious(): boolean {
    return this.mean >= SUSPICION
  }

  /** Adds the losses of both predictors on a record, 0 or more; true where the first one is certainly worse. */
  add(first: number, second: number): boolean {
    const { bound, logs } = this
    const difference = (capped(first, bound) - capped(second, bound)) / bound
    // No capital is above 1, where all begin again.
    if (difference <= 0 && this.highest === 0) return false
    let highest = 0
    for (let n = 0; n < logs.length; n++) {
      const log = Math.max(0, logs[n]!) + Math.log1p(STAKES[n]! * difference)
      logs[n] = log
      if (log > highest) highest = log
    }
    this.highest = highest
    this.weigh()
    return this.mean >= COMPARISONS_TO_A_FALSE_ALARM
  }

  /** The mean of the capitals; 0 where all of them are so small that nothing depends on it. */
  private weigh(): void {
    const { logs } = this
    this.mean = 0
    if (this.highest < LOG_SUSPICION) return
    for (let n = 0; n < logs.length; n++) this.mean += Math.exp(logs[n]!) / logs.length
  }

  /** Forgets all records. */
  restart(): void {
    this.logs.fill(0)
    this.highest = 0
    this.mean = 0
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
    this.highest = Math.max(0, ...this.logs)
    this.weigh()
  }
}

/** A loss that is no number is one without a bound. */
function capped(loss: number, bound: number): number {
  return Number.isNaN(loss) ? bound : Math.min(loss, bound)
}
