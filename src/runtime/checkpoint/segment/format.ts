import { crc32 } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { WeirError } from '../../../core/errors.ts'
import type { StateName } from '../../../state/port/change.ts'
import type { SegmentReference } from '../protocol/checkpoint-types.ts'

/*
 * A segment: an immutable file of changed keyed state of one operator subtask. Little-endian.
 *
 *   +--------+-------+-- ... --+-------+--------+---------+
 *   | header | block |         | block | footer | trailer |    blocks: oldest first
 *   +--------+-------+-- ... --+-------+--------+---------+
 *
 *   header    0  magic "WSEG"  u32 |  4  version u16 |  6  zero u16
 *   block     slices, ascending in key group; no header of its own
 *   slice     complete runs, about 16 KiB, with one CRC-32: the unit that a restore reads and checks
 *   run       0  key group u16 |  2  bytes of entries u32 |  6  entries, NEWEST FIRST
 *   entry     varuint state (index of its name) | varuint key bytes |
 *             varuint value bytes + 1, or 0 for a deleted key | key | value
 *   footer    varuint names, { text name } |
 *             varuint blocks, { varuint entries, varuint slices,
 *                               { first group u16, last group u16, bytes u32, crc u32 } }
 *   trailer   0  footer bytes u32 |  4  footer crc u32 |  8  magic u32 | 12  file crc u32
 *
 * The file CRC covers everything before it and is also in the reference, so the trailer alone shows a
 * reader that it has the right file. The position of a block follows from the lengths of the slices
 * before it.
 */

/** Version of the format that is written. */
const SEGMENT_VERSION = 1
/** Bytes before the first block. */
export const SEGMENT_HEADER_BYTES = 8
/** Bytes after the footer. */
export const SEGMENT_TRAILER_BYTES = 16
/** Bytes of a run before its entries. */
export const RUN_HEADER_BYTES = 6
/** "WSEG" as a little-endian number. */
const MAGIC = 0x47455357

/** Key groups, length and checksum of one slice. */
export interface SliceIndex {
  readonly firstGroup: number
  readonly lastGroup: number
  readonly bytes: number
  readonly crc: number
}

/** Index of one block, in the footer. */
export interface BlockIndex {
  readonly entries: number
  readonly slices: readonly SliceIndex[]
}

/** Content of the footer. */
export interface SegmentFooter {
  readonly names: readonly StateName[]
  readonly blocks: readonly BlockIndex[]
}

/** The bytes that every segment starts with. */
export function encodeSegmentHeader(): Uint8Array {
  const writer = new ByteWriter(SEGMENT_HEADER_BYTES)
  writer.uint32(MAGIC)
  writer.uint16(SEGMENT_VERSION)
  writer.uint16(0)
  return writer.toBytes()
}

/** Checks the bytes that a segment starts with. Throws MALFORMED_DATA or UNSUPPORTED_VERSION. */
export function checkSegmentHeader(bytes: Uint8Array): void {
  const reader = new ByteReader(bytes)
  if (reader.uint32() !== MAGIC) throw malformed('the file is not a segment')
  const version = reader.uint16()
  if (version !== SEGMENT_VERSION) {
    throw new WeirError(
      'UNSUPPORTED_VERSION',
      `segment version ${version} is not known; this build reads ${SEGMENT_VERSION}, use the build that wrote it`,
    )
  }
}

/** Encodes footer and trailer; `crcBefore` is the CRC-32 of everything before them. */
export function encodeSegmentEnd(
  footer: SegmentFooter,
  crcBefore: number,
): { readonly bytes: Uint8Array; readonly checksum: number } {
  const writer = new ByteWriter()
  writer.varuint(footer.names.length)
  for (const name of footer.names) writer.text(name)
  writer.varuint(footer.blocks.length)
  for (const block of footer.blocks) writeBlockIndex(writer, block)
  const footerBytes = writer.length
  const footerCrc = crc32(writer.bytes.subarray(0, footerBytes))
  writer.uint32(footerBytes)
  writer.uint32(footerCrc)
  writer.uint32(MAGIC)
  const checksum = crc32(writer.bytes.subarray(0, writer.length), crcBefore)
  writer.uint32(checksum)
  return { bytes: writer.toBytes(), checksum }
}

function writeBlockIndex(writer: ByteWriter, block: BlockIndex): void {
  writer.varuint(block.entries)
  writer.varuint(block.slices.length)
  for (const slice of block.slices) {
    writer.uint16(slice.firstGroup)
    writer.uint16(slice.lastGroup)
    writer.uint32(slice.bytes)
    writer.uint32(slice.crc)
  }
}

/** Checks a trailer against the reference and returns the footer's length and CRC. */
export function decodeSegmentTrailer(
  bytes: Uint8Array,
  reference: SegmentReference,
): { readonly footerBytes: number; readonly footerCrc: number } {
  if (bytes.length !== SEGMENT_TRAILER_BYTES) throw malformed(`${reference.path} is cut off`)
  const reader = new ByteReader(bytes)
  const footerBytes = reader.uint32()
  const footerCrc = reader.uint32()
  if (reader.uint32() !== MAGIC) throw malformed(`${reference.path} does not end as a segment`)
  if (reader.uint32() !== reference.checksum) {
    throw mismatch(`${reference.path} is not the file that the manifest refers to`)
  }
  if (footerBytes + SEGMENT_HEADER_BYTES + SEGMENT_TRAILER_BYTES > reference.bytes) {
    throw malformed(`the footer of ${reference.path} is longer than the file`)
  }
  return { footerBytes, footerCrc }
}

/** Decodes a footer. Throws CHECKSUM_MISMATCH or MALFORMED_DATA. */
export function decodeSegmentFooter(bytes: Uint8Array, footerCrc: number): SegmentFooter {
  if (crc32(bytes) !== footerCrc) throw mismatch('the footer of a segment is damaged')
  const reader = new ByteReader(bytes)
  const names = Array.from({ length: checkedCount(reader, 1) }, () => reader.text())
  const blocks = Array.from({ length: checkedCount(reader, 2) }, () => readBlockIndex(reader))
  return { names, blocks }
}

function readBlockIndex(reader: ByteReader): BlockIndex {
  const entries = reader.varuint()
  const slices = Array.from({ length: checkedCount(reader, 12) }, () => ({
    firstGroup: reader.uint16(),
    lastGroup: reader.uint16(),
    bytes: reader.uint32(),
    crc: reader.uint32(),
  }))
  return { entries, slices }
}

/**
 * Reads a count that the remaining bytes can hold; a damaged one is detected before memory is
 * allocated.
 */
function checkedCount(reader: ByteReader, bytesEach: number): number {
  const count = reader.varuint()
  if (count * bytesEach > reader.remaining) throw malformed(`a count of ${count} exceeds the bytes`)
  return count
}

function malformed(sentence: string): WeirError {
  return new WeirError('MALFORMED_DATA', sentence)
}

function mismatch(sentence: string): WeirError {
  return new WeirError('CHECKSUM_MISMATCH', sentence)
}
