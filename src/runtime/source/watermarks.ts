import { MIN_TIMESTAMP } from '../../core/time.ts'
import type { WatermarkStrategy } from '../../dataflow/watermark-strategy.ts'

/** Event time of one source partition. */
interface PartitionClock {
  largest: number
  /** Wall-clock time of its last record, or of its discovery. */
  activeAtMs: number
  /** Whether records came since `activeAtMs` was set. */
  active: boolean
}

/**
 * Event time of a source subtask, tracked by partition so that the records of a slow partition are not
 * late because of a fast one: the watermark is the smallest one of the partitions that are not idle.
 */
export class SourceWatermarks {
  private readonly strategy: WatermarkStrategy<unknown>
  private readonly partitions = new Map<number, PartitionClock>()
  private lastPartition = -1
  private last: PartitionClock | undefined
  private current = MIN_TIMESTAMP

  constructor(strategy: WatermarkStrategy<unknown>) {
    this.strategy = strategy
  }

  /** Whether the strategy makes watermarks at all. */
  get enabled(): boolean {
    return this.strategy.outOfOrdernessMs !== undefined
  }

  /** Adds a partition, for which the watermark then waits. */
  addPartition(partition: number, nowMs: number): void {
    if (this.partitions.has(partition)) return
    this.partitions.set(partition, { largest: MIN_TIMESTAMP, activeAtMs: nowMs, active: false })
  }

  /** Event time of a record, which counts for its partition's watermark. */
  timestampOf(value: unknown, recordTimestamp: number, partition: number): number {
    const timestamp = this.strategy.timestampOf(value, recordTimestamp)
    if (partition !== this.lastPartition || this.last === undefined) this.select(partition)
    const clock = this.last!
    clock.active = true
    if (timestamp > clock.largest) clock.largest = timestamp
    return timestamp
  }

  /** The watermark over all partitions that are not idle; it never falls. */
  watermark(nowMs: number): number {
    const tolerance = this.strategy.outOfOrdernessMs
    if (tolerance === undefined) return this.current
    let least = Number.POSITIVE_INFINITY
    for (const clock of this.partitions.values()) {
      if (this.isIdle(clock, nowMs)) continue
      if (clock.largest < least) least = clock.largest
    }
    if (least === Number.POSITIVE_INFINITY || least === MIN_TIMESTAMP) return this.current
    this.current = Math.max(this.current, least - tolerance - 1)
    return this.current
  }

  /** Whether no partition holds the watermark back: all are idle, or there is none. */
  idle(nowMs: number): boolean {
    for (const clock of this.partitions.values()) if (!this.isIdle(clock, nowMs)) return false
    return true
  }

  /** When the next partition may become idle, or undefined. */
  nextIdleCheckMs(nowMs: number): number | undefined {
    const after = this.strategy.idleAfterMs
    if (after === undefined) return undefined
    let next: number | undefined
    for (const clock of this.partitions.values()) {
      const at = clock.activeAtMs + after
      if (at > nowMs && (next === undefined || at < next)) next = at
    }
    return next
  }

  private isIdle(clock: PartitionClock, nowMs: number): boolean {
    if (clock.active) {
      clock.active = false
      clock.activeAtMs = nowMs
    }
    const after = this.strategy.idleAfterMs
    return after !== undefined && nowMs - clock.activeAtMs >= after
  }

  private select(partition: number): void {
    this.lastPartition = partition
    this.last = this.partitions.get(partition)
    if (this.last !== undefined) return
    this.last = { largest: MIN_TIMESTAMP, activeAtMs: 0, active: true }
    this.partitions.set(partition, this.last)
  }
}
