import type { SourceSplit } from '../../operators/port/source.ts'
import { ANY_VERSION } from '../../state/catalog/progress-board.ts'
import type { PartitionProgress } from '../channel/progress-combiner.ts'

/** Time between two progress reports of a busy source. */
const BUSY_INTERVAL_MS = 5
/**
 * Most time between two reports of a source that waits for input, so that readers see how fresh the
 * state is.
 */
const IDLE_INTERVAL_MS = 100
/**
 * Least time between two of them. A report wakes all slots that get records of the source. Their sources
 * then report, too, and do not wake all slots again later; nor does a timer that is early do nothing.
 */
const IDLE_TOGETHER_MS = 50

/** Sends the progress of one partition downstream. */
export type EmitProgress = (partition: number, progress: Readonly<PartitionProgress>) => void

/**
 * How far a source subtask has read its partitions, and which changes are still to be reported. Times
 * are those of `Clock.monotonicMs`.
 */
export class SourceProgress {
  private readonly emit: EmitProgress
  private readonly byPartition = new Map<number, PartitionProgress>()
  private readonly changed = new Set<number>()
  /** Partitions whose reader reports by itself how fresh they are. */
  private readonly selfReporting = new Set<number>()
  /** When each partition was last seen to be read to its end. */
  private readonly endsSeenMs = new Map<number, number>()
  private version = ANY_VERSION
  private lastReportMs = Number.NEGATIVE_INFINITY

  /** Whether the reader looks at the ends of its partitions (`SourceReader.reportEnds`). */
  private readonly reportsEnds: boolean

  constructor(emit: EmitProgress, reportsEnds: boolean) {
    this.emit = emit
    this.reportsEnds = reportsEnds
  }

  /**
   * Partitions that are going to be read. Restored ones count as applied up to their offset, also before
   * anything new is read; others up to their beginning.
   */
  found(splits: readonly SourceSplit[]): void {
    for (const { partition, nextOffset } of splits) {
      if (!this.byPartition.has(partition)) this.place(partition, Math.max(nextOffset, 0))
    }
  }

  /** From here on, progress holds for one model version: see `ChainSource.appliesTo`. */
  appliesTo(version: number, splits: readonly SourceSplit[]): void {
    this.version = version
    for (const { partition, nextOffset } of splits) this.place(partition, Math.max(nextOffset, 0))
  }

  /** The partition is read from `nextOffset` on; how fresh it is, is not known yet. */
  private place(partition: number, nextOffset: number): void {
    this.byPartition.set(partition, { nextOffset, asOfMs: 0, version: this.version })
    this.changed.add(partition)
  }

  /** The partition was read up to `nextOffset`; `selfReported`: its reader gave the time `asOfMs`. */
  update(partition: number, nextOffset: number, asOfMs: number, selfReported: boolean): void {
    if (selfReported) {
      this.selfReporting.add(partition)
      this.endsSeenMs.set(partition, asOfMs)
    }
    const counts = selfReported || !(this.reportsEnds || this.selfReporting.has(partition))
    const known = this.byPartition.get(partition)
    if (known === undefined) {
      this.byPartition.set(partition, {
        nextOffset,
        asOfMs: counts ? asOfMs : 0,
        version: this.version,
      })
    } else {
      known.nextOffset = nextOffset
      if (counts) known.asOfMs = Math.max(known.asOfMs, asOfMs)
    }
    this.changed.add(partition)
  }

  /** Whether each partition was read to its end at some time since `sinceMs`: so all is read that it had then. */
  isLoaded(sinceMs: number): boolean {
    for (const partition of this.byPartition.keys()) {
      if ((this.endsSeenMs.get(partition) ?? Number.NEGATIVE_INFINITY) < sinceMs) return false
    }
    return true
  }

  /** Whether `tick` would report now that the slot is awake. */
  isDue(nowMs: number, idle: boolean): boolean {
    const unreported = this.changed.size > 0
    if (idle && unreported) return true
    return nowMs - this.lastReportMs >= (idle ? IDLE_TOGETHER_MS : BUSY_INTERVAL_MS)
  }

  /** Reports if a report is due; `idle`: the source waits for input. */
  tick(nowMs: number, idle: boolean): void {
    if (!this.isDue(nowMs, idle)) return
    this.lastReportMs = nowMs
    this.report(nowMs, idle)
  }

  /** The source has ended: it is applied as of `asOfMs`, infinite when it can hold nothing more. */
  ended(asOfMs: number): void {
    for (const [partition, progress] of this.byPartition) {
      progress.asOfMs = asOfMs
      this.emit(partition, progress)
    }
  }

  /** Reports now. `atEnd`: there was nothing more to read, so the state is as fresh as the source. */
  report(nowMs: number, atEnd: boolean): void {
    for (const [partition, progress] of this.byPartition) {
      const fresh = atEnd && !this.reportsEnds && !this.selfReporting.has(partition)
      if (fresh) {
        progress.asOfMs = nowMs
        this.endsSeenMs.set(partition, nowMs)
      }
      if (!fresh && !this.changed.has(partition)) continue
      this.emit(partition, progress)
    }
    this.changed.clear()
  }

  /** Time from `nowMs` until `tick` must be called at the latest; undefined while no partition is known. */
  nextReportInMs(nowMs: number): number | undefined {
    if (this.byPartition.size === 0) return undefined
    return Math.max(0, this.lastReportMs + IDLE_INTERVAL_MS - nowMs)
  }
}
