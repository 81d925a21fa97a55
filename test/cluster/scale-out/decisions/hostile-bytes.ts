import { isWeirError } from '../../../../src/core/errors.ts'
import { crc32c } from '../../../../src/core/hash/crc32c.ts'
import { type Random, seededRandom } from '../../../../src/core/random.ts'

/** A copy of a frame with some bytes of its body changed, cut or added, and length and checksum made right again. */
function damagedBody(frame: Uint8Array, random: Random): Uint8Array {
  const body = [...frame.subarray(11, frame.length - 4)]
  const changes = 1 + random.below(3)
  for (let n = 0; n < changes; n++) {
    const at = random.below(body.length + 1)
    const kind = random.below(4)
    if (kind === 0) body.splice(at, 1 + random.below(4))
    else if (kind === 1) body.splice(at, 0, random.below(256))
    else body[Math.min(at, body.length - 1)] = kind === 2 ? random.below(256) : 255
  }
  const bytes = Buffer.alloc(15 + body.length)
  bytes.set(frame.subarray(0, 7))
  bytes.writeUInt32LE(body.length, 7)
  bytes.set(body, 11)
  bytes.writeUInt32LE(crc32c(bytes, 0, 11 + body.length), 11 + body.length)
  return new Uint8Array(bytes)
}

/** What became of damaged frames: how many were refused, and the values of those that were read. */
export function readDamaged<T>(
  frame: Uint8Array,
  read: (bytes: Uint8Array) => T,
  { seed, cases }: { readonly seed: number; readonly cases: number },
): { readonly refused: number; readonly values: readonly T[] } {
  const random = seededRandom(seed)
  const values: T[] = []
  let refused = 0
  for (let n = 0; n < cases; n++) {
    try {
      values.push(read(damagedBody(frame, random)))
    } catch (error) {
      if (!isWeirError(error, 'MALFORMED_DATA')) throw error
      refused++
    }
  }
  return { refused, values }
}
