import { WeirError } from '../../core/errors.ts'
import { readInt16, writeInt16 } from './record-batch-format.ts'
import type { RecordBatchReader } from './record-batch-reader.ts'
import { RecordBatchWriter } from './record-batch-writer.ts'

/**
 * The one record of a control batch, which ends a transaction in a partition. Big-endian:
 *
 *      key:   version i16 = 0 | type i16 (0 abort, 1 commit)
 *      value: version i16 = 0 | coordinator epoch i32
 */
export type ControlType = 'abort' | 'commit'

const VERSION = 0

/** Encodes a control batch in its own buffer, with checksum. */
export function encodeControlBatch(
  type: ControlType,
  { producerId, epoch }: { readonly producerId: number; readonly epoch: number },
  timestamp: number,
): Uint8Array<ArrayBuffer> {
  const key = new Uint8Array(4)
  writeInt16(key, 0, VERSION)
  writeInt16(key, 2, type === 'commit' ? 1 : 0)
  const writer = new RecordBatchWriter(128)
  writer.append(key, new Uint8Array(6), timestamp)
  const control = { control: true, transactional: true }
  return writer.take({ ...control, producerId, producerEpoch: epoch })
}

/** Type of the current record of a control batch. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readControlType(record: RecordBatchReader): ControlType {
  if (record.keyLength < 4) throw new WeirError('MALFORMED_DATA', 'a control record without a type')
  const version = readInt16(record.bytes, record.keyStart)
  if (version !== VERSION) throw new WeirError('UNSUPPORTED_VERSION', `control record ${version}`)
  const type = readInt16(record.bytes, record.keyStart + 2)
  if (type !== 0 && type !== 1) {
    throw new WeirError('MALFORMED_DATA', `control record type ${type}; 0 and 1 are defined`)
  }
  return type === 1 ? 'commit' : 'abort'
}
