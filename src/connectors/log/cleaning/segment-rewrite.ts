import { join } from 'node:path'
import type { OpenFile } from '../../../files/file-system.ts'
import { placeBatch } from '../../../wire/batch/position-checksum.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import type { Isolation } from '../../records/topic-options.ts'
import { PartitionReader } from '../storage/partition-reader.ts'
import type { SegmentInfo } from '../storage/partition-recovery.ts'
import type { PartitionWriter } from '../storage/partition-writer.ts'
import { INDEX_INTERVAL_BYTES, type IndexEntry, logFileName } from '../storage/segment-files.ts'

const READ_BYTES = 1024 * 1024

/**
 * Visits the batches of a closed segment; `dropped` says that a batch is a marker, or was aborted as far as the
 * isolation shows. `visit` returns the position after the batch.
 */
export async function visitBatches(
  partition: PartitionWriter,
  segment: SegmentInfo,
  visit: (bytes: Uint8Array, at: number, dropped: boolean) => number,
  isolation: Isolation = 'read_committed',
): Promise<void> {
  const end = partition.endOfSegment(segment)
  const reader = new PartitionReader(partition.path, { files: partition.files, isolation })
  const header = new RecordBatchReader()
  try {
    const buffer = new Uint8Array(Math.min(READ_BYTES, segment.size))
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

/** The new form of a segment while it is written, and the index of its batches. */
export class SegmentTarget {
  size = 0
  readonly index: IndexEntry[] = []
  private readonly file: OpenFile
  private readonly mark: number
  private indexed = 0

  /** `mark`: that of the partition. */
  constructor(file: OpenFile, mark: number) {
    this.file = file
    this.mark = mark
  }

  /** Writes a batch behind the last one; `latestBefore`: latest timestamp of those, -1 for none. */
  write(baseOffset: number, batch: Uint8Array, latestBefore: number): void {
    if (this.size - this.indexed >= INDEX_INTERVAL_BYTES) {
      const position = this.size
      this.index.push({ offset: baseOffset, maxTimestampBefore: latestBefore, position })
      this.indexed = position
    }
    placeBatch(batch, 0, { baseOffset, mark: this.mark })
    this.file.writeSync([batch], this.size)
    this.size += batch.length
  }
}

/**
 * Writes a new form of a closed segment and swaps the files, if `fill` says that it differs. Durable once the folder is
 * forced; until then either form may be there after a crash, each whole.
 */
export async function rewriteSegment(
  partition: PartitionWriter,
  segment: SegmentInfo,
  fill: (target: SegmentTarget) => Promise<boolean>,
): Promise<void> {
  const { files, mark } = partition
  const path = join(partition.path, logFileName(segment.base))
  const { accessedMs, modifiedMs } = files.statSync(path)!
  const file = files.openSync(`${path}.tmp`, 'replace')
  const target = new SegmentTarget(file, mark)
  let hasChanged: boolean
  try {
    hasChanged = await fill(target)
    file.datasyncSync()
    // The age of tombstones begins when the segment was first written.
    file.setTimesSync(accessedMs, modifiedMs)
  } finally {
    file.closeSync()
  }
  if (hasChanged) partition.replaceSegment(segment, target.size, target.index)
  else files.removeSync(`${path}.tmp`)
}
