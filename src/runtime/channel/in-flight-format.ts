import { crc32 } from 'node:zlib'
import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import type { SourcePosition } from '../../core/position.ts'

/*
 * Records of one edge that a barrier has overtaken, as one entry of operator state. Little-endian; text and bytes
 * are preceded by their length as varuint.
 *
 *   version u8 (1) | edge text | serializer id text | records u32 | records * record | crc u32
 *
 *   record   has key u8 | timestamp f64 | source u8 | partition i32 | offset f64 | key bytes, if any | value bytes
 *
 * The crc is that of all bytes before it. Values are the serializer's bytes.
 */

const VERSION = 1
const CRC_BYTES = 4

/** A record that was on its way to an operator. */
export interface InFlightRecord {
  /** Undefined when the edge has no key. */
  readonly key: Uint8Array | undefined
  readonly value: Uint8Array
  readonly timestamp: number
  readonly position: Required<SourcePosition>
}

/** The overtaken records of one edge. */
export interface InFlightRecords {
  /** See `PlannedEdge.name`. */
  readonly edge: string
  readonly serializer: string
  readonly records: readonly InFlightRecord[]
}

/** Encodes overtaken records; the same records give the same bytes. */
export function encodeInFlight({ edge, serializer, records }: InFlightRecords): Uint8Array {
  const out = new ByteWriter()
  out.uint8(VERSION)
  out.text(edge)
  out.text(serializer)
  out.uint32(records.length)
  for (const record of records) writeRecord(out, record)
  out.uint32(crc32(out.toBytes()))
  return out.toBytes()
}

/** Decodes overtaken records. Throws MALFORMED_DATA, CHECKSUM_MISMATCH, UNSUPPORTED_VERSION. */
export function decodeInFlight(bytes: Uint8Array): InFlightRecords {
  const from = new ByteReader(bodyOf(bytes))
  const version = from.uint8()
  if (version !== VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `records in flight of version ${version} are not known; this build reads ${VERSION}, use the build that wrote them`,
    )
  }
  const edge = from.text()
  const serializer = from.text()
  const count = from.uint32()
  // A damaged count is detected before memory is allocated: every record has more than one byte.
  if (count > from.remaining) throw malformed(`a count of ${count} exceeds the bytes`)
  const records = Array.from({ length: count }, () => readRecord(from))
  if (from.remaining > 0) throw malformed(`${from.remaining} bytes follow the last record`)
  return { edge, serializer, records }
}

function bodyOf(bytes: Uint8Array): Uint8Array {
  if (bytes.length < CRC_BYTES) throw malformed('records in flight are cut off')
  const end = bytes.length - CRC_BYTES
  const body = bytes.subarray(0, end)
  if (crc32(body) === new ByteReader(bytes, end).uint32()) return body
  throw new WeirError('CHECKSUM_MISMATCH', 'records in flight differ from their checksum')
}

function writeRecord(out: ByteWriter, { key, value, timestamp, position }: InFlightRecord): void {
  out.uint8(key === undefined ? 0 : 1)
  out.float64(timestamp)
  out.uint8(position.source)
  out.int32(position.partition)
  out.float64(position.offset)
  if (key !== undefined) out.sized(key)
  out.sized(value)
}

function readRecord(from: ByteReader): InFlightRecord {
  const hasKey = from.uint8() === 1
  const timestamp = from.float64()
  const position = { source: from.uint8(), partition: from.int32(), offset: from.float64() }
  const key = hasKey ? from.sized() : undefined
  return { key, value: from.sized(), timestamp, position }
}

function malformed(sentence: string): WeirError {
  return new WeirError('MALFORMED_DATA', sentence)
}
