import { addTargets, pack } from './als-panel.as'
import { GRAM_ROWS, writeRow } from './als-row.as'
import { accumulateGram, factorCholesky, solveBackward, solveForward } from './cholesky.as'
import { gemv } from './vector.as'

/**
 * One row of Bayesian matrix factorisation: draws x from
 *
 *   N(P^-1 b, P^-1 / a)     P = prior + sum of w_k z_k z_k^T,   b = shift + sum of w_k y_k z_k
 *
 * where a is the noise precision, w_k a that of a rating, z_k and y_k are design rows and targets with biases as
 * in `als-row.as.ts`, and `noise` holds normal numbers e / sqrt(a). `roots` has the roots of w_k. With P = U^T U
 * the draw is
 *
 *   x = U^-1 (U^-T b + e / sqrt(a))
 *
 * so that it costs no more than the solve of ALS. The scratch is that of `als-row.as.ts`.
 */

@inline
function inner(a: usize, b: usize, length: u32): f64 {
  let sum: f64 = 0
  for (let i: u32 = 0; i < length; i++) sum += (load<f32>(a + (i << 2)) as f64) * (load<f32>(b + (i << 2)) as f64)
  return sum
}

/**
 * Writes the draw into the row and the mean P^-1 b to `center`. Answers the sum of w (y - z.x)^2 at the
 * draw, or NaN if P is not positive definite. The sum needs no pass over the ratings:
 * x^T P x = |U x|^2, and U x is known before the last substitution.
 */
export function drawRow(
  row: usize, indexes: usize, ratings: usize, roots: usize, n: u32, other: usize, stride: u32,
  d: u32, width: u32, mean: f32, prior: usize, shift: usize, noise: usize, center: usize, scratch: usize,
): f64 {
  const panel = scratch
  const targets = panel + ((GRAM_ROWS * width) << 2)
  const x = targets + (GRAM_ROWS << 2)
  const b = x + (width << 2)
  const product = b + (width << 2)
  const gram = x + ((5 * width) << 2)
  const bytes = (width as usize) << 2
  memory.copy(gram, prior, bytes * width)
  memory.copy(b, shift, bytes)
  let squares: f64 = 0
  for (let from: u32 = 0; from < n; from += GRAM_ROWS) {
    const count = min(GRAM_ROWS, n - from)
    pack(
      panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, true, mean,
      roots + (from << 2),
    )
    squares += addTargets(panel, targets, count, width, b)
    for (let slice: u32 = 0; slice < count; slice += 64) {
      accumulateGram(panel + ((slice * width) << 2), min(64, count - slice), width, gram)
    }
  }
  if (factorCholesky(gram, d, width)) return NaN
  memory.copy(x, b, bytes)
  solveForward(gram, d, width, x)
  memory.copy(center, x, bytes)
  solveBackward(gram, d, width, center)
  for (let i: usize = 0; i < bytes; i += 16) v128.store(x + i, f32x4.add(v128.load(x + i), v128.load(noise + i)))
  const quadratic = inner(x, x, d)
  solveBackward(gram, d, width, x)
  gemv(prior, width << 2, width, x, product, width)
  const fromPrior = 2 * inner(x, shift, d) - inner(x, product, d)
  writeRow(row, x, d, true)
  return squares - 2 * inner(x, b, d) + quadratic + fromPrior
}
