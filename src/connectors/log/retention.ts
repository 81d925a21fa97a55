import type { TopicConfig } from './topic-config.ts'

/** A closed segment as retention sees it. */
export interface RetainedSegment {
  readonly size: number
  /** Latest timestamp in ms; -1 when no record has one, and then its age is not known. */
  readonly maxTimestamp: number
  /** Whether a transaction that began in or before it is still open. */
  readonly undecided: boolean
}

/**
 * How many of the oldest closed segments go: those whose newest record is older than `retentionMs`,
 * and those before the last `retentionBytes`. The active segment always stays.
 */
export function expiredSegments(
  closed: readonly RetainedSegment[],
  activeSize: number,
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
