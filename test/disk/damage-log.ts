import { mkdirSync } from 'node:fs'
import { PartitionReader } from '../../src/connectors/log/storage/partition-reader.ts'
import {
  listTopics,
  partitionPath,
  readTopicConfig,
} from '../../src/connectors/log/storage/topic-config.ts'
import { releaseLock, takeLock } from '../../src/connectors/log/writer/directory-lock.ts'
import { LocalLogWriter } from '../../src/connectors/log/writer/local-log-writer.ts'
import type { ProducerIdentity } from '../../src/connectors/transactions/producer-identity.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { BATCH_FIELDS, batchSizeAt } from '../../src/wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../src/wire/batch/record-batch-writer.ts'
import type { DamagedFolder } from './damage-folder.ts'
import { unforcedFiles } from './unforced-files.ts'

const TOPICS = {
  plain: { partitions: 2, segmentBytes: 500 },
  compacted: { partitions: 1, segmentBytes: 300, cleanupPolicy: 'compact', minCleanableRatio: 0.1 },
  gaps: { partitions: 1, segmentBytes: 800, cleanupPolicy: 'compact' },
} as const
/** Keys of the records of topic `gaps`: compaction leaves b, c and d, with gaps around each. */
const KEYS_WITH_GAPS = [...'abaaacaaadaaaa']

/** A log with three topics, closed segments, and a committed, an aborted and a prepared transaction. */
export async function writeLog(path: string): Promise<DamagedFolder> {
  mkdirSync(path, { recursive: true })
  const writer = await openWriter(path)
  for (const [topic, config] of Object.entries(TOPICS)) await writer.createTopic(topic, config)
  for (let i = 0; i < 24; i++) await append(writer, i)
  for (const [i, key] of KEYS_WITH_GAPS.entries()) {
    const batch = new RecordBatchWriter(128)
    batch.append(Buffer.from(key), Buffer.from(`value ${i}`), 1000 + i)
    await writer.append('gaps', 0, batch.take())
  }
  await writer.clean()
  for (const [id, outcome] of [
    ['tx-a', true],
    ['tx-b', false],
    ['tx-c', undefined],
  ] as const) {
    const producer = await writer.initProducer(id)
    for (let i = 0; i < 3; i++) await append(writer, 100 + i, producer)
    if (outcome !== undefined) await writer.endTransaction(producer, outcome)
  }
  for (let i = 30; i < 36; i++) await append(writer, i)
  await writer.close()
  takeLock(path, 0)
  return {
    name: 'log',
    path,
    read: () => readLog(path),
    // Of `.log` files the campaign checks that nothing is cut off.
    mayChange: (file) => /(status|\.index|\.lock)$/.test(file),
    flipsEveryBit: (file, bytes) =>
      new Set(/^(compacted|gaps)\/.*\.log$/.test(file) ? prefixes(bytes) : []),
  }
}

/** Positions of the bytes that Kafka's checksum does not cover: base offset, length and leader epoch. */
function prefixes(segment: Uint8Array): number[] {
  const found: number[] = []
  for (let at = 0; at < segment.length; at += batchSizeAt(segment, at, segment.length)) {
    for (let i = 0; i < BATCH_FIELDS.magic; i++) found.push(at + i)
  }
  return found
}

function openWriter(path: string): Promise<LocalLogWriter> {
  return LocalLogWriter.open(
    path,
    {
      files: unforcedFiles,
      clock: new ManualClock(1_000_000),
      fsync: 'none',
      cleanIntervalMs: Number.POSITIVE_INFINITY,
      warn: () => {},
    },
    { announce: () => {}, close: () => {} },
  )
}

async function append(
  writer: LocalLogWriter,
  i: number,
  producer?: ProducerIdentity,
): Promise<void> {
  const batch = new RecordBatchWriter(256)
  for (let j = 0; j < 2; j++) {
    batch.append(Buffer.from(`k${(i + j) % 5}`), Buffer.from(`value ${i} ${j}`), 1000 + i)
  }
  const { producerId = -1, epoch: producerEpoch = -1 } = producer ?? {}
  const bytes =
    producer === undefined
      ? batch.take()
      : batch.take({ transactional: true, producerId, producerEpoch })
  const topic = i % 3 === 2 ? 'compacted' : 'plain'
  await writer.append(topic, i % TOPICS[topic].partitions, bytes, producer?.transactionalId)
}

/** Opens the log for writing, as a job does, and reads all topics and transactions. */
async function readLog(path: string): Promise<string> {
  const found: unknown[] = []
  takeLock(path, 0)
  const writer = await openWriter(path)
  try {
    for (const topic of listTopics(path)) {
      const config = readTopicConfig(path, topic)
      found.push([topic, config])
      for (let partition = 0; partition < config.partitions; partition++) {
        for (const isolation of ['read_committed', 'read_uncommitted'] as const) {
          found.push(await recordsOf(partitionPath(path, topic, partition), isolation))
        }
      }
    }
    found.push(await writer.listTransactions(''))
  } finally {
    await writer.close().catch(() => undefined)
    releaseLock(path, 0)
  }
  return JSON.stringify(found)
}

async function recordsOf(
  path: string,
  isolation: 'read_committed' | 'read_uncommitted',
): Promise<unknown[]> {
  const reader = new PartitionReader(path, { isolation })
  const records = new RecordBatchReader()
  const found: unknown[] = []
  try {
    for (let offset = reader.status().logStart; ; ) {
      const fetched = await reader.fetch(offset, new Uint8Array(4096))
      if (fetched === undefined) break
      for (let at = 0; at < fetched.end; ) {
        at = records.open(fetched.bytes, at, true)
        const hidden =
          records.isControl ||
          (records.isTransactional &&
            fetched.aborted.contains(records.producerId, records.baseOffset))
        while (!hidden && records.next()) {
          found.push([records.offset, `${records.key()}`, `${records.value()}`])
        }
      }
      offset = fetched.nextOffset
    }
    return [...found, reader.limit()]
  } finally {
    reader.close()
  }
}
