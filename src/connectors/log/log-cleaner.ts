import * as fs from 'node:fs'
import { join } from 'node:path'
import { codecOf } from '../../batch/compression.ts'
import { attributesOf, COMPRESSION_MASK } from '../../batch/record-batch-format.ts'
import { RecordBatchReader } from '../../batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../batch/record-batch-writer.ts'
import { KeyOffsetMap } from './key-offset-map.ts'
import type { PartitionLog } from './partition-log.ts'
import { PartitionReader } from './partition-reader.ts'
import type { SegmentInfo } from './partition-recovery.ts'
import { expiredSegments } from './retention.ts'
import { INDEX_INTERVAL_BYTES, type IndexEntry, logFileName } from './segment-files.ts'

const READ_BYTES = 1024 * 1024
/** Keys held at once; a dirty part with more is compacted in several runs. */
const MAX_KEYS = 4_000_000
const COMPACTED_FILE = 'compacted'

/** Removes or compacts what the partition's topic no longer wants. */
export async function cleanPartition(partition: PartitionLog, nowMs: number): Promise<void> {
  const { cleanupPolicy } = partition.config
  if (cleanupPolicy !== 'compact') await applyRetention(partition, nowMs)
  if (cleanupPolicy !== 'delete') await compact(partition, nowMs)
}

async function applyRetention(partition: PartitionLog, nowMs: number): Promise<void> {
  const { retentionBytes, retentionMs } = partition.config
  if (retentionBytes < 0 && retentionMs < 0) return
  const { lastStable, activeSize } = partition.status
  const closed = partition.closedSegments()
  const seen = await Promise.all(
    closed.map(async (segment, i) => ({
      size: segment.size,
      maxTimestamp: retentionMs < 0 ? -1 : await maxTimestamp(partition, segment),
      undecided: (closed[i + 1]?.base ?? partition.status.activeBase) > lastStable,
    })),
  )
  const count = expiredSegments(seen, activeSize, partition.config, nowMs)
  if (count > 0) partition.dropOldest(count)
}

/** A segment's latest timestamp, read from its batches once when it is not known yet. */
async function maxTimestamp(partition: PartitionLog, segment: SegmentInfo): Promise<number> {
  if (segment.maxTimestamp < 0) {
    const records = new RecordBatchReader()
    await forEachBatch(partition, segment, (bytes, at) => {
      const next = records.open(bytes, at, false)
      while (records.next()) {
        segment.maxTimestamp = Math.max(segment.maxTimestamp, records.timestamp)
      }
      return next
    })
  }
  return segment.maxTimestamp
}

/** Visits the committed data batches of a closed segment; `visit` returns the position after one. */
async function forEachBatch(
  partition: PartitionLog,
  segment: SegmentInfo,
  visit: (bytes: Uint8Array, at: number, dropped: boolean) => number,
): Promise<void> {
  const end = partition.endOfSegment(segment)
  const reader = new PartitionReader(partition.path)
  const header = new RecordBatchReader()
  try {
    const buffer = new Uint8Array(READ_BYTES)
    let offset = segment.base
    while (offset < end) {
      const fetched = await reader.fetch(offset, buffer)
      if (fetched === undefined) return
      for (let at = 0; at < fetched.end; ) {
        header.open(fetched.bytes, at, false)
        if (header.baseOffset >= end) return
        const aborted =
          header.isTransactional && fetched.aborted.contains(header.producerId, header.baseOffset)
        at = visit(fetched.bytes, at, header.isControl || aborted)
      }
      offset = fetched.nextOffset
    }
  } finally {
    reader.close()
  }
}

/**
 * Keeps the last record of each key in the closed segments. Offsets do not change, so gaps appear;
 * tombstones go when their segment was compacted before and is older than `deleteRetentionMs`.
 */
async function compact(partition: PartitionLog, nowMs: number): Promise<void> {
  const closed = partition.closedSegments().filter((segment) => {
    return partition.endOfSegment(segment) <= partition.status.lastStable
  })
  const compactedTo = readCompactedTo(partition.path)
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
    const age = nowMs - fs.statSync(join(partition.path, logFileName(segment.base))).mtimeMs
    const dropTombstones = segment.base < compactedTo && age > partition.config.deleteRetentionMs
    await rewrite(partition, segment, keys, dropTombstones)
  }
  writeCompactedTo(partition.path, end)
}

async function collectKeys(
  partition: PartitionLog,
  segment: SegmentInfo,
  keys: KeyOffsetMap,
): Promise<void> {
  const records = new RecordBatchReader()
  await forEachBatch(partition, segment, (bytes, at, dropped) => {
    const next = records.open(bytes, at, false)
    while (!dropped && records.next()) {
      if (records.keyLength < 0) continue
      keys.set(records.bytes, records.keyStart, records.keyLength, records.offset)
    }
    return next
  })
}

/** Writes what survives of a segment beside it and swaps the files, unless all of it survives. */
async function rewrite(
  partition: PartitionLog,
  segment: SegmentInfo,
  keys: KeyOffsetMap,
  dropTombstones: boolean,
): Promise<void> {
  const path = join(partition.path, logFileName(segment.base))
  const { atime, mtime } = fs.statSync(path)
  const fd = fs.openSync(`${path}.tmp`, 'w')
  const survivors = new SurvivorWriter(fd, keys, dropTombstones)
  try {
    await forEachBatch(partition, segment, (bytes, at, dropped) =>
      survivors.add(bytes, at, dropped),
    )
    fs.fsyncSync(fd)
    // Tombstones count their age from when the segment was written.
    fs.futimesSync(fd, atime, mtime)
  } finally {
    fs.closeSync(fd)
  }
  if (survivors.dropped === 0) fs.rmSync(`${path}.tmp`)
  else partition.replaceSegment(segment, survivors.size, survivors.index)
}

/** Writes the surviving records of one segment, batch by batch. */
class SurvivorWriter {
  size = 0
  dropped = 0
  readonly index: IndexEntry[] = []
  private readonly fd: number
  private readonly keys: KeyOffsetMap
  private readonly dropTombstones: boolean
  private readonly records = new RecordBatchReader()
  private readonly writer = new RecordBatchWriter()
  private indexed = 0
  private latest = -1

  constructor(fd: number, keys: KeyOffsetMap, dropTombstones: boolean) {
    this.fd = fd
    this.keys = keys
    this.dropTombstones = dropTombstones
  }

  /** Takes one batch; returns the position after it. */
  add(bytes: Uint8Array, at: number, droppedBatch: boolean): number {
    const { records, writer } = this
    const next = records.open(bytes, at, false)
    if (droppedBatch) {
      this.dropped += 1
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
        this.dropped += 1
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

  private survives(): boolean {
    const { records } = this
    if (records.keyLength < 0) return true
    if (records.valueLength < 0 && this.dropTombstones) return false
    const last = this.keys.get(records.bytes, records.keyStart, records.keyLength)
    return last <= records.offset
  }

  private write(baseOffset: number, batch: Uint8Array): void {
    if (this.size - this.indexed >= INDEX_INTERVAL_BYTES) {
      const position = this.size
      this.index.push({ offset: baseOffset, maxTimestampBefore: this.latest, position })
      this.indexed = position
    }
    fs.writeSync(this.fd, batch)
    this.size += batch.length
  }
}

/** Offset up to which closed segments were compacted: a decimal number in the file `compacted`. */
function readCompactedTo(path: string): number {
  try {
    const offset = Number(fs.readFileSync(join(path, COMPACTED_FILE), 'utf8'))
    return Number.isSafeInteger(offset) ? offset : 0
  } catch {
    return 0
  }
}

function writeCompactedTo(path: string, offset: number): void {
  const target = join(path, COMPACTED_FILE)
  fs.writeFileSync(`${target}.tmp`, String(offset))
  fs.renameSync(`${target}.tmp`, target)
}
