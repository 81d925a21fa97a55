import type { TrackedSource } from './tracked-source.ts'

/**
 * Progress of a running job, which every thread reads in place: slot states, how far each slot
 * has applied the sources, the last completed checkpoint, the live version of each model. One shared
 * buffer; each word has one writer. Times are those of `Clock.monotonicMs`.
 *
 *   int32 words                         float64 words
 *   +------------------------------+    +------------------------------------------+
 *   | routing epoch                |    | completed checkpoint id                  |
 *   | live version   x MODELS      |    | as-of time of the checkpoint (ms)        |
 *   | live is read   x MODELS      |    | when "written" was last asked for (ms)   |
 *   |   again (0, 1)               |    | next offset  x slots x places            |
 *   | slot status    x slots       |    | as-of time   x slots x places (ms)       |
 *   | incarnation    x slots       |    | written      x slots x places            |
 *   | tables opened  x slots       |    +------------------------------------------+
 *   | reported       x slots       |
 *   | partitions     x slots       |
 *   |                x sources     |
 *   | version        x slots       |
 *   |                x places      |    places = sources x partitions
 *   | exists         x places      |
 *   | known          x sources     |
 *   +------------------------------+
 *
 * A slot's "partitions" word is one more than the highest partition that it has reported, and "known" one
 * more than the highest that exists: readers need not look beyond both. These two and "exists" only rise,
 * the latter by the subtask that reads the partition.
 *
 * The file is long because layout, writers and readers of one buffer must be read together.
 */

/** Status of a slot as readers see it. A slot without a checkpoint to restore is `starting`. */
export type SlotStatus = 'down' | 'restoring' | 'running' | 'starting'

/** By the number in the status word. */
const STATUSES: readonly SlotStatus[] = ['down', 'restoring', 'running', 'starting']

/** As-of time of a partition that exists but whose slot has not reported one. */
const UNKNOWN = -1

/** Most models (queryable names of vector state) that one job serves. */
export const MAX_MODELS = 64

/** Age of answers of a slot that has not reported progress, so that it may still open tables. */
export const NOT_REPORTED = -2
/** Age of answers of a slot that has opened a table which the reader does not know yet. */
export const TABLE_UNKNOWN = -3

/** Values of a slot's "reported" word; 0 before its first report. */
const REPORTED = 1
const NEVER_REPORTS = 2

/** float64 words before the offsets. */
const HEADER_NUMBERS = 3
/** Time for which slots publish what is written after a reader asked for it. */
const WRITTEN_WANTED_MS = 1000

/** Version of progress that holds for every model version. */
export const ANY_VERSION = 0
/** Version of progress that holds for no model version yet. */
export const NO_VERSION = -1

/** The board in a form that other threads can open. */
export interface ProgressBoardShare {
  readonly slots: number
  /** Partitions of each source that are tracked. */
  readonly partitions: number
  readonly sources: readonly TrackedSource[]
  readonly buffer: SharedArrayBuffer
}

const ONE_SOURCE: readonly TrackedSource[] = [{ uid: '', tracked: true }]

/** The board, in any thread. */
export class ProgressBoard {
  readonly share: ProgressBoardShare
  private readonly words: Int32Array
  private readonly numbers: Float64Array
  private readonly places: number
  private readonly statusAt: number
  private readonly incarnationAt: number
  private readonly tablesAt: number
  private readonly reportedAt: number
  private readonly partitionsAt: number
  private readonly versionAt: number
  private readonly existsAt: number
  private readonly knownAt: number
  private readonly asOfAt: number
  private readonly writtenAt: number

  constructor(share: ProgressBoardShare) {
    this.share = share
    const { slots, sources, partitions, buffer } = share
    const wordCount = wordsOf(slots, sources.length, partitions)
    this.words = new Int32Array(buffer, 0, wordCount)
    this.numbers = new Float64Array(buffer, wordCount * 4)
    this.places = sources.length * partitions
    this.statusAt = 1 + 2 * MAX_MODELS
    this.incarnationAt = this.statusAt + slots
    this.tablesAt = this.incarnationAt + slots
    this.reportedAt = this.tablesAt + slots
    this.partitionsAt = this.reportedAt + slots
    this.versionAt = this.partitionsAt + slots * sources.length
    this.existsAt = this.versionAt + slots * this.places
    this.knownAt = this.existsAt + this.places
    this.asOfAt = HEADER_NUMBERS + slots * this.places
    this.writtenAt = this.asOfAt + slots * this.places
  }

  /** A fresh board: every slot is down, every offset 0. */
  static create(
    slots: number,
    partitions: number,
    sources: readonly TrackedSource[] = ONE_SOURCE,
  ): ProgressBoard {
    const numbers = HEADER_NUMBERS + 3 * slots * sources.length * partitions
    const bytes = wordsOf(slots, sources.length, partitions) * 4 + numbers * 8
    return new ProgressBoard({
      slots,
      partitions,
      sources,
      buffer: new SharedArrayBuffer(bytes),
    })
  }

  /** Grows whenever tables, slots, addresses or live versions change. */
  routingEpoch(): number {
    return Atomics.load(this.words, 0)
  }

  bumpRoutingEpoch(): void {
    Atomics.add(this.words, 0, 1)
  }

  /** The version that requests read if they name none; 0 while none is live. 0 <= model < 64. */
  liveVersion(model: number): number {
    return Atomics.load(this.words, 1 + model)
  }

  /** Switches the live version; the routing table names it, so its epoch grows. */
  setLiveVersion(model: number, version: number): void {
    if (Atomics.exchange(this.words, 1 + model, version) !== version) this.bumpRoutingEpoch()
  }

  /**
   * Whether the running slots may lack rows of the live version: the job restarted, and the version was not
   * complete in its checkpoint. A key that is not found may then be on its way.
   */
  isLiveIncomplete(model: number): boolean {
    return Atomics.load(this.words, 1 + MAX_MODELS + model) === 1 && this.isAnySlotRunning()
  }

  private isAnySlotRunning(): boolean {
    for (let slot = 0; slot < this.share.slots; slot++) {
      if (this.slotStatus(slot) === 'running') return true
    }
    return false
  }

  /** Records whether the rows of the live version may still have to be read again. */
  setLiveIncomplete(model: number, isIncomplete: boolean): void {
    Atomics.store(this.words, 1 + MAX_MODELS + model, isIncomplete ? 1 : 0)
  }

  slotStatus(slot: number): SlotStatus {
    return STATUSES[Atomics.load(this.words, this.statusAt + slot)]!
  }

  setSlotStatus(slot: number, status: SlotStatus): void {
    Atomics.store(this.words, this.statusAt + slot, STATUSES.indexOf(status))
  }

  /**
   * Number of the attempt that the slot has begun last, 0 before the first. What an earlier incarnation has
   * written may be undone.
   */
  slotIncarnation(slot: number): number {
    return Atomics.load(this.words, this.incarnationAt + slot)
  }

  beginSlotIncarnation(slot: number, attempt: number): void {
    Atomics.store(this.words, this.tablesAt + slot, 0)
    Atomics.store(this.words, this.incarnationAt + slot, attempt)
  }

  /** Row tables that the slot has opened in this incarnation. */
  tablesOpened(slot: number): number {
    return Atomics.load(this.words, this.tablesAt + slot)
  }

  /** The slot opens a row table: counted before its report is sent, and before its rows' offsets. */
  countTableOpened(slot: number): void {
    Atomics.add(this.words, this.tablesAt + slot, 1)
  }

  /**
   * Id of the last completed checkpoint, 0 before the first. A reader of id and time reads the time first:
   * then the time is not that of a later checkpoint.
   */
  completedCheckpoint(): number {
    return this.numbers[0]!
  }

  /** The last completed checkpoint holds all that the sources held at this time; 0 if unknown. */
  completedCheckpointAsOfMs(): number {
    return this.numbers[1]!
  }

  setCompletedCheckpoint(checkpointId: number, asOfMs: number): void {
    this.numbers[0] = checkpointId
    this.numbers[1] = asOfMs
  }

  /** All records of the partition below this offset are applied on the slot; read, where the source is not tracked. */
  nextOffset(slot: number, partition: number, source = 0): number {
    return this.numbers[HEADER_NUMBERS + this.at(slot, partition, source)]!
  }

  /** The model version for which the progress holds: `ANY_VERSION`, `NO_VERSION` or a number. */
  progressVersion(slot: number, partition: number, source = 0): number {
    return Atomics.load(this.words, this.versionAt + this.at(slot, partition, source))
  }

  /** The slot has applied all that the partition held at this time; 0 if unknown. */
  asOfMs(slot: number, partition: number, source = 0): number {
    const asOf = this.numbers[this.asOfAt + this.at(slot, partition, source)]!
    return asOf === UNKNOWN ? 0 : asOf
  }

  /** Records a partition that exists and is applied below `nextOffset`, but has no known as-of time. */
  setWithoutAsOf(
    slot: number,
    partition: number,
    nextOffset: number,
    source = 0,
    version = ANY_VERSION,
  ): void {
    this.setProgress(slot, partition, nextOffset, UNKNOWN, source, version)
  }

  /** Records progress of a slot; partitions beyond the board's size are not tracked. */
  setProgress(
    slot: number,
    partition: number,
    nextOffset: number,
    asOfMs: number,
    source = 0,
    version = ANY_VERSION,
  ): void {
    if (!this.tracks(partition, source)) return
    const at = this.at(slot, partition, source)
    if (Atomics.load(this.words, this.versionAt + at) !== version) {
      // A reader must not pair the offset of one version with the number of the other.
      this.numbers[HEADER_NUMBERS + at] = 0
      this.numbers[this.writtenAt + at] = 0
      Atomics.store(this.words, this.versionAt + at, version)
    }
    this.numbers[HEADER_NUMBERS + at] = nextOffset
    this.numbers[this.asOfAt + at] = asOfMs
    const partitionsAt = this.partitionsAt + slot * this.share.sources.length + source
    if (partition >= this.words[partitionsAt]!)
      Atomics.store(this.words, partitionsAt, partition + 1)
  }

  /**
   * The partition exists: a slot that has not reported it does not know how fresh it is. Called before the
   * first slot of an attempt starts to read, and when the partition is added later.
   */
  addPartition(partition: number, source: number): void {
    if (!this.tracks(partition, source)) return
    Atomics.store(this.words, this.existsAt + source * this.share.partitions + partition, 1)
    const at = this.knownAt + source
    for (let known = Atomics.load(this.words, at); known <= partition; ) {
      known = Atomics.compareExchange(this.words, at, known, partition + 1)
    }
  }

  /** One more than the highest partition of a source; undefined before a slot runs: then not all of them are found. */
  partitionsOf(source: number): number | undefined {
    if (!this.isAnySlotRunning()) return undefined
    return Atomics.load(this.words, this.knownAt + source) || undefined
  }

  /** Whether the slot has reported progress in this incarnation. */
  hasReported(slot: number): boolean {
    return Atomics.load(this.words, this.reportedAt + slot) === REPORTED
  }

  /** Whether the slot has keyed state behind a source, so that it reports progress soon or has done so. */
  reportsProgress(slot: number): boolean {
    return Atomics.load(this.words, this.reportedAt + slot) !== NEVER_REPORTS
  }

  /** The slot has no keyed state behind a source. */
  setWithoutProgress(slot: number): void {
    Atomics.store(this.words, this.reportedAt + slot, NEVER_REPORTS)
  }

  /** The slot reports progress: what it reported before, such as its tables, is sent. */
  setReported(slot: number): void {
    Atomics.store(this.words, this.reportedAt + slot, REPORTED)
  }

  /** A reader waits for what is written. */
  wantWritten(nowMs: number): void {
    this.numbers[2] = nowMs
  }

  isWrittenWanted(nowMs: number): boolean {
    return nowMs - this.numbers[2]! < WRITTEN_WANTED_MS
  }

  /** What the records of the partition below this offset caused on the slot is written to its topics. */
  writtenOffset(slot: number, partition: number, source: number): number {
    return this.numbers[this.writtenAt + this.at(slot, partition, source)]!
  }

  /** Records that the effects of the records below `nextOffset` are written, for a version. */
  setWritten(
    slot: number,
    partition: number,
    nextOffset: number,
    source: number,
    version: number,
  ): void {
    if (!this.tracks(partition, source)) return
    const at = this.at(slot, partition, source)
    if (Atomics.load(this.words, this.versionAt + at) !== version) return
    this.numbers[this.writtenAt + at] = nextOffset
  }

  /** Forgets all progress of a slot. */
  resetProgress(slot: number): void {
    const { sources, partitions } = this.share
    Atomics.store(this.words, this.reportedAt + slot, 0)
    for (let source = 0; source < sources.length; source++) {
      for (let partition = 0; partition < partitions; partition++) {
        const at = this.at(slot, partition, source)
        this.numbers[HEADER_NUMBERS + at] = 0
        this.numbers[this.asOfAt + at] = 0
        this.numbers[this.writtenAt + at] = 0
        Atomics.store(this.words, this.versionAt + at, ANY_VERSION)
      }
      Atomics.store(this.words, this.partitionsAt + slot * sources.length + source, 0)
    }
  }

  /** Whether progress over the partition is kept. */
  tracks(partition: number, source = 0): boolean {
    const { partitions, sources } = this.share
    return partition >= 0 && partition < partitions && source >= 0 && source < sources.length
  }

  /**
   * The oldest as-of time over the partitions of all tracked sources; 0 if a source has none, or while one of
   * its partitions has no known as-of time on the slot.
   */
  oldestAsOfMs(slot: number): number {
    const { sources } = this.share
    let oldest = 0
    for (let source = 0; source < sources.length; source++) {
      if (!sources[source]!.tracked) continue
      const asOf = this.sourceAsOfMs(slot, source)
      if (asOf === 0) return 0
      if (oldest === 0 || asOf < oldest) oldest = asOf
    }
    return oldest
  }

  /** As `oldestAsOfMs`, of one source. */
  sourceAsOfMs(slot: number, source: number): number {
    let oldest = 0
    const { sources, partitions: places } = this.share
    const partitions = Math.max(
      Atomics.load(this.words, this.partitionsAt + slot * sources.length + source),
      Atomics.load(this.words, this.knownAt + source),
    )
    const from = this.asOfAt + this.at(slot, 0, source)
    const existsFrom = this.existsAt + source * places
    for (let partition = 0; partition < partitions; partition++) {
      const asOf = this.numbers[from + partition]!
      if (asOf === UNKNOWN) return 0
      if (asOf > 0) {
        if (oldest === 0 || asOf < oldest) oldest = asOf
      } else if (this.words[existsFrom + partition] === 1) return 0
    }
    return oldest
  }

  private at(slot: number, partition: number, source: number): number {
    return slot * this.places + source * this.share.partitions + partition
  }
}

/** Int32 words of a board, an even number so that float64 words can follow. */
function wordsOf(slots: number, sources: number, partitions: number): number {
  const ofSlots = slots * (4 + sources + sources * partitions)
  return (1 + 2 * MAX_MODELS + ofSlots + sources * (partitions + 1) + 1) & ~1
}
