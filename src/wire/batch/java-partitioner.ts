const SEED = 0x9747b28c
const M = 0x5bd1e995

/** MurmurHash2, 32 bits, with the seed of Kafka's Java client (Appleby's public reference). */
export function murmur2(bytes: Uint8Array, start = 0, length: number = bytes.length): number {
  let h = SEED ^ length
  const blocksEnd = start + (length & ~3)
  for (let i = start; i < blocksEnd; i += 4) {
    let k = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    k = Math.imul(k, M)
    k ^= k >>> 24
    h = Math.imul(h, M) ^ Math.imul(k, M)
  }
  const rest = length & 3
  if (rest > 0) {
    if (rest === 3) h ^= bytes[blocksEnd + 2]! << 16
    if (rest >= 2) h ^= bytes[blocksEnd + 1]! << 8
    h = Math.imul(h ^ bytes[blocksEnd]!, M)
  }
  h = Math.imul(h ^ (h >>> 13), M)
  return h ^ (h >>> 15)
}

/** The partition that Kafka's Java producer chooses for a key, 0 <= partition < partitions. */
export function partitionOf(
  key: Uint8Array,
  partitions: number,
  start = 0,
  length: number = key.length,
): number {
  return (murmur2(key, start, length) & 0x7fffffff) % partitions
}
