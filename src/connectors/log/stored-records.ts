import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { RecordView } from '../records/topic-record.ts'
import { PartitionReader } from './storage/partition-reader.ts'
import { partitionPath, readTopicConfig } from './storage/topic-config.ts'

const BUFFER_BYTES = 1024 * 1024

/** What is found in a topic; each record is valid during its call. */
interface Visitor {
  readonly record?: (record: RecordView, partition: number) => void
  readonly erased?: (partition: number, offset: number) => void
}

/** Visits all records of a topic on the disk, also those of open and of aborted transactions. Throws UNKNOWN_TOPIC. */
export async function visitStored(
  directory: string,
  topic: string,
  visitor: Visitor,
): Promise<void> {
  const { partitions } = readTopicConfig(directory, topic)
  for (let partition = 0; partition < partitions; partition++) {
    const path = partitionPath(directory, topic, partition)
    const reader = new PartitionReader(path, { isolation: 'read_uncommitted' })
    try {
      await visitPartition(reader, partition, visitor)
    } finally {
      reader.close()
    }
  }
}

async function visitPartition(
  reader: PartitionReader,
  partition: number,
  { record, erased }: Visitor,
): Promise<void> {
  const { logStart, endOffset } = reader.status()
  const records = new RecordBatchReader()
  const buffer = new Uint8Array(BUFFER_BYTES)
  for (let offset = logStart; offset < endOffset; ) {
    const fetched = await reader.fetch(offset, buffer)
    if (fetched === undefined) return
    for (let at = 0; at < fetched.end; ) {
      at = records.open(fetched.bytes, at)
      // The bytes may begin before the offset that was asked for.
      if (records.isControl || records.lastOffset < offset) continue
      let expected = records.baseOffset
      while (records.next()) {
        for (; expected < records.offset; expected++) erased?.(partition, expected)
        expected++
        record?.(records, partition)
      }
      for (; expected <= records.lastOffset; expected++) erased?.(partition, expected)
    }
    offset = fetched.nextOffset
  }
}
