import { WeirError } from '../../core/errors.ts'

/**
 * Zigzag LEB128 numbers as Kafka's records use them. Lengths and offset deltas are 32-bit; timestamp
 * deltas are 64-bit, of which a double keeps 53 bits exactly.
 */

/** Bytes that `writeVarint` needs for a signed 32-bit number. */
export function varintSize(value: number): number {
  const z = ((value << 1) ^ (value >> 31)) >>> 0
  if (z < 0x80) return 1
  if (z < 0x4000) return 2
  if (z < 0x200000) return 3
  return z < 0x10000000 ? 4 : 5
}

/** Writes a signed 32-bit number and returns the position after it. */
export function writeVarint(bytes: Uint8Array, at: number, value: number): number {
  let z = ((value << 1) ^ (value >> 31)) >>> 0
  let position = at
  while (z > 0x7f) {
    bytes[position++] = (z & 0x7f) | 0x80
    z >>>= 7
  }
  bytes[position++] = z
  return position
}

const SMALL = 2 ** 30

/** Bytes that `writeVarlong` needs for a safe whole number. */
export function varlongSize(value: number): number {
  if (value < SMALL && value >= -SMALL) return varintSize(value)
  let size = 1
  for (
    let magnitude = zigzagDouble(value);
    magnitude >= 128;
    magnitude = Math.floor(magnitude / 128)
  ) {
    size += 1
  }
  return size
}

/** Writes a whole number, |value| <= 2^52, and returns the position after it. */
export function writeVarlong(bytes: Uint8Array, at: number, value: number): number {
  if (value < SMALL && value >= -SMALL) return writeVarint(bytes, at, value)
  let rest = zigzagDouble(value)
  let position = at
  while (rest >= 128) {
    bytes[position++] = (rest % 128) | 0x80
    rest = Math.floor(rest / 128)
  }
  bytes[position++] = rest
  return position
}

/** Zigzag in double arithmetic: exact because twice the value stays within 53 bits. */
function zigzagDouble(value: number): number {
  if (!(Number.isInteger(value) && Math.abs(value) <= 2 ** 52)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `timestamps of one batch differ by ${value}; they must be whole and within 2^52 ms`,
    )
  }
  return value >= 0 ? value * 2 : -value * 2 - 1
}
