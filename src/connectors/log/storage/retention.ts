import type { TopicConfig } from './topic-config.ts'

/** Properties of a closed segment that decide whether it is kept. */
export interface RetainedSegment {
  readonly size: number
  /** Latest timestamp in ms; -1 when no record has one, so that the age is unknown. */
  readonly maxTimestamp: number
  /** Whether a transaction that began in this segment or before is still open. */
  readonly undecided: boolean
}

/**
 * Number of the oldest closed segments to remove: those whose newest record is older than
 * `retentionMs`, and those before the last `retentionBytes`. The active segment always stays.
 */
export function expiredSegments(
  {
    closed,
    activeSize,
  }: { readonly closed: readonly RetainedSegment[]; readonly activeSize: number },
  config: Pick<TopicConfig, 'retentionBytes' | 'retentionMs'>,
  nowMs: number,
): number {
  let total = activeSize + closed.reduce((sum, segment) => sum + segment.size, 0)
  let count = 0
  for (const segment of closed) {
    const { retentionMs, retentionBytes } = config
    const old =
      retentionMs >= 0 && segment.maxTimestamp >= 0 && segment.maxTimestamp < nowMs - retentionMs
    const surplus = retentionBytes >= 0 && total - segment.size >= retentionBytes
    if (segment.undecided || !(old || surplus)) break
    total -= segment.size
    count += 1
  }
  return count
}

/** The active segment, which appends go to. */
interface ActiveSegment {
  readonly base: number
  readonly size: number
  /** Latest timestamp of its first batch, ms; -1 when that has none. */
  readonly firstTimestamp: number
}

/** Bytes that are to be written. */
interface NextWrite {
  readonly bytes: number
  /** Latest timestamp of its first batch, ms; -1 when that has none. */
  readonly timestamp: number
}

/** Least number of segments in what retention keeps. */
const SEGMENTS_PER_RETENTION = 4
const LEAST_SEGMENT_BYTES = 16 * 1024

/** Longest time of a segment of a topic that keeps records for a time, ms; -1 for no limit. */
export function longestSegmentMs({ retentionMs }: Pick<TopicConfig, 'retentionMs'>): number {
  return retentionMs < 0 ? -1 : retentionMs / SEGMENTS_PER_RETENTION
}

/**
 * The end of a partition's active segment: at a size, and at an age where records are kept for a time.
 * Retention removes only whole segments before the active one, so a segment is at most a quarter of
 * what is kept. Its age counts from the time of its first record, so that it goes on over restarts, and from when this
 * process first saw it where records have no time. Records of the past roll by their own times, as in Kafka.
 */
export class SegmentEnd {
  /** Most bytes of a segment. */
  readonly bytes: number
  /** Longest time of a segment in ms; -1 for no limit. */
  private readonly ageMs: number
  /** The active segment that had records at the last check, and the first check that saw them. */
  private seen = { base: -1, atMs: 0 }
  /** Whether the segment `seen` is too old. */
  private isOld = false

  constructor(config: Pick<TopicConfig, 'segmentBytes' | 'retentionBytes' | 'retentionMs'>) {
    const { segmentBytes, retentionBytes } = config
    const share = Math.max(LEAST_SEGMENT_BYTES, Math.floor(retentionBytes / SEGMENTS_PER_RETENTION))
    this.bytes = retentionBytes < 0 ? segmentBytes : Math.min(segmentBytes, share)
    this.ageMs = longestSegmentMs(config)
  }

  /** Whether the active segment ends before a write. */
  isBefore(
    { bytes, timestamp }: NextWrite,
    { base, size, firstTimestamp }: ActiveSegment,
  ): boolean {
    if (size === 0) return false
    if (size + bytes > this.bytes || (this.isOld && this.seen.base === base)) return true
    return this.ageMs >= 0 && firstTimestamp >= 0 && timestamp - firstTimestamp >= this.ageMs
  }

  /** Measures the age of the active segment at a moment. */
  checkAge({ base, size, firstTimestamp }: ActiveSegment, nowMs: number): void {
    if (this.ageMs < 0 || size === 0) return
    if (base !== this.seen.base) this.seen = { base, atMs: nowMs }
    const { atMs } = this.seen
    const sinceMs = firstTimestamp < 0 ? atMs : Math.min(firstTimestamp, atMs)
    this.isOld = nowMs - sinceMs >= this.ageMs
  }
}
