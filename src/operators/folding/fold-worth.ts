/** Records after which it is decided whether folding them pays. */
const PERIOD = 8192
/** Parts for each record above which folding does not pay: almost each record has a key of its own. */
const WORTHLESS = 0.7
/** Records that are sent as they are before folding is tried again. */
const REST = 131_072

/** Decides which records a sender folds: none for a while after almost each record had a key of its own. */
export class FoldWorth {
  /** Records that are still sent as they are. */
  private resting = 0
  private recordsOfPeriod = 0
  private partsOfPeriod = 0

  /** Whether the next record is folded. */
  admits(): boolean {
    if (this.resting === 0) return true
    this.resting -= 1
    return false
  }

  /** Counts a record that was folded. */
  count(): void {
    this.recordsOfPeriod += 1
  }

  /** Counts parts that are sent. */
  sent(parts: number): void {
    this.partsOfPeriod += parts
    if (this.recordsOfPeriod < PERIOD) return
    if (this.partsOfPeriod > WORTHLESS * this.recordsOfPeriod) this.resting = REST
    this.recordsOfPeriod = 0
    this.partsOfPeriod = 0
  }

  /** Sends all further records as they are. */
  end(): void {
    this.resting = Number.POSITIVE_INFINITY
  }
}
