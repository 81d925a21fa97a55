import { addNormal, addResidual, addTargets, pack, packConfident } from './als-panel.as'
import { accumulateGram, factorCholesky, solveCholesky } from './cholesky.as'
import { gemv, lanesSum } from './vector.as'

/**
 * One row of alternating least squares: minimises
 *
 *   sum over the row's n ratings of (y_k - z_k . x)^2  +  x^T diag(penalty) x
 *
 * over x, exactly (Cholesky) or by a few steps of conjugate gradient from the present x.
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
 * Scratch, in this order, all float32: panel PANEL_ROWS x width; targets PANEL_ROWS;
 * x, b or r, p, Ap: 4 x width; penalties: width; Gram matrix: width x width (Cholesky only).
 */

/**
 * Ratings that conjugate gradient gathers once and passes over again and again; a longer row is
 * gathered again for every pass. Measured on 2 M ratings: items a third faster than with 512.
 */
export const PANEL_ROWS: u32 = 8192

/** Ratings that a pass gathers and uses while they are in the first-level cache. */
const BLOCK_ROWS: u32 = 64

/** Ratings that the exact solve gathers at a time: it passes over them once, so they stay near. */
export const GRAM_ROWS: u32 = 512

@inline
function zero(at: usize, floats: u32): void {
  memory.fill(at, 0, (floats as usize) << 2)
}

/** sum of penalty x^2. */
function penaltyOf(x: usize, penalties: usize, width: u32): f64 {
  let sum: f64 = 0
  for (let i: u32 = 0; i < width; i++) {
    const value = load<f32>(x + (i << 2)) as f64
    sum += value * value * (load<f32>(penalties + (i << 2)) as f64)
  }
  return sum
}

function setPenalties(penalties: usize, d: u32, width: u32, biased: bool, factor: f32, bias: f32): void {
  zero(penalties, width)
  for (let i: u32 = 0; i < d; i++) store<f32>(penalties + (i << 2), factor)
  if (biased) store<f32>(penalties + ((d - 1) << 2), bias)
}

/** Puts the solution into the row: [x] or, with biases, [x without its last, 1, its last]. */
export function writeRow(row: usize, x: usize, d: u32, biased: bool): void {
  memory.copy(row, x, (d as usize) << 2)
  if (!biased) return
  store<f32>(row + (d << 2), load<f32>(x + ((d - 1) << 2)))
  store<f32>(row + ((d - 1) << 2), 1)
}

/** The row's penalty at its present value, before a solve or after one. */
let lastPenalty: f64 = 0
export function alsPenalty(): f64 {
  return lastPenalty
}

/** Exact solve. Answers the row's part of the objective at the solution, or NaN if it is singular. */
export function alsSolveCholesky(
  row: usize, indexes: usize, ratings: usize, n: u32, other: usize, stride: u32,
  d: u32, width: u32, biased: bool, mean: f32, factorPenalty: f32, biasPenalty: f32, shared: usize,
  alpha: f32, scratch: usize,
): f64 {
  const panel = scratch
  const targets = panel + ((PANEL_ROWS * width) << 2)
  const b = targets + (PANEL_ROWS << 2)
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
      pack(panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, biased, mean)
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
  lastPenalty = penaltyOf(b, penalties, width)
  writeRow(row, b, d, biased)
  return squares - explained
}

/** r -= penalties * x, the penalty's part of the residual. */
function subtractPenalty(r: usize, x: usize, penalties: usize, width: u32): void {
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(r + i, f32x4.relaxed_nmadd(v128.load(penalties + i), v128.load(x + i), v128.load(r + i)))
  }
}

/** r -= G x; answers x^T G x. */
function subtractGram(r: usize, x: usize, shared: usize, product: usize, width: u32): f64 {
  gemv(shared, width << 2, width, x, product, width)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(r + i, f32x4.sub(v128.load(r + i), v128.load(product + i)))
  }
  return innerOf(x, product, width) as f64
}

@inline
function squareOf(a: usize, width: u32): f32 {
  return innerOf(a, a, width)
}

@inline
function innerOf(a: usize, b: usize, width: u32): f32 {
  let sums = f32x4.splat(0)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    sums = f32x4.relaxed_madd(v128.load(a + i), v128.load(b + i), sums)
  }
  return lanesSum(sums)
}

/** A p for the whole row: a panel that holds all of it is used as it is, a longer row is gathered again. */
function multiply(
  p: usize, ap: usize, panel: usize, targets: usize, indexes: usize, ratings: usize, n: u32,
  other: usize, stride: u32, d: u32, width: u32, penalties: usize, shared: usize, alpha: f32,
): void {
  if (shared) gemv(shared, width << 2, width, p, ap, width)
  else zero(ap, width)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(ap + i, f32x4.relaxed_madd(v128.load(penalties + i), v128.load(p + i), v128.load(ap + i)))
  }
  if (n <= PANEL_ROWS) {
    addNormal(panel, n, width, p, ap)
    return
  }
  for (let from: u32 = 0; from < n; from += BLOCK_ROWS) {
    const count = min(BLOCK_ROWS, n - from)
    if (shared) {
      packConfident(panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, alpha)
    } else {
      pack(panel, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, false, 0)
    }
    addNormal(panel, count, width, p, ap)
  }
}

/**
 * At most `steps` steps of conjugate gradient from the row's present value, as in the `implicit`
 * library (Takacs, Pilaszy, Tikk, "Applications of the conjugate gradient method for implicit
 * feedback collaborative filtering", RecSys 2011). Answers the row's part of the objective: it falls
 * by alpha r.r with each step, so that it costs no extra pass.
 */
export function alsSolveGradient(
  row: usize, indexes: usize, ratings: usize, n: u32, other: usize, stride: u32,
  d: u32, width: u32, biased: bool, mean: f32, factorPenalty: f32, biasPenalty: f32, shared: usize,
  alpha: f32, scratch: usize, steps: u32,
): f64 {
  const panel = scratch
  const targets = panel + ((PANEL_ROWS * width) << 2)
  const x = targets + (PANEL_ROWS << 2)
  const r = x + (width << 2)
  const p = r + (width << 2)
  const ap = p + (width << 2)
  const penalties = ap + (width << 2)
  setPenalties(penalties, d, width, biased, factorPenalty, biasPenalty)
  zero(x, width)
  memory.copy(x, row, (d as usize) << 2)
  if (biased) store<f32>(x + ((d - 1) << 2), load<f32>(row + (d << 2)))
  zero(r, width)
  let objective = penaltyOf(x, penalties, width)
  // A row that the panel cannot hold is gathered again by every pass: its blocks share one place.
  const kept = n <= PANEL_ROWS
  for (let from: u32 = 0; from < n; from += BLOCK_ROWS) {
    const count = min(BLOCK_ROWS, n - from)
    const block = kept ? panel + ((from * width) << 2) : panel
    if (shared) {
      objective += packConfident(block, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, alpha)
    } else {
      pack(block, targets, indexes + (from << 2), ratings + (from << 2), count, other, stride, d, width, biased, mean)
    }
    objective += addResidual(block, targets, count, width, x, r)
  }
  subtractPenalty(r, x, penalties, width)
  if (shared) objective += subtractGram(r, x, shared, ap, width)
  memory.copy(p, r, (width as usize) << 2)
  let rr = squareOf(r, width)
  const enough: f32 = rr * 1e-12
  for (let taken: u32 = 0; taken < steps && rr > enough && rr > 1e-20; taken++) {
    multiply(p, ap, panel, targets, indexes, ratings, n, other, stride, d, width, penalties, shared, alpha)
    const step = rr / innerOf(p, ap, width)
    objective -= (step as f64) * (rr as f64)
    const alphas = f32x4.splat(step)
    for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
      v128.store(x + i, f32x4.relaxed_madd(alphas, v128.load(p + i), v128.load(x + i)))
      v128.store(r + i, f32x4.relaxed_nmadd(alphas, v128.load(ap + i), v128.load(r + i)))
    }
    const next = squareOf(r, width)
    const betas = f32x4.splat(next / rr)
    for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
      v128.store(p + i, f32x4.relaxed_madd(betas, v128.load(p + i), v128.load(r + i)))
    }
    rr = next
  }
  lastPenalty = penaltyOf(x, penalties, width)
  writeRow(row, x, d, biased)
  return objective
}
