import { firstLanes, lanesSum } from './vector.as'

/**
 * Panels of one row of alternating least squares: design rows gathered side by side, and the passes
 * over them. `als-row.as.ts` says what design rows and targets are. Loops take two vectors a step:
 * enough sums are under way to hide the latency of an addition, and half the pointers move.
 */

/**
 * Copies `count` ratings of the row into panel and targets, zero up to the next multiple of eight rows. `roots` are
 * those of the ratings' weights; 0: all have weight 1.
 */
export function pack(
  panel: usize, targets: usize, indexes: usize, ratings: usize, count: u32,
  other: usize, stride: u32, d: u32, width: u32, biased: bool, mean: f32, roots: usize,
): void {
  const full = d & ~3
  const mask = firstLanes(d & 3)
  for (let k: u32 = 0; k < count; k++) {
    const row = other + load<u32>(indexes + (k << 2)) * stride
    const root: f32 = roots ? load<f32>(roots + (k << 2)) : 1
    const factors = f32x4.splat(root)
    let at: u32 = 0
    for (; at < full; at += 4) v128.store(panel + (at << 2), f32x4.mul(factors, v128.load(row + (at << 2))))
    if (d & 3) {
      v128.store(panel + (at << 2), f32x4.mul(factors, v128.and(v128.load(row + (at << 2)), mask)))
    }
    const rating = load<f32>(ratings + (k << 2)) - mean
    store<f32>(targets + (k << 2), root * (biased ? rating - load<f32>(row + (d << 2)) : rating))
    panel += width << 2
  }
  // Rows up to the next multiple of eight are zero, so that they add nothing.
  const end = panel + (((8 - (count & 7)) & 7) * (width << 2))
  for (; panel < end; panel += 16) v128.store(panel, f32x4.splat(0))
  for (let k = count; k & 7; k++) store<f32>(targets + (k << 2), 0)
}

/**
 * The same for implicit feedback: design rows and targets of confidence 1 + alpha |r|. Answers the
 * constant that turns the squares of these targets into sum c p^2.
 */
export function packConfident(
  panel: usize, targets: usize, indexes: usize, ratings: usize, count: u32,
  other: usize, stride: u32, d: u32, width: u32, alpha: f32,
): f64 {
  const full = d & ~3
  const mask = firstLanes(d & 3)
  let constant: f64 = 0
  for (let k: u32 = 0; k < count; k++) {
    const row = other + load<u32>(indexes + (k << 2)) * stride
    const rating = load<f32>(ratings + (k << 2))
    const extra: f32 = alpha * abs(rating)
    const weight: f32 = sqrt(extra)
    const weights = f32x4.splat(weight)
    let at: u32 = 0
    for (; at < full; at += 4) v128.store(panel + (at << 2), f32x4.mul(weights, v128.load(row + (at << 2))))
    if (d & 3) {
      v128.store(panel + (at << 2), f32x4.mul(weights, v128.and(v128.load(row + (at << 2)), mask)))
    }
    const target: f32 = rating > 0 && extra > 0 ? (1 + extra) / weight : 0
    store<f32>(targets + (k << 2), target)
    if (target > 0) constant += (1 + extra) as f64 - (target as f64) * (target as f64)
    panel += width << 2
  }
  const end = panel + (((8 - (count & 7)) & 7) * (width << 2))
  for (; panel < end; panel += 16) v128.store(panel, f32x4.splat(0))
  for (let k = count; k & 7; k++) store<f32>(targets + (k << 2), 0)
  return constant
}

/** out += sum of c_k r_k over eight rows, four floats of each. */
@inline
function addVector(
  r0: usize, r1: usize, r2: usize, r3: usize, r4: usize, r5: usize, r6: usize, r7: usize,
  c0: v128, c1: v128, c2: v128, c3: v128, c4: v128, c5: v128, c6: v128, c7: v128, out: usize,
): void {
  const first = f32x4.relaxed_madd(c1, v128.load(r1), f32x4.relaxed_madd(c0, v128.load(r0), v128.load(out)))
  const second = f32x4.relaxed_madd(c3, v128.load(r3), f32x4.mul(c2, v128.load(r2)))
  const third = f32x4.relaxed_madd(c5, v128.load(r5), f32x4.mul(c4, v128.load(r4)))
  const fourth = f32x4.relaxed_madd(c7, v128.load(r7), f32x4.mul(c6, v128.load(r6)))
  v128.store(out, f32x4.add(f32x4.add(first, second), f32x4.add(third, fourth)))
}

/** out += sum of c_k z_k over eight panel rows, c in two vectors. */
@inline
function addEight(panel: usize, width: u32, lower: v128, upper: v128, out: usize): void {
  const step = (width as usize) << 2
  const c0 = f32x4.splat(f32x4.extract_lane(lower, 0))
  const c1 = f32x4.splat(f32x4.extract_lane(lower, 1))
  const c2 = f32x4.splat(f32x4.extract_lane(lower, 2))
  const c3 = f32x4.splat(f32x4.extract_lane(lower, 3))
  const c4 = f32x4.splat(f32x4.extract_lane(upper, 0))
  const c5 = f32x4.splat(f32x4.extract_lane(upper, 1))
  const c6 = f32x4.splat(f32x4.extract_lane(upper, 2))
  const c7 = f32x4.splat(f32x4.extract_lane(upper, 3))
  let r0 = panel
  let r1 = r0 + step
  let r2 = r1 + step
  let r3 = r2 + step
  let r4 = r3 + step
  let r5 = r4 + step
  let r6 = r5 + step
  let r7 = r6 + step
  if (width & 4) {
    addVector(r0, r1, r2, r3, r4, r5, r6, r7, c0, c1, c2, c3, c4, c5, c6, c7, out)
    r0 += 16
    r1 += 16
    r2 += 16
    r3 += 16
    r4 += 16
    r5 += 16
    r6 += 16
    r7 += 16
    out += 16
  }
  const end = out + ((width & ~7) << 2)
  for (; out < end; out += 32) {
    addVector(r0, r1, r2, r3, r4, r5, r6, r7, c0, c1, c2, c3, c4, c5, c6, c7, out)
    addVector(r0 + 16, r1 + 16, r2 + 16, r3 + 16, r4 + 16, r5 + 16, r6 + 16, r7 + 16, c0, c1, c2, c3, c4, c5, c6, c7, out + 16)
    r0 += 32
    r1 += 32
    r2 += 32
    r3 += 32
    r4 += 32
    r5 += 32
    r6 += 32
    r7 += 32
  }
}

/** out += Z^T y; answers the sum of y^2. */
export function addTargets(panel: usize, targets: usize, count: u32, width: u32, out: usize): f64 {
  let squares: f64 = 0
  for (let k: u32 = 0; k < count; k += 8) {
    const lower = v128.load(targets)
    const upper = v128.load(targets, 16)
    squares += lanesSum(f32x4.relaxed_madd(lower, lower, f32x4.mul(upper, upper))) as f64
    addEight(panel, width, lower, upper, out)
    panel += width << 5
    targets += 32
  }
  return squares
}
