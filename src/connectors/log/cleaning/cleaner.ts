import { join } from 'node:path'
import { codecOf } from '../../../wire/batch/compression.ts'
import { hasPositionChecksum } from '../../../wire/batch/position-checksum.ts'
import {
  attributesOf,
  BATCH_HEADER_SIZE,
  COMPRESSION_MASK,
  lastOffsetOf,
} from '../../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../wire/batch/record-batch-writer.ts'
import { readCompacted, writeCompacted } from '../storage/compacted-offset.ts'
import type { SegmentInfo } from '../storage/partition-recovery.ts'
import type { PartitionWriter } from '../storage/partition-writer.ts'
import { expiredSegments } from '../storage/retention.ts'
import { logFileName } from '../storage/segment-files.ts'
import { KeyOffsetMap } from './key-offset-map.ts'
import { rewriteSegment, type SegmentTarget, visitBatches } from './segment-rewrite.ts'

/** Most keys in memory. A partition with more new keys is compacted in several runs. */
const MAX_KEYS = 4_000_000

/** Applies retention and compaction to a partition, as its topic's cleanup policy says. */
export async function cleanPartition(partition: PartitionWriter, nowMs: number): Promise<void> {
  const { cleanupPolicy } = partition.config
  await retainPartition(partition, nowMs)
  if (cleanupPolicy !== 'delete') await compact(partition, nowMs)
}

/** Removes the oldest closed segments whose records are all below an offset; no undecided transaction is in them. */
export function dropBefore(partition: PartitionWriter, before: number): void {
  const end = Math.min(before, partition.status.lastStable)
  const closed = partition.closedSegments()
  const kept = closed.findIndex((segment) => partition.endOfSegment(segment) > end)
  const count = kept < 0 ? closed.length : kept
  if (count > 0) partition.dropOldest(count)
}

/** Applies retention alone; what keeps all or is compacted only is left as it is. */
export async function retainPartition(partition: PartitionWriter, nowMs: number): Promise<void> {
  if (partition.config.cleanupPolicy !== 'compact') await applyRetention(partition, nowMs)
}

async function applyRetention(partition: PartitionWriter, nowMs: number): Promise<void> {
  const { retentionBytes, retentionMs } = partition.config
  if (retentionBytes < 0 && retentionMs < 0) return
  await partition.endOldSegment(nowMs)
  const { lastStable, activeSize } = partition.status
  const closed = partition.closedSegments()
  const segments = await Promise.all(
    closed.map(async (segment, i) => ({
      size: segment.size,
      maxTimestamp: retentionMs < 0 ? -1 : await maxTimestamp(partition, segment),
      undecided: (closed[i + 1]?.base ?? partition.status.activeBase) > lastStable,
    })),
  )
  const count = expiredSegments({ closed: segments, activeSize }, partition.config, nowMs)
  if (count > 0) partition.dropOldest(count)
}

/** A segment's latest timestamp; read from its batches the first time. */
async function maxTimestamp(partition: PartitionWriter, segment: SegmentInfo): Promise<number> {
  if (segment.maxTimestamp < 0) {
    const records = new RecordBatchReader()
    let isEmpty = true
    await visitBatches(partition, segment, (bytes, at) => {
      const next = records.open(bytes, at, false)
      while (records.next()) {
        isEmpty = false
        segment.maxTimestamp = Math.max(segment.maxTimestamp, records.timestamp)
      }
      return next
    })
    // Erased or compacted to nothing, it must not hold back the segments behind it: it is older than all.
    if (isEmpty) segment.maxTimestamp = 0
  }
  return segment.maxTimestamp
}

/**
 * Keeps the last record of each key in the closed segments. Offsets do not change, so gaps appear.
 * Tombstones are removed when their segment was compacted before and is older than
 * `deleteRetentionMs`.
 */
async function compact(partition: PartitionWriter, nowMs: number): Promise<void> {
  const closed = partition.closedSegments().filter((segment) => {
    return partition.endOfSegment(segment) <= partition.status.lastStable
  })
  const { offset, hasEnds, hasPositionChecksums } = readCompacted(partition.files, partition.path)
  // An earlier release left segments without an end or without all checksums: they are written again.
  const compactedTo = hasEnds && hasPositionChecksums ? offset : 0
  const dirty = closed.filter((segment) => segment.base >= compactedTo)
  const bytes = (segments: readonly SegmentInfo[]): number =>
    segments.reduce((sum, segment) => sum + segment.size, 0)
  if (dirty.length === 0) return
  if (bytes(dirty) < bytes(closed) * partition.config.minCleanableRatio) return
  const keys = new KeyOffsetMap()
  let end = compactedTo
  for (const segment of dirty) {
    if (keys.size >= MAX_KEYS) break
    await collectKeys(partition, segment, keys)
    end = partition.endOfSegment(segment)
  }
  for (const segment of closed) {
    if (segment.base >= end) break
    const path = join(partition.path, logFileName(segment.base))
    const age = nowMs - partition.files.statSync(path)!.modifiedMs
    const dropTombstones = segment.base < compactedTo && age > partition.config.deleteRetentionMs
    await rewrite(partition, segment, { keys, dropTombstones })
  }
  // Before the number is stored: a segment whose older form comes back must be compacted again.
  await partition.files.syncFolder(partition.path)
  writeCompacted(partition.files, partition.path, end)
  if (partition.config.cleanupPolicy === 'compact') dropEmpty(partition, end)
}

/**
 * Removes the oldest segments up to offset `end` that hold no record any more: else every segment ever
 * written would leave its files. Where retention removes records, it removes these segments, too.
 */
function dropEmpty(partition: PartitionWriter, end: number): void {
  const closed = partition.closedSegments()
  // The batch that ends a compacted segment is a header alone; every record makes a batch longer.
  const kept = closed.findIndex(({ base, size }) => base >= end || size > BATCH_HEADER_SIZE)
  const count = kept < 0 ? closed.length : kept
  if (count > 0) partition.dropOldest(count)
}

async function collectKeys(
  partition: PartitionWriter,
  segment: SegmentInfo,
  keys: KeyOffsetMap,
): Promise<void> {
  const records = new RecordBatchReader()
  await visitBatches(partition, segment, (bytes, at, dropped) => {
    const next = records.open(bytes, at, false)
    while (!dropped && records.next()) {
      if (records.keyLength < 0) continue
      keys.set(records.bytes, records.keyStart, records.keyLength, records.offset)
    }
    return next
  })
}

/** Decides which records of a segment survive its compaction. */
interface SurvivalRule {
  /** The last offset of each key. */
  readonly keys: KeyOffsetMap
  readonly dropTombstones: boolean
}

/** Writes the surviving records of a segment to a new file and swaps the files, unless all survive. */
async function rewrite(
  partition: PartitionWriter,
  segment: SegmentInfo,
  rule: SurvivalRule,
): Promise<void> {
  await rewriteSegment(partition, segment, async (target) => {
    const survivors = new SurvivorWriter(target, segment.base, rule)
    await visitBatches(partition, segment, (bytes, at, dropped) =>
      survivors.add(bytes, at, dropped),
    )
    survivors.end(partition.endOfSegment(segment))
    return survivors.hasChanged
  })
}

/** Writes the surviving records of one segment, batch by batch. */
class SurvivorWriter {
  /** Whether records are left out, or an end or a checksum of a position is added. */
  hasChanged = false
  /** Offset after the last batch. */
  private nextOffset: number
  /** Offset after the last batch of the segment as it was. */
  private sourceEnd = 0
  private readonly target: SegmentTarget
  private readonly rule: SurvivalRule
  private readonly records = new RecordBatchReader()
  private readonly writer = new RecordBatchWriter()
  private latest = -1

  constructor(target: SegmentTarget, base: number, rule: SurvivalRule) {
    this.nextOffset = base
    this.target = target
    this.rule = rule
  }

  /** Writes the surviving records of one batch; returns the position after it. */
  add(bytes: Uint8Array, at: number, droppedBatch: boolean): number {
    const { records, writer } = this
    const next = records.open(bytes, at, false)
    this.sourceEnd = records.lastOffset + 1
    if (!hasPositionChecksum(bytes, at)) this.hasChanged = true
    if (records.count === 0) return next
    if (droppedBatch) {
      this.hasChanged = true
      return next
    }
    let latest = this.latest
    writer.reset(records.baseOffset)
    while (records.next()) {
      if (this.survives()) {
        const delta = records.offset - records.baseOffset
        const headers = records.headers()
        writer.append(records.key(), records.value(), records.timestamp, delta, headers)
        latest = Math.max(latest, records.timestamp)
      } else {
        this.hasChanged = true
      }
    }
    if (writer.count === 0) return next
    writer.extendTo(records.lastOffset - records.baseOffset)
    this.write(
      records.baseOffset,
      writer.finish({ codec: codecOf(attributesOf(bytes, at) & COMPRESSION_MASK) }),
    )
    this.latest = latest
    return next
  }

  /**
   * Writes an empty batch up to the offset before `end` unless the last batch goes so far. So a reader
   * can see that the segment is whole.
   */
  end(end: number): void {
    if (this.nextOffset >= end) return
    const { writer, nextOffset } = this
    writer.reset(nextOffset)
    writer.extendTo(end - 1 - nextOffset)
    this.write(nextOffset, writer.finish())
    if (this.sourceEnd < end) this.hasChanged = true
  }

  private survives(): boolean {
    const { records, rule } = this
    if (records.keyLength < 0) return true
    if (records.valueLength < 0 && rule.dropTombstones) return false
    const last = rule.keys.get(records.bytes, records.keyStart, records.keyLength)
    return last <= records.offset
  }

  private write(baseOffset: number, batch: Uint8Array): void {
    this.target.write(baseOffset, batch, this.latest)
    this.nextOffset = lastOffsetOf(batch, 0) + 1
  }
}
