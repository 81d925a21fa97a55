/** Below this length a loop beats `set` of a whole array (measured on Node 24). */
const SHORT_ARRAY = 12
/** Below this length a loop beats `set` of a new view (measured on Node 24). */
const SHORT_SLICE = 40

/** Copies bytes and returns the target position after them. */
export function copyBytes(
  source: Uint8Array,
  sourceStart: number,
  target: Uint8Array,
  targetStart: number,
  length: number,
): number {
  const isWhole = length === source.length
  if (length < (isWhole ? SHORT_ARRAY : SHORT_SLICE)) {
    for (let i = 0; i < length; i++) target[targetStart + i] = source[sourceStart + i]!
  } else {
    target.set(isWhole ? source : source.subarray(sourceStart, sourceStart + length), targetStart)
  }
  return targetStart + length
}
