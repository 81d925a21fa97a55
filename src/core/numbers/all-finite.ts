/** Whether every element is finite. */
export function allFinite(values: Float32Array): boolean {
  // x * 0 is 0, or NaN where x is not finite. Four sums, so that no addition waits for the one before.
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = 0
  for (; i + 3 < values.length; i += 4) {
    a += values[i]! * 0
    b += values[i + 1]! * 0
    c += values[i + 2]! * 0
    d += values[i + 3]! * 0
  }
  for (; i < values.length; i++) a += values[i]! * 0
  return a + b + c + d === 0
}
