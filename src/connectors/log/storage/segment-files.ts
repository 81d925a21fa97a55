import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { ByteReader } from '../../../core/byte-reader.ts'
import { ByteWriter } from '../../../core/byte-writer.ts'
import { readFileSync } from '../../../files/durable-files.ts'
import type { FileSystem } from '../../../files/file-system.ts'

/**
 * Files of one segment: `<base>.log` contains whole record batches (format:
 * `batch/record-batch-format.ts`), `<base>.index` points into it about every 64 KiB. `<base>` is
 * the offset of the first record, 20 decimal digits. The index can be rebuilt from the log.
 *
 * Index, little-endian: an 8-byte header ("WLIX", version u32 = 1), then entries of 24 bytes:
 *
 *      0             8                     16            20         24
 *      +-------------+---------------------+-------------+----------+
 *      | base offset | max timestamp of    | position in | CRC-32   |
 *      | of a batch  | all batches before  | the log u32 | of 0..20 |
 *      +-------------+---------------------+-------------+----------+
 */
export interface IndexEntry {
  readonly offset: number
  /** Latest timestamp of the segment's batches before this one, -1 when there are none. */
  readonly maxTimestampBefore: number
  readonly position: number
}

/** Bytes of the log between two index entries, at least. */
export const INDEX_INTERVAL_BYTES = 64 * 1024
/** Bytes of the index header. */
export const INDEX_HEADER_SIZE = 8
/** Bytes of an index entry. */
export const INDEX_ENTRY_SIZE = 24
/** Version of the index format. */
const INDEX_VERSION = 1
const INDEX_MAGIC = 0x58494c57

/** File name of a segment's log. */
export function logFileName(base: number): string {
  return `${String(base).padStart(20, '0')}.log`
}

/** File name of a segment's index. */
function indexFileName(base: number): string {
  return `${String(base).padStart(20, '0')}.index`
}

/** Path of a segment's index in a partition's folder. */
export function indexPath(partitionPath: string, base: number): string {
  return join(partitionPath, indexFileName(base))
}

/** Base offsets of the segments in a partition's folder, ascending. */
export function listSegments(files: FileSystem, partitionPath: string): number[] {
  const bases: number[] = []
  for (const { name } of files.listSync(partitionPath)) {
    if (/^\d{20}\.log$/.test(name)) bases.push(Number(name.slice(0, 20)))
  }
  return bases.sort((a, b) => a - b)
}

/** The index header. */
export function encodeIndexHeader(): Uint8Array {
  const writer = new ByteWriter(INDEX_HEADER_SIZE)
  writer.uint32(INDEX_MAGIC)
  writer.uint32(INDEX_VERSION)
  return writer.bytes
}

/** One index entry. */
export function encodeIndexEntry(entry: IndexEntry): Uint8Array {
  const writer = new ByteWriter(INDEX_ENTRY_SIZE)
  writer.int53(entry.offset)
  writer.int53(entry.maxTimestampBefore)
  writer.uint32(entry.position)
  writer.uint32(crc32(writer.bytes.subarray(0, 20)))
  return writer.bytes
}

/**
 * The entries up to the first broken one; undefined when the file is missing or of another version.
 * Then the log itself is scanned.
 */
export function readIndex(
  files: FileSystem,
  partitionPath: string,
  base: number,
): IndexEntry[] | undefined {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(files, join(partitionPath, indexFileName(base)))
  } catch {
    return undefined
  }
  if (bytes.length < INDEX_HEADER_SIZE) return undefined
  const reader = new ByteReader(bytes)
  if (reader.uint32() !== INDEX_MAGIC || reader.uint32() !== INDEX_VERSION) return undefined
  const entries: IndexEntry[] = []
  while (reader.remaining >= INDEX_ENTRY_SIZE) {
    const start = reader.position
    if (crc32(bytes.subarray(start, start + 20)) !== new ByteReader(bytes, start + 20).uint32())
      break
    const offset = reader.int53()
    const maxTimestampBefore = reader.int53()
    entries.push({ offset, maxTimestampBefore, position: reader.uint32() })
    reader.uint32()
  }
  return entries
}
