import type { Serializer } from '../../core/serializer.ts'
import { FoldCheck } from '../folds/check.ts'
import { copyInMemory } from '../folds/copy-value.ts'
import type { Fold } from '../folds/fold.ts'
import type { EdgeFold, SendPart } from '../port/edge-fold.ts'
import { FoldedPart } from '../port/folded-part.ts'

/** Parts above which the fold sends all of them. */
const MOST_PARTS = 4096

/** How records are folded and keys compared. */
export interface PartFoldOptions<IN, ACC> {
  readonly fold: Fold<IN, ACC>
  readonly keySerializer: Serializer<unknown>
  readonly records: Serializer<IN>
  readonly sums: Serializer<ACC>
  /** Whether the program changes no object that it has passed on. */
  readonly reusesObjects: boolean
}

/** A part that waits to be sent, with its key. When it was sent it stands for another part. */
export class WaitingPart<ACC> {
  key: unknown
  /** Next one of the same hash bucket. */
  next: WaitingPart<ACC> | undefined = undefined
  /** Of the part, not -1, which stands for no time. */
  timestamp = 0
  /** Number of records in the sum. */
  records = 0
  sum: ACC | undefined = undefined
  /** Whether nothing else refers to an object of the sum. */
  owned = true
  /** See `FoldedPart`. */
  spanMs = 0

  /** The part to be sent; nothing is left here. */
  take(): FoldedPart<ACC> {
    const part = new FoldedPart(this.sum as ACC, this.records, this.owned, this.spanMs)
    this.key = undefined
    this.next = undefined
    this.sum = undefined
    this.records = 0
    this.spanMs = 0
    return part
  }
}

/**
 * The base of folds of windows before an edge (the first phase of a two-phase aggregation): one part for each key and
 * part of a window. The parts are sent at the next watermark, report of progress or barrier, and when the channel is
 * flushed, so that no record waits longer than without it.
 */
export abstract class PartFold<IN, ACC> implements EdgeFold {
  protected readonly worth = new FoldWorth()
  /** The check of what a user declared; undefined for a fold of Weir's own. */
  protected readonly check: FoldCheck<IN, ACC> | undefined
  private readonly options: PartFoldOptions<IN, ACC>
  /** Whether the function of the user gets copies: a record that crosses the edge would be a copy, too. */
  private readonly copies: boolean
  /**
   * The parts that wait, then those that are used again: objects that are new when the engine collects garbage soon
   * count as old, and a part lives for a moment.
   */
  private readonly objects: WaitingPart<ACC>[] = []
  /** How many of `objects` wait. */
  private waiting = 0

  /** `anyOrder`: whether the receiver merges parts in another order than that of their records. */
  constructor(options: PartFoldOptions<IN, ACC>, anyOrder: boolean) {
    this.options = options
    const { fold, records, reusesObjects } = options
    const isOwn = fold.declared === undefined
    this.check = isOwn ? undefined : new FoldCheck(fold, records, anyOrder)
    this.copies = !isOwn && !reusesObjects
  }

  get size(): number {
    return this.waiting
  }

  add(key: unknown, value: unknown, timestamp: number): boolean {
    if (!this.worth.admits() || this.waiting >= MOST_PARTS) return false
    const given = value as IN
    const own = this.copies ? copyInMemory(this.options.records, given) : given
    if (own === undefined || !this.place(key, own, timestamp)) return false
    this.worth.count()
    return true
  }

  drain(send: SendPart): void {
    const { objects, waiting } = this
    this.waiting = 0
    this.forget()
    for (let i = 0; i < waiting; i++) {
      const part = objects[i]!
      const { key, timestamp } = part
      send(key, part.take(), timestamp)
    }
    this.worth.sent(waiting)
  }

  afterWatermark(watermark: number): void {
    this.check?.close(watermark + 1)
  }

  afterIdle(): void {}

  /** Folds a record into its part; false for one that must be sent as it is. */
  protected abstract place(key: unknown, value: IN, timestamp: number): boolean

  /** Forgets all parts. */
  protected abstract forget(): void

  /**
   * Whether a record of a key may be folded; those from `time` to before `time + spanMs` are in one window. None may
   * before the declaration of a user has passed its first check. Throws NOT_ASSOCIATIVE.
   */
  protected mayFold(key: unknown, value: IN, time: number, spanMs: number): boolean {
    const { check } = this
    if (check === undefined) return true
    check.see(key, value, time, spanMs)
    return check.hasPassed
  }

  /** A part of one record, which waits from now on. */
  protected begin(key: unknown, value: IN, timestamp: number): WaitingPart<ACC> {
    const part = this.objects[this.waiting] ?? new WaitingPart<ACC>()
    part.owned = true
    this.fold(part, value)
    part.key = key
    part.timestamp = timestamp
    this.objects[this.waiting] = part
    this.waiting += 1
    return part
  }

  protected fold(part: WaitingPart<ACC>, value: IN): void {
    const { fold, sums } = this.options
    const before = part.records === 0 ? undefined : part.sum
    const after = fold.add(value, before)
    part.records += 1
    if (after === before || typeof after !== 'object') {
      part.sum = after
      return
    }
    // The fold may have returned the record, or a part of it, which belongs to the function that made it.
    const copy = copyInMemory(sums, after)
    part.sum = (copy ?? after) as ACC
    part.owned = copy !== undefined
  }
}

/** Records after which it is decided whether folding them pays. */
const PERIOD = 8192
/** Parts for each record above which folding does not pay: almost each record has a key of its own. */
const WORTHLESS = 0.7
/** Records that are sent as they are before folding is tried again. */
const REST = 131_072

/** Decides which records a sender folds: none for a while after almost each record had a key of its own. */
class FoldWorth {
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
