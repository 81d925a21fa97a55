import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { SourcePosition } from '../../core/position.ts'
import type { Serializer } from '../../core/serializer.ts'

/** A record as a checkpoint keeps it until its results are emitted. */
export interface StoredRecord {
  readonly value: unknown
  /** Event time, ms; -1 when there is none. */
  readonly timestamp: number
  readonly position: SourcePosition
}

/*
 * One record as operator state `in-flight-records`, version 1:
 *
 *   | 01 | timestamp: int64 | source: uint8 | partition: int32 | offset: int64 | value: its serializer's bytes |
 */
const FORMAT_VERSION = 1
const HEADER_BYTES = 22

/** Encodes a record as operator state. */
export function encodeInFlight(record: StoredRecord, serializer: Serializer<unknown>): Uint8Array {
  const { partition, offset, source = 0 } = record.position
  const writer = new ByteWriter(HEADER_BYTES + 64)
  writer.uint8(FORMAT_VERSION)
  writer.int53(record.timestamp)
  writer.uint8(source)
  writer.int32(partition)
  writer.int53(offset)
  serializer.write(record.value, writer)
  return writer.toBytes()
}

/** Decodes what `encodeInFlight` wrote. Throws UNSUPPORTED_VERSION. */
export function decodeInFlight(entry: Uint8Array, serializer: Serializer<unknown>): StoredRecord {
  const reader = new ByteReader(entry)
  const version = reader.uint8()
  if (version !== FORMAT_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `a record in flight has format ${version}, this build reads ${FORMAT_VERSION}`,
    )
  }
  const timestamp = reader.int53()
  const source = reader.uint8()
  const position = { source, partition: reader.int32(), offset: reader.int53() }
  return { timestamp, position, value: serializer.read(new ByteReader(entry, HEADER_BYTES)) }
}
