import { WeirError } from '../../core/errors.ts'
import { snappyModule } from './compression-modules.ts'
import { readInt32, writeInt32 } from './record-batch-format.ts'

/**
 * Snappy as Kafka's Java client writes it (the stream format of snappy-java); all numbers are
 * big-endian:
 *
 *      0                 8            12                16
 *      +-----------------+------------+-----------------+-----------+---------+---
 *      | 82 "SNAPPY" 00  | version    | compatible with | length    | snappy  | ...
 *      | 8 bytes         | i32 = 1    | i32 = 1         | i32       | block   |
 *      +-----------------+------------+-----------------+-----------+---------+---
 *
 * Several streams may follow one another. Clients of other languages write one snappy block without these headers,
 * which is read too.
 */
const MAGIC = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0)
const HEADER_SIZE = 16
const STREAM_VERSION = 1
/** Uncompressed bytes per block, as snappy-java's default. */
const BLOCK_SIZE = 32 * 1024

/** Compresses bytes into a stream of blocks. */
export function packSnappy(bytes: Uint8Array): Uint8Array {
  const { compressSync } = snappyModule()
  const blocks: Uint8Array[] = []
  let size = HEADER_SIZE
  for (let at = 0; at < bytes.length; at += BLOCK_SIZE) {
    const block = compressSync(bytes.subarray(at, Math.min(at + BLOCK_SIZE, bytes.length)))
    blocks.push(block)
    size += 4 + block.length
  }
  const packed = new Uint8Array(size)
  packed.set(MAGIC)
  writeInt32(packed, 8, STREAM_VERSION)
  writeInt32(packed, 12, STREAM_VERSION)
  let at = HEADER_SIZE
  for (const block of blocks) {
    writeInt32(packed, at, block.length)
    packed.set(block, at + 4)
    at += 4 + block.length
  }
  return packed
}

/** Bytes that a byte of a block may become: three bytes repeat at most 64. The binding would fill as many with zeros. */
const MOST_RATIO = 22

/** Unpacks both forms, at most `limit` bytes. Throws MALFORMED_DATA, or an error of the binding. */
export function unpackSnappy(packed: Uint8Array, limit: number): Uint8Array {
  if (!isStream(packed, 0)) return unpackBlock(packed, 0, packed.length, limit)
  const blocks: Uint8Array[] = []
  let size = 0
  let at = HEADER_SIZE
  while (at < packed.length) {
    if (isStream(packed, at)) {
      at += HEADER_SIZE
      continue
    }
    const length = at + 4 <= packed.length ? readInt32(packed, at) : -1
    const start = at + 4
    if (length < 0 || start + length > packed.length) refuse('a block is incomplete')
    const block = unpackBlock(packed, start, start + length, limit - size)
    blocks.push(block)
    size += block.length
    at = start + length
  }
  return blocks.length === 1 ? blocks[0]! : joined(blocks, size)
}

/** Whether a stream begins here. No block does so: the first bit of its length is 0. */
function isStream(packed: Uint8Array, at: number): boolean {
  return packed.length - at >= HEADER_SIZE && MAGIC.every((byte, i) => packed[at + i] === byte)
}

function unpackBlock(packed: Uint8Array, start: number, end: number, limit: number): Uint8Array {
  // The block begins with its length, so that a small block cannot fill the memory.
  const length = unpackedLength(packed, start, end)
  if (length > limit) refuse('it unpacks to more than is allowed')
  if (length > (end - start) * MOST_RATIO) refuse('a block has fewer bytes than its length needs')
  return snappyModule().uncompressSync(packed.subarray(start, end)) as Buffer
}

/** The length at the beginning of a block, an unsigned LEB128 number. */
function unpackedLength(packed: Uint8Array, start: number, end: number): number {
  let length = 0
  for (let i = 0; i < 5 && start + i < end; i++) {
    const byte = packed[start + i]!
    length += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return length
  }
  return refuse('a block has no length')
}

function joined(blocks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const block of blocks) {
    bytes.set(block, at)
    at += block.length
  }
  return bytes
}

function refuse(problem: string): never {
  throw new WeirError('MALFORMED_DATA', `the snappy data is broken: ${problem}`)
}
