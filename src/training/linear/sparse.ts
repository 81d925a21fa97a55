/** Inner product of the weights with the non-zeros `from` to `to`. */
export function sparseDot(
  weights: Float64Array,
  indexes: Uint32Array,
  values: Float32Array,
  from: number,
  to: number,
): number {
  // Two sums: an addition does not wait for the one before.
  let [even, odd] = [0, 0]
  let k = from
  for (; k + 1 < to; k += 2) {
    even += weights[indexes[k]!]! * values[k]!
    odd += weights[indexes[k + 1]!]! * values[k + 1]!
  }
  if (k < to) even += weights[indexes[k]!]! * values[k]!
  return even + odd
}

/** The weight of a sum of steps with the penalty l1 |w|: the sum, nearer to 0 by l1. */
export function shrunk(sum: number, l1: number): number {
  if (sum > l1) return sum - l1
  return sum < -l1 ? sum + l1 : 0
}

/** As `sparseDot`, with the weights of sums (`shrunk`). */
export function shrunkDot(
  sums: Float64Array,
  l1: number,
  indexes: Uint32Array,
  values: Float32Array,
  from: number,
  to: number,
): number {
  let product = 0
  for (let k = from; k < to; k++) product += shrunk(sums[indexes[k]!]!, l1) * values[k]!
  return product
}

/** weights += step times the non-zeros `from` to `to`. */
export function addSparse(
  weights: Float64Array,
  step: number,
  indexes: Uint32Array,
  values: Float32Array,
  from: number,
  to: number,
): void {
  for (let k = from; k < to; k++) {
    const index = indexes[k] as number
    weights[index] = (weights[index] as number) + step * (values[k] as number)
  }
}

/** As `sparseDot`, where all values are 1: a third of the time of a step is reading and converting them. */
export function dotOfOnes(
  weights: Float64Array,
  indexes: Uint32Array,
  from: number,
  to: number,
): number {
  let [even, odd] = [0, 0]
  let k = from
  for (; k + 1 < to; k += 2) {
    even += weights[indexes[k]!]!
    odd += weights[indexes[k + 1]!]!
  }
  if (k < to) even += weights[indexes[k]!]!
  return even + odd
}

/** As `addSparse`, where all values are 1. */
export function addOnes(
  weights: Float64Array,
  step: number,
  indexes: Uint32Array,
  from: number,
  to: number,
): void {
  for (let k = from; k < to; k++) weights[indexes[k]!]! += step
}
