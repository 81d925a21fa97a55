/**
 * Facts about a running job that every thread reads without asking: slot states, how far each slot
 * has applied the source, the last completed checkpoint, the live version of each model. One shared
 * buffer; each word has one writer.
 *
 *   int32 words                         float64 words
 *   +------------------------------+    +------------------------------------------+
 *   | routing epoch                |    | completed checkpoint id                  |
 *   | live version   x MODELS      |    | completed checkpoint time (ms)           |
 *   | slot status    x slots       |    | next offset  x slots x partitions        |
 *   | partitions     x slots       |    | as-of time   x slots x partitions (ms)   |
 *   | life           x slots       |    |                                          |
 *   +------------------------------+    +------------------------------------------+
 *
 * A slot's "partitions" word is one more than the highest partition that it has heard of: readers need
 * not look beyond it.
 */

/** Life of a slot as readers see it. */
export type SlotStatus = 'down' | 'restoring' | 'running'

const STATUSES: readonly SlotStatus[] = ['down', 'restoring', 'running']

/** As-of time of a partition that is known to exist and has told none. */
const UNTOLD = -1

/** Most models (queryable names of vector state) that one job serves. */
export const MAX_MODELS = 64

/** What other threads need to open the board. */
export interface ProgressBoardShare {
  readonly slots: number
  readonly partitions: number
  readonly buffer: SharedArrayBuffer
}

export class ProgressBoard {
  readonly share: ProgressBoardShare
  private readonly words: Int32Array
  private readonly numbers: Float64Array
  private readonly statusAt: number
  private readonly heardAt: number
  private readonly lifeAt: number
  private readonly asOfAt: number

  constructor(share: ProgressBoardShare) {
    this.share = share
    const wordCount = wordsOf(share.slots)
    this.words = new Int32Array(share.buffer, 0, wordCount)
    this.numbers = new Float64Array(share.buffer, wordCount * 4)
    this.statusAt = 1 + MAX_MODELS
    this.heardAt = this.statusAt + share.slots
    this.lifeAt = this.heardAt + share.slots
    this.asOfAt = 2 + share.slots * share.partitions
  }

  /** A fresh board: every slot is down, every offset 0. */
  static create(slots: number, partitions: number): ProgressBoard {
    const bytes = wordsOf(slots) * 4 + (2 + 2 * slots * partitions) * 8
    return new ProgressBoard({ slots, partitions, buffer: new SharedArrayBuffer(bytes) })
  }

  /** Grows whenever tables, slots or addresses change. */
  routingEpoch(): number {
    return Atomics.load(this.words, 0)
  }

  bumpRoutingEpoch(): void {
    Atomics.add(this.words, 0, 1)
  }

  /** The version that requests without a version read; 0 while none is live. 0 <= model < 64. */
  liveVersion(model: number): number {
    return Atomics.load(this.words, 1 + model)
  }

  setLiveVersion(model: number, version: number): void {
    Atomics.store(this.words, 1 + model, version)
  }

  slotStatus(slot: number): SlotStatus {
    return STATUSES[Atomics.load(this.words, this.statusAt + slot)]!
  }

  setSlotStatus(slot: number, status: SlotStatus): void {
    Atomics.store(this.words, this.statusAt + slot, STATUSES.indexOf(status))
  }

  /** Grows with every restore of the slot: what was read or known of an earlier life may be undone. */
  slotLife(slot: number): number {
    return Atomics.load(this.words, this.lifeAt + slot)
  }

  beginSlotLife(slot: number): void {
    Atomics.add(this.words, this.lifeAt + slot, 1)
  }

  /** Id of the last completed checkpoint, 0 before the first. */
  completedCheckpoint(): number {
    return this.numbers[0]!
  }

  /** When the last completed checkpoint was triggered, ms since 1970. */
  completedCheckpointTimeMs(): number {
    return this.numbers[1]!
  }

  setCompletedCheckpoint(checkpointId: number, triggeredAtMs: number): void {
    this.numbers[1] = triggeredAtMs
    this.numbers[0] = checkpointId
  }

  /** All records of the partition below this offset are applied on the slot. */
  nextOffset(slot: number, partition: number): number {
    return this.numbers[2 + slot * this.share.partitions + partition]!
  }

  /** The slot has applied all that the partition held at this time (ms since 1970); 0 if unknown. */
  asOfMs(slot: number, partition: number): number {
    const asOf = this.numbers[this.asOfAt + slot * this.share.partitions + partition]!
    return asOf === UNTOLD ? 0 : asOf
  }

  /** A partition exists, is applied below `nextOffset`, and nothing is known of its end. */
  setUntold(slot: number, partition: number, nextOffset: number): void {
    this.setProgress(slot, partition, nextOffset, UNTOLD)
  }

  /** Notes progress of a slot; partitions beyond the board's size are not tracked. */
  setProgress(slot: number, partition: number, nextOffset: number, asOfMs: number): void {
    if (partition < 0 || partition >= this.share.partitions) return
    const at = slot * this.share.partitions + partition
    this.numbers[2 + at] = nextOffset
    this.numbers[this.asOfAt + at] = asOfMs
    const heardAt = this.heardAt + slot
    if (partition >= this.words[heardAt]!) Atomics.store(this.words, heardAt, partition + 1)
  }

  /**
   * The oldest as-of time over the partitions that the slot has heard of; 0 if none, or while one
   * that is known to exist has not told its own.
   */
  oldestAsOfMs(slot: number): number {
    let oldest = 0
    const heard = Atomics.load(this.words, this.heardAt + slot)
    for (let partition = 0; partition < heard; partition++) {
      const asOf = this.numbers[this.asOfAt + slot * this.share.partitions + partition]!
      if (asOf === UNTOLD) return 0
      if (asOf > 0 && (oldest === 0 || asOf < oldest)) oldest = asOf
    }
    return oldest
  }
}

/** Int32 words of a board, an even number so that float64 words can follow. */
function wordsOf(slots: number): number {
  return (1 + MAX_MODELS + 3 * slots + 1) & ~1
}
