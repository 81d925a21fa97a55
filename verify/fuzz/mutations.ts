import type { Random } from '../../src/core/random.ts'

/** Bytes that parsers treat in a special way. */
const SPECIAL = [0x00, 0x0a, 0x0d, 0x20, 0x22, 0x25, 0x2f, 0x3a, 0x7b, 0x7f, 0x80, 0xff] as const

type Mutation = (bytes: Buffer, random: Random) => Buffer

const MUTATIONS: readonly Mutation[] = [
  // Flips a bit.
  (bytes, random) => {
    const at = random.below(bytes.length)
    bytes[at] = bytes[at]! ^ (1 << random.below(8))
    return bytes
  },
  // Writes a special byte.
  (bytes, random) => {
    bytes[random.below(bytes.length)] = SPECIAL[random.below(SPECIAL.length)]!
    return bytes
  },
  // Cuts the end off.
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  // Takes a part out.
  (bytes, random) => {
    const from = random.below(bytes.length)
    const to = Math.min(bytes.length, from + 1 + random.below(16))
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
  },
  // Repeats a part.
  (bytes, random) => {
    const from = random.below(bytes.length)
    const part = bytes.subarray(from, from + 1 + random.below(64))
    return Buffer.concat([bytes.subarray(0, from), part, part, bytes.subarray(from)])
  },
  // Inserts random bytes.
  (bytes, random) => {
    const at = random.below(bytes.length)
    const noise = Buffer.from(Array.from({ length: 1 + random.below(32) }, () => random.below(256)))
    return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)])
  },
  // Sends it twice.
  (bytes) => Buffer.concat([bytes, bytes]),
  // A 32-bit number becomes huge or zero.
  (bytes, random) => {
    if (bytes.length < 4) return bytes
    const at = random.below(bytes.length - 3)
    bytes.writeUInt32LE([0, 1, 0x7fffffff, 0xffffffff][random.below(4)]!, at)
    return bytes
  },
]

/** A copy of some bytes, changed in one to three places; now and then it is left as it is. */
export function mutated(bytes: Uint8Array, random: Random): Buffer {
  let result = Buffer.from(bytes)
  for (let changes = random.below(4); changes > 0 && result.length > 0; changes--) {
    result = Buffer.from(MUTATIONS[random.below(MUTATIONS.length)]!(result, random))
  }
  return result
}
