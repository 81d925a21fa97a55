import { addProduct, addResidual, openRow, squaresAlong } from './als-passes.as'
import { keepPenalty, setPenalties } from './als-penalty.as'
import { writeRow, zero } from './als-row.as'
import { addSymmetricProduct } from './symmetric.as'
import { lanesSum } from './vector.as'

/**
 * Conjugate gradient of one row of alternating least squares; `als-row.as.ts` says what is minimised and
 * `als-passes.as.ts` what a pass over the ratings adds. Scratch, in this order, float32: panel `panelRows` x
 * width; x, r, p, Ap: 4 x width; penalties: width; 16 for a last block of ratings that is not full.
 */

@inline
function innerOf(a: usize, b: usize, width: u32): f32 {
  let sums = f32x4.splat(0)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    sums = f32x4.relaxed_madd(v128.load(a + i), v128.load(b + i), sums)
  }
  return lanesSum(sums)
}

/** y += factor x. */
@inline
function addScaled(factor: f32, x: usize, y: usize, width: u32): void {
  const factors = f32x4.splat(factor)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(y + i, f32x4.relaxed_madd(factors, v128.load(x + i), v128.load(y + i)))
  }
}

/** p = r + factor p. */
@inline
function turn(p: usize, r: usize, factor: f32, width: u32): void {
  const factors = f32x4.splat(factor)
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(p + i, f32x4.relaxed_madd(factors, v128.load(p + i), v128.load(r + i)))
  }
}

/** out = penalties v + G v: what a product with A has apart from the ratings. */
function startProduct(v: usize, penalties: usize, gram: usize, out: usize, width: u32): void {
  for (let i: usize = 0; i < ((width as usize) << 2); i += 16) {
    v128.store(out + i, f32x4.mul(v128.load(penalties + i), v128.load(v + i)))
  }
  if (gram) addSymmetricProduct(gram, width, v, out)
}

/**
 * At most `steps` steps of conjugate gradient from the row's present value, as in the `implicit`
 * library (Takacs, Pilaszy, Tikk, "Applications of the conjugate gradient method for implicit
 * feedback collaborative filtering", RecSys 2011). Answers the row's part of the objective: it falls
 * by alpha r.r with each step, so that it costs no extra pass. No step follows the last one, so that it needs
 * p^T A p but not A p, which is half a pass.
 */
export function alsSolveGradient(
  row: usize, indexes: usize, ratings: usize, n: u32, other: usize, stride: u32,
  d: u32, width: u32, biased: bool, mean: f32, factorPenalty: f32, biasPenalty: f32, gram: usize,
  alpha: f32, scratch: usize, steps: u32, panelRows: u32,
): f64 {
  const bytes = (width as usize) << 2
  const x = scratch + panelRows * bytes
  const r = x + bytes
  const p = r + bytes
  const ap = p + bytes
  const penalties = ap + bytes
  setPenalties(penalties, d, width, biased, factorPenalty, biasPenalty)
  zero(x, width)
  memory.copy(x, row, (d as usize) << 2)
  if (biased) store<f32>(x + ((d - 1) << 2), load<f32>(row + (d << 2)))
  zero(r, width)
  openRow(indexes, ratings, n, other, stride, d, width, gram != 0, alpha, scratch, n <= panelRows, penalties + bytes)
  let objective = addResidual(biased, mean, x, r)
  startProduct(x, penalties, gram, ap, width)
  objective += innerOf(x, ap, width) as f64
  addScaled(-1, ap, r, width)
  memory.copy(p, r, bytes)
  let rr = innerOf(r, r, width)
  const enough: f32 = rr * 1e-12
  for (let left = steps; left > 0 && rr > enough && rr > 1e-20; left--) {
    startProduct(p, penalties, gram, ap, width)
    if (left > 1) addProduct(p, ap)
    let curvature = innerOf(p, ap, width)
    if (left === 1) curvature += squaresAlong(p) as f32
    const step: f32 = rr / curvature
    objective -= (step as f64) * (rr as f64)
    addScaled(step, p, x, width)
    if (left === 1) break
    addScaled(-step, ap, r, width)
    const next = innerOf(r, r, width)
    turn(p, r, next / rr, width)
    rr = next
  }
  keepPenalty(x, penalties, width)
  writeRow(row, x, d, biased)
  return objective
}
