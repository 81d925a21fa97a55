import type { OutgoingRecord } from '../../../connectors/records/outgoing-record.ts'
import type { RecordView } from '../../../connectors/records/topic-record.ts'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../core/key-group.ts'
import { readExchangeHead, writeExchangeHead } from './exchange-format.ts'
import type { ExchangeRecord } from './exchange-receiver.ts'
import type { ExchangeMessage } from './exchange-sender.ts'
import type { Exchange } from './partition-graph.ts'

/** Writes a message as the record of an exchange topic. */
export function exchangeSerializer({ serializer }: Pick<Exchange, 'serializer'>) {
  const writer = new ByteWriter(1024)
  const head = { kind: 'record' as ExchangeMessage['kind'], sender: 0, time: 0 }
  return (message: ExchangeMessage, record: OutgoingRecord): void => {
    writer.reset()
    head.kind = message.kind
    head.sender = message.sender
    head.time = message.time
    writeExchangeHead(head, writer)
    if (message.kind === 'record') serializer.write(message.value, writer)
    record.key = message.key
    record.value = writer.bytes.subarray(0, writer.length)
    record.partition = message.receiver
    record.timestamp = message.sentMs
  }
}

/**
 * Reads a record of an exchange topic in its partition. It throws MALFORMED_DATA for a record that is not of this job, and
 * for one whose key another partition owns, and UNSUPPORTED_VERSION.
 */
export function exchangeDeserializer(
  {
    serializer,
    isKeyed,
    maxParallelism,
  }: Pick<Exchange, 'serializer' | 'isKeyed' | 'maxParallelism'>,
  partitions: number,
) {
  return (record: RecordView, partition: number): ExchangeRecord => {
    const { bytes, valueStart, valueLength } = record
    const reader = new ByteReader(bytes)
    reader.span(valueStart, valueStart + Math.max(0, valueLength))
    const head = readExchangeHead(reader)
    if (head.sender >= partitions)
      throw foreign(`its sender is job partition ${head.sender} of ${partitions}`)
    if (head.kind !== 'record') return { ...head, value: undefined }
    if (isKeyed) requireOwner(record, partition, { maxParallelism, partitions })
    return { ...head, value: serializer.read(reader) }
  }
}

/** A record of a key that another job partition owns would make two rows of one key. */
function requireOwner(
  record: RecordView,
  partition: number,
  job: { readonly maxParallelism: number; readonly partitions: number },
): void {
  const key = record.key()
  if (key === null) throw foreign('it has no key')
  const { maxParallelism, partitions } = job
  const owner = subtaskOfKeyGroup(keyGroupOf(key, maxParallelism), partitions, maxParallelism)
  if (owner !== partition) {
    throw foreign(`job partition ${owner} owns its key, and it is in partition ${partition}`)
  }
}

function foreign(what: string): WeirError {
  const message = `a record of an exchange topic is not of this job: ${what}; only the processes of the job may write to that topic`
  return new WeirError('MALFORMED_DATA', message)
}
