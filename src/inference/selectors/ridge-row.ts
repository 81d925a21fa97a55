/** Numbers of a lower triangle of so many rows. */
export function factorLength(size: number): number {
  return (size * (size + 1)) / 2
}

/** The product of two vectors, float64. */
export function dotOf(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0)
}

/** z of L z = x, where `factor` begins with the lower triangle L by rows. */
export function solveLower(factor: Float32Array, x: Float32Array): Float64Array {
  const z = Float64Array.from(x)
  for (let i = 0; i < z.length; i++) {
    const row = factorLength(i)
    let rest = z[i]!
    for (let j = 0; j < i; j++) rest -= factor[row + j]! * z[j]!
    z[i] = rest / factor[row + i]!
  }
  return z
}

/** w of L L' w = x: the weights of a ridge regression, x being the sum of features times rewards. */
export function solveRidge(factor: Float32Array, x: Float32Array): Float64Array {
  const w = solveLower(factor, x)
  for (let i = w.length - 1; i >= 0; i--) {
    let rest = w[i]!
    for (let j = i + 1; j < w.length; j++) rest -= factor[factorLength(j) + i]! * w[j]!
    w[i] = rest / factor[factorLength(i) + i]!
  }
  return w
}

/**
 * Changes the lower triangle L by rows, with which `factor` begins, to that of L L' + x x', in O(d^2) (Gill, Golub,
 * Murray and Saunders, "Methods for modifying matrix factorizations", Mathematics of Computation 28, 1974, method C1).
 */
export function addToFactor(factor: Float32Array, x: Float32Array): void {
  const rest = Float64Array.from(x)
  for (let k = 0; k < rest.length; k++) {
    const diagonal = factorLength(k) + k
    const before = factor[diagonal]!
    const after = Math.hypot(before, rest[k]!)
    const cosine = after / before
    const sine = rest[k]! / before
    factor[diagonal] = after
    for (let i = k + 1; i < rest.length; i++) {
      const at = factorLength(i) + k
      const value = (factor[at]! + sine * rest[i]!) / cosine
      rest[i] = cosine * rest[i]! - sine * value
      factor[at] = value
    }
  }
}
