import { codecOf } from '../../wire/batch/compression.ts'
import {
  attributesOf,
  BATCH_FIELDS,
  COMPRESSION_MASK,
  readInt32,
} from '../../wire/batch/record-batch-format.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import { type FinishOptions, RecordBatchWriter } from '../../wire/batch/record-batch-writer.ts'
import type { MakeSmaller, SmallerRecord } from '../records/smaller-record.ts'
import type { RecordView } from '../records/topic-record.ts'
import type { KafkaIdentity } from './client/identity.ts'

// Batches that a broker refuses because of their size, or because it does not know their producer id. It
// stored nothing of them: others take their place, with the same sequence numbers or under another producer id.

/**
 * Batches in place of one that is too large: its halves, or one with a smaller record. Undefined when
 * its only record cannot be made smaller.
 */
export function smallerBatches(
  bytes: Uint8Array,
  makeSmaller: MakeSmaller | undefined,
): readonly Uint8Array<ArrayBuffer>[] | undefined {
  const halves = splitBatch(bytes)
  if (halves !== undefined) return halves
  const smaller = makeSmaller?.(singleRecord(bytes))
  return smaller === undefined ? undefined : [withRecord(bytes, smaller)]
}

/** A batch with the same records, of another producer id and with another sequence number. */
export function renumbered(
  bytes: Uint8Array,
  { producerId, epoch }: Pick<KafkaIdentity, 'producerId' | 'epoch'>,
  baseSequence: number,
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly count: number } {
  const reader = new RecordBatchReader()
  reader.open(bytes)
  const { count } = reader
  const options = { ...headerOf(bytes, reader), producerId, producerEpoch: epoch, baseSequence }
  return { bytes: take(reader, count, options), count }
}

/** The two halves of a batch, by number of records. Undefined for a batch of one record. */
function splitBatch(
  bytes: Uint8Array,
): readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>] | undefined {
  const reader = new RecordBatchReader()
  reader.open(bytes)
  if (reader.count < 2) return undefined
  const half = reader.count >> 1
  const options = headerOf(bytes, reader)
  const { baseSequence = -1 } = options
  const first = take(reader, half, options)
  // Sequence numbers wrap from 2^31 - 1 to 0.
  const next = baseSequence < 0 ? -1 : (baseSequence + half) % 2 ** 31
  return [first, take(reader, reader.count - half, { ...options, baseSequence: next })]
}

function headerOf(bytes: Uint8Array, reader: RecordBatchReader): FinishOptions {
  return {
    codec: codecOf(attributesOf(bytes, 0) & COMPRESSION_MASK),
    producerId: reader.producerId,
    producerEpoch: reader.producerEpoch,
    baseSequence: readInt32(bytes, BATCH_FIELDS.baseSequence),
    transactional: reader.isTransactional,
  }
}

function take(
  reader: RecordBatchReader,
  count: number,
  options: FinishOptions,
): Uint8Array<ArrayBuffer> {
  const writer = new RecordBatchWriter()
  for (let i = 0; i < count && reader.next(); i++) {
    writer.append(reader.key(), reader.value(), reader.timestamp, i, reader.headers())
  }
  return writer.take(options)
}

/** The record of a batch of one. */
export function singleRecord(bytes: Uint8Array): RecordView {
  const reader = new RecordBatchReader()
  reader.open(bytes)
  reader.next()
  return reader
}

/** A batch of one smaller record in place of the one of `bytes`. */
function withRecord(
  bytes: Uint8Array,
  { key, value, timestamp, headers }: SmallerRecord,
): Uint8Array<ArrayBuffer> {
  const reader = new RecordBatchReader()
  reader.open(bytes)
  const writer = new RecordBatchWriter()
  writer.append(key, value, timestamp, 0, headers)
  return writer.take(headerOf(bytes, reader))
}
