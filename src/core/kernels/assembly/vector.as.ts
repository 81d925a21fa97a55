/**
 * Vector kernels: inner product, axpy, matrix times vector, SGD step.
 * Addresses are bytes; lengths count float32. Any alignment is allowed, multiples of 16 are faster.
 */

/** Adds the four lanes: (0 + 2) + (1 + 3). */
@inline
export function lanesSum(v: v128): f32 {
  const pairs = f32x4.add(v, i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1)
}

/** The sums of the lanes of four vectors as one vector: a transposition and three additions. */
@inline
export function fourLaneSums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = f32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7))
  const cd = f32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7))
  return f32x4.add(i64x2.shuffle(ab, cd, 0, 2), i64x2.shuffle(ab, cd, 1, 3))
}

/** A mask that keeps the first `n` lanes, 0 <= n <= 4. */
@inline
export function firstLanes(n: u32): v128 {
  return i32x4.lt_u(i32x4(0, 1, 2, 3), i32x4.splat(n))
}

/** Inner product of two vectors. */
export function dot(a: usize, b: usize, n: u32): f32 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const end16 = a + ((n & ~15) << 2)
  while (a < end16) {
    s0 = f32x4.relaxed_madd(v128.load(a), v128.load(b), s0)
    s1 = f32x4.relaxed_madd(v128.load(a, 16), v128.load(b, 16), s1)
    s2 = f32x4.relaxed_madd(v128.load(a, 32), v128.load(b, 32), s2)
    s3 = f32x4.relaxed_madd(v128.load(a, 48), v128.load(b, 48), s3)
    a += 64
    b += 64
  }
  const end4 = a + ((n & 12) << 2)
  while (a < end4) {
    s0 = f32x4.relaxed_madd(v128.load(a), v128.load(b), s0)
    a += 16
    b += 16
  }
  let sum = lanesSum(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)))
  const end = a + ((n & 3) << 2)
  while (a < end) {
    sum += load<f32>(a) * load<f32>(b)
    a += 4
    b += 4
  }
  return sum
}

/** y += alpha * x. */
export function axpy(alpha: f32, x: usize, y: usize, n: u32): void {
  const alphas = f32x4.splat(alpha)
  const end4 = x + ((n & ~3) << 2)
  while (x < end4) {
    v128.store(y, f32x4.relaxed_madd(alphas, v128.load(x), v128.load(y)))
    x += 16
    y += 16
  }
  const end = x + ((n & 3) << 2)
  while (x < end) {
    store<f32>(y, load<f32>(y) + alpha * load<f32>(x))
    x += 4
    y += 4
  }
}

/** out[i] = row i . x, for `rows` rows `stride` bytes apart. */
export function gemv(matrix: usize, stride: u32, rows: u32, x: usize, out: usize, n: u32): void {
  const full = n & ~3
  const mask = firstLanes(n & 3)
  let row: u32 = 0
  for (; row + 4 <= rows; row += 4) {
    let r0 = matrix
    let r1 = r0 + stride
    let r2 = r1 + stride
    let r3 = r2 + stride
    let s0 = f32x4.splat(0)
    let s1 = s0
    let s2 = s0
    let s3 = s0
    let at = x
    const end = x + (full << 2)
    while (at < end) {
      const v = v128.load(at)
      s0 = f32x4.relaxed_madd(v128.load(r0), v, s0)
      s1 = f32x4.relaxed_madd(v128.load(r1), v, s1)
      s2 = f32x4.relaxed_madd(v128.load(r2), v, s2)
      s3 = f32x4.relaxed_madd(v128.load(r3), v, s3)
      at += 16
      r0 += 16
      r1 += 16
      r2 += 16
      r3 += 16
    }
    let sums = fourLaneSums(s0, s1, s2, s3)
    for (let tail: u32 = 0; tail < (n & 3); tail++) {
      const offset = tail << 2
      const column = f32x4(load<f32>(r0 + offset), load<f32>(r1 + offset), load<f32>(r2 + offset), load<f32>(r3 + offset))
      sums = f32x4.relaxed_madd(column, f32x4.splat(load<f32>(at + offset)), sums)
    }
    v128.store(out, sums)
    out += 16
    matrix += stride << 2
  }
  for (; row < rows; row++) {
    store<f32>(out, dot(matrix, x, n))
    out += 4
    matrix += stride
  }
}

/**
 * One simultaneous SGD step: p += eta (error q - lambda p), delta = eta (error p_old - lambda q).
 * q itself stays as it is: its owner folds the delta.
 */
export function sgdStep(p: usize, q: usize, delta: usize, n: u32, error: f32, eta: f32, lambda: f32): void {
  const gain = eta * error
  const decay = -eta * lambda
  const gains = f32x4.splat(gain)
  const decays = f32x4.splat(decay)
  const end4 = p + ((n & ~3) << 2)
  while (p < end4) {
    const pv = v128.load(p)
    const qv = v128.load(q)
    v128.store(p, f32x4.add(pv, f32x4.add(f32x4.mul(gains, qv), f32x4.mul(decays, pv))))
    v128.store(delta, f32x4.add(f32x4.mul(gains, pv), f32x4.mul(decays, qv)))
    p += 16
    q += 16
    delta += 16
  }
  const end = p + ((n & 3) << 2)
  while (p < end) {
    const ps = load<f32>(p)
    const qs = load<f32>(q)
    store<f32>(p, ps + (gain * qs + decay * ps))
    store<f32>(delta, gain * ps + decay * qs)
    p += 4
    q += 4
    delta += 4
  }
}
