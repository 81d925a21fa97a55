import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { readFileSync, replaceFileSync } from '../../../files/durable-files.ts'
import { type FileSystem, systemCodeOf } from '../../../files/file-system.ts'
import { newerFile } from './damage.ts'

/**
 * File `aborted`: the aborted transactions of one partition, oldest first. Little-endian: an 8-byte
 * header ("WLAB", version u32 = 1), then entries of 32 bytes:
 *
 *      0             8              16             24         28         32
 *      +-------------+--------------+--------------+----------+----------+
 *      | producer id | first offset | last offset  | zero u32 | CRC-32   |
 *      |             |              | (the marker) |          | of 0..28 |
 *      +-------------+--------------+--------------+----------+----------+
 *
 * A producer has at most one open transaction per partition, so its transactional batches between
 * the two offsets are exactly the aborted ones. Overlapping ranges (of a marker that was written again
 * after a crash) are harmless.
 */
export interface AbortedRange {
  readonly producerId: number
  readonly firstOffset: number
  readonly lastOffset: number
}

/** Bytes of the file's header. */
export const ABORTED_HEADER_SIZE = 8
/** Bytes of an entry. */
export const ABORTED_ENTRY_SIZE = 32
/** Version of the file's format. */
const ABORTED_VERSION = 1
const MAGIC = 0x42414c57

/** Path of the file in a partition's folder. */
export function abortedPath(partitionPath: string): string {
  return join(partitionPath, 'aborted')
}

/** The file's header. */
export function encodeAbortedHeader(): Uint8Array {
  const writer = new ByteWriter(ABORTED_HEADER_SIZE)
  writer.uint32(MAGIC)
  writer.uint32(ABORTED_VERSION)
  return writer.bytes
}

/** One entry. */
export function encodeAborted(range: AbortedRange): Uint8Array {
  const writer = new ByteWriter(ABORTED_ENTRY_SIZE)
  writer.int53(range.producerId)
  writer.int53(range.firstOffset)
  writer.int53(range.lastOffset)
  writer.uint32(0)
  writer.uint32(crc32(writer.bytes.subarray(0, 28)))
  return writer.bytes
}

/** Replaces the file, durably. */
export function rewriteAborted(
  files: FileSystem,
  partitionPath: string,
  ranges: readonly AbortedRange[],
): void {
  const bytes = Buffer.concat([encodeAbortedHeader(), ...ranges.map(encodeAborted)])
  replaceFileSync(files, abortedPath(partitionPath), bytes)
}

/** The entries up to the first broken one; none when the file is missing. Throws UNSUPPORTED_VERSION. */
export function readAborted(files: FileSystem, partitionPath: string): AbortedRange[] {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(files, abortedPath(partitionPath))
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  }
  return decodeAborted(abortedPath(partitionPath), bytes)
}

/** Decodes the whole file up to the first broken entry. */
function decodeAborted(file: string, bytes: Uint8Array): AbortedRange[] {
  if (bytes.length < ABORTED_HEADER_SIZE) return []
  const reader = new ByteReader(bytes)
  if (reader.uint32() !== MAGIC) return []
  const version = reader.uint32()
  if (version > ABORTED_VERSION) throw newerFile(file, version, ABORTED_VERSION)
  if (version !== ABORTED_VERSION) return []
  const ranges: AbortedRange[] = []
  while (reader.remaining >= ABORTED_ENTRY_SIZE) {
    const at = reader.position
    if (crc32(bytes.subarray(at, at + 28)) !== new ByteReader(bytes, at + 28).uint32()) break
    const producerId = reader.int53()
    const firstOffset = reader.int53()
    ranges.push({ producerId, firstOffset, lastOffset: reader.int53() })
    reader.raw(8)
  }
  return ranges
}

/** Aborted ranges by producer, to look up whether a transactional batch was aborted. */
export class AbortedRanges {
  private readonly byProducer = new Map<number, AbortedRange[]>()

  constructor(ranges: readonly AbortedRange[]) {
    for (const range of ranges) {
      const list = this.byProducer.get(range.producerId)
      if (list === undefined) this.byProducer.set(range.producerId, [range])
      else list.push(range)
    }
  }

  /** Whether the producer's transactional batch at `offset` belongs to an aborted transaction. */
  contains(producerId: number, offset: number): boolean {
    const ranges = this.byProducer.get(producerId)
    if (ranges === undefined) return false
    return ranges.some((range) => range.firstOffset <= offset && offset <= range.lastOffset)
  }
}
