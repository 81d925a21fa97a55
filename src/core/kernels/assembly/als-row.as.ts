import { keepPenalty, setPenalties } from './als-penalty.as'
import { addTargets, pack, packConfident } from './als-panel.as'
import { accumulateGram, factorCholesky, solveCholesky } from './cholesky.as'

/**
 * One row of alternating least squares: minimises
 *
 *   sum over the row's n ratings of (y_k - z_k . x)^2  +  x^T diag(penalty) x
 *
 * over x, exactly here (Cholesky), or by a few steps of conjugate gradient from the present x (`als-gradient.as.ts`).
 *
 * Design rows z_k are gathered from the other side's matrix (`stride` bytes a row, `d` floats used)
 * into a panel, zero-padded to `width`, a multiple of four, so that no later loop has a tail. With
 * biases the last of the d elements is the constant 1 and the element after it the other side's
 * bias: z = [q, 1], y = rating - mean - bias.
 *
 * With a Gram matrix G = sum over ALL rows of the other side of q q^T (full, `width` floats a row; 0:
 * none) the feedback is implicit (Hu, Koren, Volinsky, "Collaborative filtering for implicit feedback
 * datasets", ICDM 2008): a rating r says preference p = 1 (r > 0) or 0 with confidence
 * c = 1 + alpha |r|, a pair without rating p = 0 with c = 1, and the sum runs over every pair:
 *
 *   sum over all of c (p - q.x)^2  =  x^T G x  +  sum over the rated of (y - z.x)^2  +  constant,
 *   z = sqrt(c - 1) q,   y = c p / sqrt(c - 1)
 *
 * Scratch of the exact solve, in this order, all float32: panel GRAM_ROWS x width; targets GRAM_ROWS;
 * vectors: 4 x width; penalties: width; Gram matrix: width x width.
 */

/** Ratings that the exact solve gathers at a time; `kernels.ts` has the same number. */
export const GRAM_ROWS: u32 = 512

/** Clears a vector. */
@inline
export function zero(at: usize, floats: u32): void {
  memory.fill(at, 0, (floats as usize) << 2)
}

/** Puts the solution into the row: [x] or, with biases, [x without its last, 1, its last]. */
export function writeRow(row: usize, x: usize, d: u32, biased: bool): void {
  memory.copy(row, x, (d as usize) << 2)
  if (!biased) return
  store<f32>(row + (d << 2), load<f32>(x + ((d - 1) << 2)))
  store<f32>(row + ((d - 1) << 2), 1)
}

/**
 * Exact solve. `roots` are those of the weights of explicit ratings; 0: all have weight 1. Answers the row's part of the
 * objective at the solution, or NaN if it is singular.
 */
export function alsSolveCholesky(
  row: usize, indexes: usize, ratings: usize, n: u32, other: usize, stride: u32,
  d: u32, width: u32, biased: bool, mean: f32, factorPenalty: f32, biasPenalty: f32, shared: usize,
  alpha: f32, scratch: usize, roots: usize,
): f64 {
  const panel = scratch
  const targets = panel + ((GRAM_ROWS * width) << 2)
  const b = targets + (GRAM_ROWS << 2)
  const saved = b + (width << 2)
  const penalties = b + (width << 4)
  const gram = penalties + (width << 2)
  setPenalties(penalties, d, width, biased, factorPenalty, biasPenalty)
  zero(b, width)
  if (shared) memory.copy(gram, shared, ((width * width) as usize) << 2)
  else zero(gram, width * width)
  let squares: f64 = 0
  for (let from: u32 = 0; from < n; from += GRAM_ROWS) {
    const count = min(GRAM_ROWS, n - from)
    if (shared) {
      squares += packConfident(panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, alpha)
    } else {
      pack(
        panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, biased, mean,
        roots ? roots + (from << 2) : 0,
      )
    }
    squares += addTargets(panel, targets, count, width, b)
    // Slices of the panel that stay in the first-level cache while all tiles pass over them.
    for (let slice: u32 = 0; slice < count; slice += 64) {
      accumulateGram(panel + ((slice * width) << 2), min(64, count - slice), width, gram)
    }
  }
  for (let i: u32 = 0; i < d; i++) {
    const diagonal = gram + ((i * width + i) << 2)
    store<f32>(diagonal, load<f32>(diagonal) + load<f32>(penalties + (i << 2)))
  }
  memory.copy(saved, b, (width as usize) << 2)
  if (factorCholesky(gram, d, width)) return NaN
  solveCholesky(gram, d, width, b)
  let explained: f64 = 0
  for (let i: u32 = 0; i < d; i++) explained += (load<f32>(saved + (i << 2)) as f64) * (load<f32>(b + (i << 2)) as f64)
  keepPenalty(b, penalties, width)
  writeRow(row, b, d, biased)
  return squares - explained
}
