/**
 * Sum of a[x + i] * b[y + i] for i < length, in float64. For floats outside of the memories of tables, and
 * where the engine cannot run `rowProductOf`, which sums in the same order.
 */
export function innerProduct(
  a: Float32Array,
  x: number,
  b: Float32Array,
  y: number,
  length: number,
): number {
  // Four sums, so that no addition waits for the one before.
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  let i = 0
  for (; i + 3 < length; i += 4) {
    s0 += a[x + i]! * b[y + i]!
    s1 += a[x + i + 1]! * b[y + i + 1]!
    s2 += a[x + i + 2]! * b[y + i + 2]!
    s3 += a[x + i + 3]! * b[y + i + 3]!
  }
  for (; i < length; i++) s0 += a[x + i]! * b[y + i]!
  return s0 + s1 + (s2 + s3)
}
