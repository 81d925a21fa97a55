import { fourLaneSums } from './vector.as'

/**
 * Design rows in blocks of eight, for the passes of conjugate gradient. A block is interleaved, so that
 * a pass moves one pointer:
 *
 *   +--------------+--------------+-----+--------------+--------------+-----
 *   | z_0[0..4]    | z_1[0..4]    | ... | z_7[0..4]    | z_0[4..8]    | ...
 *   +--------------+--------------+-----+--------------+--------------+-----
 *
 * Eight sums are under way in a product: as many as keep two multiply-add units of latency four busy.
 */

/** Ratings of a block. */
export const BLOCK_ROWS: u32 = 8

/**
 * Reads four bytes of each cache line of `count` rows, so that many misses are under way at once: a loop that
 * also copies has few of them in the processor's window. The answer only keeps the reads from being left out.
 */
export function touchRows(indexes: usize, count: u32, other: usize, stride: u32): u32 {
  let sum: u32 = 0
  for (let k: u32 = 0; k < count; k++) {
    const row = other + load<u32>(indexes + (k << 2)) * stride
    for (let at: u32 = 0; at < stride; at += 64) sum ^= load<u32>(row + at)
  }
  return sum
}

/** Copies four rows into one half of a block; answers their products with v. */
@inline
function gatherFour(indexes: usize, other: usize, stride: u32, half: usize, width: u32, v: usize): v128 {
  let r0 = other + load<u32>(indexes) * stride
  let r1 = other + load<u32>(indexes, 4) * stride
  let r2 = other + load<u32>(indexes, 8) * stride
  let r3 = other + load<u32>(indexes, 12) * stride
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const end = v + ((width as usize) << 2)
  for (; v < end; v += 16) {
    const x = v128.load(v)
    const z0 = v128.load(r0)
    const z1 = v128.load(r1)
    const z2 = v128.load(r2)
    const z3 = v128.load(r3)
    v128.store(half, z0)
    v128.store(half, z1, 16)
    v128.store(half, z2, 32)
    v128.store(half, z3, 48)
    s0 = f32x4.relaxed_madd(z0, x, s0)
    s1 = f32x4.relaxed_madd(z1, x, s1)
    s2 = f32x4.relaxed_madd(z2, x, s2)
    s3 = f32x4.relaxed_madd(z3, x, s3)
    r0 += 16
    r1 += 16
    r2 += 16
    r3 += 16
    half += 128
  }
  return fourLaneSums(s0, s1, s2, s3)
}

/** Copies the first four rows into a block; answers their products with v. */
export function gatherLower(indexes: usize, other: usize, stride: u32, block: usize, width: u32, v: usize): v128 {
  return gatherFour(indexes, other, stride, block, width, v)
}

/** The same for the last four rows. */
export function gatherUpper(indexes: usize, other: usize, stride: u32, block: usize, width: u32, v: usize): v128 {
  return gatherFour(indexes + 16, other, stride, block + 64, width, v)
}

/** out += sum of c_k z_k over the rows of a block, c in two vectors. */
@inline
function addRows(block: usize, width: u32, lower: v128, upper: v128, out: usize): void {
  const c0 = f32x4.splat(f32x4.extract_lane(lower, 0))
  const c1 = f32x4.splat(f32x4.extract_lane(lower, 1))
  const c2 = f32x4.splat(f32x4.extract_lane(lower, 2))
  const c3 = f32x4.splat(f32x4.extract_lane(lower, 3))
  const c4 = f32x4.splat(f32x4.extract_lane(upper, 0))
  const c5 = f32x4.splat(f32x4.extract_lane(upper, 1))
  const c6 = f32x4.splat(f32x4.extract_lane(upper, 2))
  const c7 = f32x4.splat(f32x4.extract_lane(upper, 3))
  const end = out + ((width as usize) << 2)
  for (; out < end; out += 16) {
    let first = f32x4.relaxed_madd(c0, v128.load(block), v128.load(out))
    let second = f32x4.mul(c1, v128.load(block, 16))
    first = f32x4.relaxed_madd(c2, v128.load(block, 32), first)
    second = f32x4.relaxed_madd(c3, v128.load(block, 48), second)
    first = f32x4.relaxed_madd(c4, v128.load(block, 64), first)
    second = f32x4.relaxed_madd(c5, v128.load(block, 80), second)
    first = f32x4.relaxed_madd(c6, v128.load(block, 96), first)
    second = f32x4.relaxed_madd(c7, v128.load(block, 112), second)
    v128.store(out, f32x4.add(first, second))
    block += 128
  }
}

/** out += sum of c_k z_k over the rows of a block. */
export function addBlock(block: usize, width: u32, lower: v128, upper: v128, out: usize): void {
  addRows(block, width, lower, upper, out)
}

/** out += sum of w_k (z_k . v) z_k over the rows of a block, w in two vectors. */
export function addBlockProduct(block: usize, width: u32, v: usize, lower: v128, upper: v128, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  let at = block
  const end = v + ((width as usize) << 2)
  for (; v < end; v += 16) {
    const x = v128.load(v)
    s0 = f32x4.relaxed_madd(v128.load(at), x, s0)
    s1 = f32x4.relaxed_madd(v128.load(at, 16), x, s1)
    s2 = f32x4.relaxed_madd(v128.load(at, 32), x, s2)
    s3 = f32x4.relaxed_madd(v128.load(at, 48), x, s3)
    s4 = f32x4.relaxed_madd(v128.load(at, 64), x, s4)
    s5 = f32x4.relaxed_madd(v128.load(at, 80), x, s5)
    s6 = f32x4.relaxed_madd(v128.load(at, 96), x, s6)
    s7 = f32x4.relaxed_madd(v128.load(at, 112), x, s7)
    at += 128
  }
  addRows(
    block, width, f32x4.mul(lower, fourLaneSums(s0, s1, s2, s3)), f32x4.mul(upper, fourLaneSums(s4, s5, s6, s7)), out,
  )
}

/** w_k s_k^2 of eight rows with products s_k: four partial sums. */
@inline
export function weightedSquares(lowerWeights: v128, lower: v128, upperWeights: v128, upper: v128): v128 {
  return f32x4.relaxed_madd(f32x4.mul(lowerWeights, lower), lower, f32x4.mul(f32x4.mul(upperWeights, upper), upper))
}

/** w_k (z_k . v)^2 over the rows of a block: four partial sums. */
export function blockSquares(block: usize, width: u32, v: usize, lower: v128, upper: v128): v128 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  const end = v + ((width as usize) << 2)
  for (; v < end; v += 16) {
    const x = v128.load(v)
    s0 = f32x4.relaxed_madd(v128.load(block), x, s0)
    s1 = f32x4.relaxed_madd(v128.load(block, 16), x, s1)
    s2 = f32x4.relaxed_madd(v128.load(block, 32), x, s2)
    s3 = f32x4.relaxed_madd(v128.load(block, 48), x, s3)
    s4 = f32x4.relaxed_madd(v128.load(block, 64), x, s4)
    s5 = f32x4.relaxed_madd(v128.load(block, 80), x, s5)
    s6 = f32x4.relaxed_madd(v128.load(block, 96), x, s6)
    s7 = f32x4.relaxed_madd(v128.load(block, 112), x, s7)
    block += 128
  }
  return weightedSquares(lower, fourLaneSums(s0, s1, s2, s3), upper, fourLaneSums(s4, s5, s6, s7))
}
