import { lanesSum } from './vector.as'

/**
 * Gram accumulation and Cholesky, on one register tile. Matrices are row-major, upper triangle,
 * `width` floats a row, width a multiple of 4.
 */

/** c + a * b, or c - a * b. */
@inline
function fused(negative: bool, a: v128, b: v128, c: v128): v128 {
  return negative ? f32x4.relaxed_nmadd(a, b, c) : f32x4.relaxed_madd(a, b, c)
}

/**
 * C[i..i+4][j..j+8] +-= sum over k < depth of P[k][i..i+4] x P[k][j..j+8], P and C of `width` columns.
 * Eight accumulators: as many as keep two multiply-add units of latency four busy.
 */
@inline
function tile8(negative: bool, panel: usize, width: usize, depth: u32, i: usize, j: usize, c: usize): void {
  let left = panel + (i << 2)
  let right = panel + (j << 2)
  const step = width << 2
  const c0 = c + ((i * width + j) << 2)
  const c1 = c0 + step
  const c2 = c1 + step
  const c3 = c2 + step
  let s00 = v128.load(c0)
  let s01 = v128.load(c0, 16)
  let s10 = v128.load(c1)
  let s11 = v128.load(c1, 16)
  let s20 = v128.load(c2)
  let s21 = v128.load(c2, 16)
  let s30 = v128.load(c3)
  let s31 = v128.load(c3, 16)
  for (let k: u32 = 0; k < depth; k++) {
    const r0 = v128.load(right)
    const r1 = v128.load(right, 16)
    const l0 = v128.load32_splat(left)
    s00 = fused(negative, l0, r0, s00)
    s01 = fused(negative, l0, r1, s01)
    const l1 = v128.load32_splat(left, 4)
    s10 = fused(negative, l1, r0, s10)
    s11 = fused(negative, l1, r1, s11)
    const l2 = v128.load32_splat(left, 8)
    s20 = fused(negative, l2, r0, s20)
    s21 = fused(negative, l2, r1, s21)
    const l3 = v128.load32_splat(left, 12)
    s30 = fused(negative, l3, r0, s30)
    s31 = fused(negative, l3, r1, s31)
    left += step
    right += step
  }
  v128.store(c0, s00)
  v128.store(c0, s01, 16)
  v128.store(c1, s10)
  v128.store(c1, s11, 16)
  v128.store(c2, s20)
  v128.store(c2, s21, 16)
  v128.store(c3, s30)
  v128.store(c3, s31, 16)
}

/** The same for the last four columns of a width that is no multiple of eight. */
@inline
function tile4(negative: bool, panel: usize, width: usize, depth: u32, i: usize, j: usize, c: usize): void {
  let left = panel + (i << 2)
  let right = panel + (j << 2)
  const step = width << 2
  const c0 = c + ((i * width + j) << 2)
  const c1 = c0 + step
  const c2 = c1 + step
  const c3 = c2 + step
  let s0 = v128.load(c0)
  let s1 = v128.load(c1)
  let s2 = v128.load(c2)
  let s3 = v128.load(c3)
  for (let k: u32 = 0; k < depth; k++) {
    const r = v128.load(right)
    s0 = fused(negative, v128.load32_splat(left), r, s0)
    s1 = fused(negative, v128.load32_splat(left, 4), r, s1)
    s2 = fused(negative, v128.load32_splat(left, 8), r, s2)
    s3 = fused(negative, v128.load32_splat(left, 12), r, s3)
    left += step
    right += step
  }
  v128.store(c0, s0)
  v128.store(c1, s1)
  v128.store(c2, s2)
  v128.store(c3, s3)
}

/** A += P^T P over `depth` rows of the panel; upper triangle, and the rest of each diagonal tile. */
export function accumulateGram(panel: usize, depth: u32, width: u32, gram: usize): void {
  for (let i: u32 = 0; i < width; i += 4) {
    let j = i
    for (; j + 8 <= width; j += 8) tile8(false, panel, width, depth, i, j, gram)
    if (j < width) tile4(false, panel, width, depth, i, j, gram)
  }
}

/** Row j onwards of the block: A[i][from..width] -= factor * A[k][from..width], from a multiple of 4. */
@inline
function subtractRow(matrix: usize, width: usize, i: usize, k: usize, from: usize): void {
  const factor = v128.load32_splat(matrix + ((k * width + i) << 2))
  let source = matrix + ((k * width + from) << 2)
  let target = matrix + ((i * width + from) << 2)
  const end = matrix + ((i * width + width) << 2)
  while (target < end) {
    v128.store(target, f32x4.relaxed_nmadd(factor, v128.load(source), v128.load(target)))
    source += 16
    target += 16
  }
}

/**
 * Factors A = U^T U in place (upper triangle); the diagonal is left as 1 / U[i][i].
 * Left-looking by blocks of four rows, so that nearly all work is the Gram tile with a minus sign.
 * Answers 0, or 1 + the row at which the matrix is not positive definite.
 */
export function factorCholesky(matrix: usize, n: u32, width: u32): u32 {
  for (let block: u32 = 0; block < n; block += 4) {
    let j = block
    for (; j + 8 <= width; j += 8) tile8(true, matrix, width, block, block, j, matrix)
    if (j < width) tile4(true, matrix, width, block, block, j, matrix)
    const end = min(block + 4, n)
    for (let i = block; i < end; i++) {
      for (let k = block; k < i; k++) subtractRow(matrix, width, i, k, block)
      const diagonal = matrix + ((i * width + i) << 2)
      const pivot = load<f32>(diagonal)
      if (!(pivot > 0)) return i + 1
      const inverse: f32 = 1 / Mathf.sqrt(pivot)
      const inverses = f32x4.splat(inverse)
      let at = matrix + ((i * width + block) << 2)
      const rowEnd = matrix + ((i * width + width) << 2)
      while (at < rowEnd) {
        v128.store(at, f32x4.mul(v128.load(at), inverses))
        at += 16
      }
      store<f32>(diagonal, inverse)
    }
  }
  return 0
}

/** Solves U^T y = b in place of b, after factorCholesky. b is `width` floats, zero beyond n. */
export function solveForward(matrix: usize, n: u32, width: u32, b: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = matrix + ((i * width) << 2)
    const y = load<f32>(b + (i << 2)) * load<f32>(row + (i << 2))
    store<f32>(b + (i << 2), y)
    const ys = f32x4.splat(y)
    let at = i + 1
    for (; (at & 3) && at < width; at++) {
      store<f32>(b + (at << 2), load<f32>(b + (at << 2)) - y * load<f32>(row + (at << 2)))
    }
    for (; at < width; at += 4) {
      const target = b + (at << 2)
      v128.store(target, f32x4.relaxed_nmadd(ys, v128.load(row + (at << 2)), v128.load(target)))
    }
  }
}

/** Solves U x = b in place of b, after factorCholesky. b is `width` floats, zero beyond n. */
export function solveBackward(matrix: usize, n: u32, width: u32, b: usize): void {
  for (let i: i32 = n - 1; i >= 0; i--) {
    const row = matrix + (((i as u32) * width) << 2)
    let sum: f32 = 0
    let at = (i as u32) + 1
    for (; (at & 3) && at < width; at++) sum += load<f32>(row + (at << 2)) * load<f32>(b + (at << 2))
    let sums = f32x4.splat(0)
    for (; at < width; at += 4) {
      sums = f32x4.relaxed_madd(v128.load(row + (at << 2)), v128.load(b + (at << 2)), sums)
    }
    sum += lanesSum(sums)
    const target = b + (i << 2)
    store<f32>(target, (load<f32>(target) - sum) * load<f32>(row + (i << 2)))
  }
}

/** Solves U^T U x = b in place of b, after factorCholesky. b is `width` floats, zero beyond n. */
export function solveCholesky(matrix: usize, n: u32, width: u32, b: usize): void {
  solveForward(matrix, n, width, b)
  solveBackward(matrix, n, width, b)
}
