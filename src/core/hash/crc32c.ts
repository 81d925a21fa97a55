import { createRequire } from 'node:module'

/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of Kafka's record batches.
 * Slicing (Kounavis and Berry, "A systematic approach to building high performance software-based
 * CRC generators", 2005) with sixteen tables, sixteen bytes a step in four loads: twice as fast as
 * eight bytes loaded one by one (1.1 against 0.6 GB/s on Node 24).
 */
const POLYNOMIAL = 0x82f63b78
const SLICES = 16
/** Below this length a loop over bytes beats the making of a view. */
const SHORT = 64
/** From this length on a call of the native function, 0.2 us, pays. */
const LONG = 2048

type NativeCrc32c = (bytes: Uint8Array, seed: number) => number

let native: NativeCrc32c | undefined
let nativeTried = false

/**
 * The processor's own instructions, three times as fast; undefined where the optional module is not
 * installed. Loaded by the first long input.
 */
function nativeCrc32c(): NativeCrc32c | undefined {
  if (nativeTried) return native
  nativeTried = true
  try {
    const module = createRequire(import.meta.url)('@node-rs/crc32') as { crc32c: NativeCrc32c }
    native = module.crc32c
  } catch {
    // The loop below gives the same sums.
  }
  return native
}

function buildTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256)
  for (let n = 0; n < 256; n++) {
    let crc = n
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    tables[n] = crc
  }
  for (let n = 0; n < 256; n++) {
    let crc = tables[n]!
    for (let slice = 1; slice < SLICES; slice++) {
      crc = tables[crc & 0xff]! ^ (crc >>> 8)
      tables[slice * 256 + n] = crc
    }
  }
  return tables
}

const T = buildTables()

/**
 * CRC-32C of `bytes[start, end)`, 0 <= crc < 2^32. `seed` is the checksum of the bytes before, so
 * that a checksum can be taken in parts.
 */
export function crc32c(bytes: Uint8Array, start = 0, end: number = bytes.length, seed = 0): number {
  if (end - start >= LONG) {
    const fast = nativeTried ? native : nativeCrc32c()
    if (fast !== undefined) return fast(bytes.subarray(start, end), seed)
  }
  return crc32cInSlices(bytes, start, end, seed)
}

/** As `crc32c`, without the native module. */
export function crc32cInSlices(
  bytes: Uint8Array,
  start: number,
  end: number,
  seed: number,
): number {
  let crc = ~seed
  let i = start
  if (end - start >= SHORT) {
    i = end - ((end - start) % SLICES)
    crc = crcOfBlocks(new DataView(bytes.buffer, bytes.byteOffset + start, i - start), crc)
  }
  for (; i < end; i++) crc = T[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}

function crcOfBlocks(view: DataView, before: number): number {
  const { byteLength } = view
  let crc = before
  for (let at = 0; at < byteLength; at += SLICES) {
    const a = crc ^ view.getInt32(at, true)
    const b = view.getInt32(at + 4, true)
    const c = view.getInt32(at + 8, true)
    const d = view.getInt32(at + 12, true)
    crc =
      T[3840 + (a & 0xff)]! ^
      T[3584 + ((a >>> 8) & 0xff)]! ^
      T[3328 + ((a >>> 16) & 0xff)]! ^
      T[3072 + (a >>> 24)]! ^
      T[2816 + (b & 0xff)]! ^
      T[2560 + ((b >>> 8) & 0xff)]! ^
      T[2304 + ((b >>> 16) & 0xff)]! ^
      T[2048 + (b >>> 24)]! ^
      T[1792 + (c & 0xff)]! ^
      T[1536 + ((c >>> 8) & 0xff)]! ^
      T[1280 + ((c >>> 16) & 0xff)]! ^
      T[1024 + (c >>> 24)]! ^
      T[768 + (d & 0xff)]! ^
      T[512 + ((d >>> 8) & 0xff)]! ^
      T[256 + ((d >>> 16) & 0xff)]! ^
      T[d >>> 24]!
  }
  return crc
}
