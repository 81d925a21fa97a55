import { batchSizeAt, maxTimestampOf } from '../../../wire/batch/record-batch-format.ts'
import type { RecordBatchReader } from '../../../wire/batch/record-batch-reader.ts'
import type { AbortedRanges } from './aborted-index.ts'

/** Whole batches in `bytes[0, end)`: every visible record from the requested offset on. */
export interface FetchedBatches {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly end: number
  /** The requested offset. The first batch may begin with records before it. */
  readonly fromOffset: number
  /** Offset after the last batch: where the next fetch begins. */
  readonly nextOffset: number
  /** Ranges of aborted transactions, which a read_committed reader must skip. */
  readonly aborted: AbortedRanges
}

/** Offset of the first record with a timestamp >= `timestamp` ms; -1 when there is none. */
export function findTimestamp(
  records: RecordBatchReader,
  fetched: FetchedBatches,
  timestamp: number,
): number {
  for (let at = 0; at < fetched.end; ) {
    if (maxTimestampOf(fetched.bytes, at) < timestamp) {
      at += batchSizeAt(fetched.bytes, at, fetched.end)
      continue
    }
    at = records.open(fetched.bytes, at, false)
    if (records.isControl) continue
    while (records.next()) {
      if (records.timestamp >= timestamp && records.offset >= fetched.fromOffset) {
        return records.offset
      }
    }
  }
  return -1
}
