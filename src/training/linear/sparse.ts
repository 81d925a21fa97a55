/** Inner product of the weights with the non-zeros `from` to `to`. */
export function sparseDot(
  weights: Float64Array,
  indexes: Uint32Array,
  values: Float32Array,
  from: number,
  to: number,
): number {
  let sum = 0
  for (let k = from; k < to; k++) {
    sum += (weights[indexes[k] as number] as number) * (values[k] as number)
  }
  return sum
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
