import { WeirError } from '../../../core/errors.ts'
import { codecOf } from '../../../wire/batch/compression.ts'
import {
  attributesOf,
  COMPRESSION_MASK,
  maxTimestampOf,
} from '../../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../../wire/batch/record-batch-writer.ts'
import type { SegmentInfo } from '../storage/partition-recovery.ts'
import type { PartitionWriter } from '../storage/partition-writer.ts'
import { rewriteSegment, type SegmentTarget, visitBatches } from './segment-rewrite.ts'

/**
 * Takes single records out of a partition, also of topics that keep all: the segments that hold them are written again
 * without them. All other records keep their offsets, and each batch its range of offsets, so that readers and
 * positions go on as before. Returns how many records were there; a second call with the same offsets returns 0. After
 * a crash some are gone and the rest is as it was. Throws ILLEGAL_STATE where a record lies behind the start of a
 * transaction that is open.
 */
export async function eraseRecords(
  partition: PartitionWriter,
  offsets: ReadonlySet<number>,
): Promise<number> {
  const { lastStable, activeBase, logStart } = partition.status
  const wanted = [...offsets].filter((offset) => offset >= logStart && offset < partition.endOffset)
  const undecided = wanted.find((offset) => offset >= lastStable)
  if (undecided !== undefined) {
    throw new WeirError(
      'ILLEGAL_STATE',
      `${partition.path}: the record at offset ${undecided} cannot be erased while a transaction is open that began at offset ${lastStable}; end the transaction, then try again`,
    )
  }
  if (wanted.some((offset) => offset >= activeBase)) await partition.endSegment()
  let erased = 0
  for (const segment of partition.closedSegments()) {
    const end = partition.endOfSegment(segment)
    if (wanted.some((offset) => offset >= segment.base && offset < end)) {
      erased += await eraseIn(partition, segment, offsets)
    }
  }
  // Else a power cut may bring back the old form of a segment.
  if (wanted.length > 0) await partition.files.syncFolder(partition.path)
  return erased
}

/** Writes a closed segment again without the records of some offsets; returns how many it had. */
async function eraseIn(
  partition: PartitionWriter,
  segment: SegmentInfo,
  offsets: ReadonlySet<number>,
): Promise<number> {
  let erased = 0
  await rewriteSegment(partition, segment, async (target) => {
    const copy = new ErasingCopy(target, offsets)
    // All batches are kept, also markers and those of transactions that were aborted.
    await visitBatches(partition, segment, (bytes, at) => copy.add(bytes, at), 'read_uncommitted')
    erased = copy.erased
    return erased > 0
  })
  return erased
}

/** Copies batches; one that holds a record to erase is encoded again without it, over the same offsets. */
class ErasingCopy {
  erased = 0
  private readonly target: SegmentTarget
  private readonly offsets: ReadonlySet<number>
  private readonly records = new RecordBatchReader()
  private readonly writer = new RecordBatchWriter()
  private latest = -1

  constructor(target: SegmentTarget, offsets: ReadonlySet<number>) {
    this.target = target
    this.offsets = offsets
  }

  /** Copies one batch; returns the position after it. */
  add(bytes: Uint8Array, at: number): number {
    const { records, latest } = this
    const next = records.open(bytes, at, false)
    const batch = this.without(bytes, at) ?? bytes.slice(at, next)
    this.latest = Math.max(latest, maxTimestampOf(batch, 0))
    this.target.write(records.baseOffset, batch, latest)
    return next
  }

  /** The batch without what is to be erased; undefined if it holds none of that. */
  private without(bytes: Uint8Array, at: number): Uint8Array | undefined {
    const { records, writer, offsets } = this
    const { baseOffset, lastOffset, producerId, producerEpoch, isTransactional } = records
    if (records.isControl) return undefined
    let found = 0
    writer.reset(baseOffset)
    while (records.next()) {
      if (offsets.has(records.offset)) {
        found++
        continue
      }
      const delta = records.offset - baseOffset
      writer.append(records.key(), records.value(), records.timestamp, delta, records.headers())
    }
    if (found === 0) return undefined
    this.erased += found
    writer.extendTo(lastOffset - baseOffset)
    return writer.finish({
      codec: codecOf(attributesOf(bytes, at) & COMPRESSION_MASK),
      ...{ producerId, producerEpoch, transactional: isTransactional },
    })
  }
}
