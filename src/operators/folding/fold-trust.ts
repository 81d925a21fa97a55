import type { Serializer } from '../../core/serializer.ts'
import type { Fold } from '../windows/contents.ts'
import { copyOfSum } from '../windows/slices.ts'
import { type CopyValue, foldsAgree } from './agreement.ts'

/** Groups of three records on which the fold is tried before it is trusted. */
const TRIALS = 8
/** Records after which it is decided whether folding them pays. */
const PERIOD = 8192
/** Parts for each record above which folding does not pay: almost each record has a key of its own. */
const WORTHLESS = 0.7
/** Records that are sent as they are before folding is tried again. */
const REST = 131_072

/**
 * Decides which records a sender folds: none until some have shown that the fold gives the same in parts, and none
 * for a while after almost each record had a key of its own.
 */
export class FoldTrust<IN, ACC> {
  private readonly fold: Fold<IN, ACC>
  private readonly records: Serializer<IN>
  /** Records of the next trial; undefined when the trials are over. */
  private trial: IN[] | undefined = []
  private trials = 0
  /** Records that are still sent as they are. */
  private resting = 0
  private recordsOfPeriod = 0
  private partsOfPeriod = 0

  constructor(fold: Fold<IN, ACC>, records: Serializer<IN>) {
    this.fold = fold
    this.records = records
  }

  /** Whether the next record is folded; one that is not may be part of a trial. */
  admits(value: IN): boolean {
    if (this.resting > 0) {
      this.resting -= 1
      return false
    }
    if (this.trial === undefined) return true
    this.try(value)
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

  private try(value: IN): void {
    const records = this.trial!
    const copy = this.copyRecord(value)
    if (copy === undefined) {
      this.end()
      return
    }
    records.push(copy as IN)
    if (records.length < 3) return
    const [a, b, c] = records as [IN, IN, IN]
    if (!foldsAgree(this.fold, [a, b, c], this.copyRecord)) this.end()
    this.trials += 1
    this.trial = this.trials < TRIALS ? [] : undefined
  }

  private readonly copyRecord: CopyValue = (value) => copyOfSum(this.records, value)
}
