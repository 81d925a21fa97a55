/** MurmurHash3 x86 32-bit (Appleby's public reference) of `length` bytes from `start`. */
export function murmur3(
  bytes: Uint8Array,
  start = 0,
  length: number = bytes.length,
  seed = 0,
): number {
  let h = seed | 0
  const blocksEnd = start + (length & ~3)
  for (let i = start; i < blocksEnd; i += 4) {
    let k = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    k = Math.imul(k, 0xcc9e2d51)
    k = (k << 15) | (k >>> 17)
    h ^= Math.imul(k, 0x1b873593)
    h = (h << 13) | (h >>> 19)
    h = (Math.imul(h, 5) + 0xe6546b64) | 0
  }
  const rest = length & 3
  if (rest > 0) {
    let k = 0
    if (rest === 3) k ^= bytes[blocksEnd + 2]! << 16
    if (rest >= 2) k ^= bytes[blocksEnd + 1]! << 8
    k ^= bytes[blocksEnd]!
    k = Math.imul(k, 0xcc9e2d51)
    k = (k << 15) | (k >>> 17)
    h ^= Math.imul(k, 0x1b873593)
  }
  h ^= length
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  h ^= h >>> 16
  return h >>> 0
}
