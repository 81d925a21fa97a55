/*
 * The timestamp in front of a timer's composite key, as int64 big-endian, biased, so that its bytes order as the numbers do.
 */

/** Bytes of the timestamp. */
export const TIMESTAMP_BYTES = 8
/** Added to the high 32 bits. */
const HIGH_BIAS = 2 ** 21

/** Writes a timestamp, in ms, at the begin of `target`. */
export function writeTimestamp(timestamp: number, target: Uint8Array): void {
  const upper = Math.floor(timestamp / 4294967296)
  const high = upper + HIGH_BIAS
  const low = timestamp - upper * 4294967296
  for (let i = 0; i < 4; i++) {
    target[i] = high >>> (24 - 8 * i)
    target[i + 4] = low >>> (24 - 8 * i)
  }
}

/** The timestamp at the begin of a timer's key, one character a byte. */
export function readTimestamp(key: string): number {
  let high = 0
  let low = 0
  for (let i = 0; i < 4; i++) {
    high = high * 256 + key.charCodeAt(i)
    low = low * 256 + key.charCodeAt(i + 4)
  }
  return (high - HIGH_BIAS) * 4294967296 + low
}
