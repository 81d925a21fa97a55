/** Below this length a loop beats the call of `set` on a new view (measured on Node 24). */
const SHORT_COPY = 40

/** Copies bytes and returns the target position after them. */
export function copyBytes(
  source: Uint8Array,
  sourceStart: number,
  target: Uint8Array,
  targetStart: number,
  length: number,
): number {
  if (length < SHORT_COPY) {
    for (let i = 0; i < length; i++) target[targetStart + i] = source[sourceStart + i]!
  } else if (sourceStart === 0 && length === source.length) {
    target.set(source, targetStart)
  } else {
    target.set(source.subarray(sourceStart, sourceStart + length), targetStart)
  }
  return targetStart + length
}
