/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of Kafka's record batches.
 * Slicing by eight (Kounavis and Berry, "A systematic approach to building high performance
 * software-based CRC generators", 2005): eight tables, eight bytes a step.
 */
const POLYNOMIAL = 0x82f63b78

function buildTables(): Int32Array {
  const tables = new Int32Array(8 * 256)
  for (let n = 0; n < 256; n++) {
    let crc = n
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    tables[n] = crc
  }
  for (let n = 0; n < 256; n++) {
    let crc = tables[n]!
    for (let slice = 1; slice < 8; slice++) {
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
  let crc = ~seed
  let i = start
  const blocksEnd = end - 7
  for (; i < blocksEnd; i += 8) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    crc =
      T[1792 + (crc & 0xff)]! ^
      T[1536 + ((crc >>> 8) & 0xff)]! ^
      T[1280 + ((crc >>> 16) & 0xff)]! ^
      T[1024 + (crc >>> 24)]! ^
      T[768 + bytes[i + 4]!]! ^
      T[512 + bytes[i + 5]!]! ^
      T[256 + bytes[i + 6]!]! ^
      T[bytes[i + 7]!]!
  }
  for (; i < end; i++) crc = T[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}
