import { MIN_TIMESTAMP } from '../../core/time.ts'
import { makesWatermarks, type WatermarkStrategy } from '../../dataflow/watermark-strategy.ts'
import { GeneratedWatermark } from '../../operators/basic/generated-watermark.ts'
import { requireTime } from '../../operators/port/event-time.ts'
import type { SourceSilence } from './silence.ts'

/** Event time of one source partition. */
interface PartitionClock {
  largest: number
  /** Undefined when the watermark follows the largest timestamp. */
  readonly generated: GeneratedWatermark<unknown> | undefined
  /** Wall-clock time of its last record, or of its discovery. */
  activeAtMs: number
  /** Whether records came since `activeAtMs` was set. */
  active: boolean
  /** Its largest watermark that has counted. */
  counted: number
}

/**
 * Event time of a source subtask, tracked by partition so that the records of a slow partition are not
 * late because of a fast one: the watermark is the smallest one of the partitions that are not idle.
 */
export class SourceWatermarks {
  /** Whether a generator sees every record: see `afterRecord`. */
  readonly isGenerated: boolean
  private readonly strategy: WatermarkStrategy<unknown>
  private readonly partitions = new Map<number, PartitionClock>()
  private lastPartition = -1
  private last: PartitionClock | undefined
  private current = MIN_TIMESTAMP

  constructor(strategy: WatermarkStrategy<unknown>) {
    this.strategy = strategy
    this.isGenerated = strategy.createGenerator !== undefined
  }

  /** Whether the strategy makes watermarks at all. */
  get enabled(): boolean {
    return makesWatermarks(this.strategy)
  }

  /** Adds a partition, for which the watermark then waits. */
  addPartition(partition: number, nowMs: number): void {
    if (this.partitions.has(partition)) return
    this.partitions.set(partition, this.newClock(nowMs, false))
  }

  /** Event time of a record, which counts for its partition's watermark. */
  timestampOf(value: unknown, recordTimestamp: number, partition: number): number {
    const timestamp = this.strategy.timestampOf(value, recordTimestamp)
    requireTime(timestamp, 'the result of timestampOf')
    if (partition !== this.lastPartition || this.last === undefined) this.select(partition)
    const clock = this.last!
    clock.active = true
    if (timestamp > clock.largest) clock.largest = timestamp
    return timestamp
  }

  /** The record of the last `timestampOf` was emitted; whether its partition's watermark rose at once. */
  afterRecord(value: unknown, timestamp: number): boolean {
    return this.last?.generated?.onEvent(value, timestamp) === true
  }

  /** Lets the generators of all partitions look at their watermark. */
  periodic(): void {
    for (const { generated } of this.partitions.values()) generated?.onPeriodicEmit()
  }

  /** The watermark over all partitions that are not idle; it never falls. */
  watermark(nowMs: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const clock of this.partitions.values()) {
      if (this.isIdle(clock, nowMs)) continue
      const own = this.watermarkOf(clock)
      clock.counted = own
      if (own < least) least = own
    }
    if (least === Number.POSITIVE_INFINITY || least === MIN_TIMESTAMP) return this.current
    this.current = Math.max(this.current, least)
    return this.current
  }

  /** Whether no partition holds the watermark back: all are idle, or there is none. */
  idle(nowMs: number): boolean {
    for (const clock of this.partitions.values()) if (!this.isIdle(clock, nowMs)) return false
    return true
  }

  /** The partitions without a record for `afterMs`, which hold the watermark back, and whether others have some. */
  silence(nowMs: number, afterMs: number): SourceSilence {
    const silentPartitions: number[] = []
    let sinceMs = nowMs
    let hasActive = false
    for (const [partition, clock] of this.partitions) {
      if (this.isIdle(clock, nowMs)) continue
      if (nowMs - clock.activeAtMs < afterMs) {
        // A partition that was found a moment ago has shown nothing yet.
        hasActive ||= clock.largest > MIN_TIMESTAMP || clock.generated !== undefined
        continue
      }
      // One that becomes idle holds nothing back for long.
      if (this.strategy.idleAfterMs !== undefined) continue
      silentPartitions.push(partition)
      sinceMs = Math.min(sinceMs, clock.activeAtMs)
    }
    return { silentPartitions, sinceMs, hasActive }
  }

  /** The partitions whose watermark is beyond a limit, ms. */
  beyond(limit: number): Set<number> {
    const partitions = new Set<number>()
    for (const [partition, clock] of this.partitions) {
      if (this.watermarkOf(clock) > limit) partitions.add(partition)
    }
    return partitions
  }

  /** The source did not read partitions for some time, by no fault of theirs: it does not count as silence. */
  excuse(durationMs: number, partitions: Iterable<number> = this.partitions.keys()): void {
    for (const partition of partitions) this.partitions.get(partition)!.activeAtMs += durationMs
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

  private watermarkOf({ generated, largest }: PartitionClock): number {
    if (generated !== undefined) return generated.watermark
    const tolerance = this.strategy.outOfOrdernessMs
    if (tolerance === undefined || largest === MIN_TIMESTAMP) return MIN_TIMESTAMP
    return largest - tolerance - 1
  }

  private isIdle(clock: PartitionClock, nowMs: number): boolean {
    if (clock.active) {
      clock.active = false
      clock.activeAtMs = nowMs
    }
    if (clock.generated?.idle === true) return true
    const after = this.strategy.idleAfterMs
    if (after === undefined || nowMs - clock.activeAtMs < after) return false
    // A thread that was held has not looked since its last record: its watermark counts once, as in Flink.
    return this.watermarkOf(clock) <= clock.counted
  }

  private select(partition: number): void {
    this.lastPartition = partition
    this.last = this.partitions.get(partition)
    if (this.last !== undefined) return
    this.last = this.newClock(0, true)
    this.partitions.set(partition, this.last)
  }

  private newClock(activeAtMs: number, active: boolean): PartitionClock {
    const { createGenerator } = this.strategy
    const generated = createGenerator && new GeneratedWatermark(createGenerator())
    return { largest: MIN_TIMESTAMP, generated, activeAtMs, active, counted: MIN_TIMESTAMP }
  }
}
