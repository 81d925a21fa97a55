import { firstLanes, fourLaneSums, lanesSum } from './vector.as'

/**
 * Scores of up to 16 queries against a block of rows, with a fused threshold: only (query, row,
 * score) triples that beat the query's threshold are written.
 *
 * One to four queries: lanes run along the elements, and sums over lanes are taken once a row.
 * Eight or sixteen: queries are stored element-major, so that one row element is broadcast against four
 * queries at a time and no sum over lanes is needed. Each kernel has eight accumulators, as many as
 * keep two multiply-add units of latency four busy.
 *
 * The rows that are scored together are not neighbours but a half or a quarter of the block apart:
 * so many streams keep so many hardware prefetchers busy (measured on 54 MB: 27 GB/s a
 * thread against 14). A block whose triples run full is scanned again in order, because the
 * answer is the number of rows scanned.
 *
 * Above 300 lines because the kernels differ in their accumulators only, which must be local variables of
 * one function each to stay in registers.
 */

/** Where the next triple goes; a module has one thread, so a global is safe. */
let cursor: usize = 0
let limit: usize = 0

/** Answer of a spread scan that ran full. */
const FULL: u32 = 0xffffffff

/** Blocks with fewer rows are scanned in order. */
const SPREAD_FROM: u32 = 256

/** Most bytes of triples that one step writes, by the kernel's queries. */
const ONE_STEP: usize = 4 * 12
const FOUR_STEP: usize = 8 * 12
const EIGHT_STEP: usize = 32 * 12
const SIXTEEN_STEP: usize = 32 * 12

@inline
function emit(query: u32, row: u32, score: f32): void {
  store<u32>(cursor, query)
  store<u32>(cursor, row, 4)
  store<f32>(cursor, score, 8)
  cursor += 12
}

/** Writes a triple for each set lane; lane l is query + l queryStep of row + l rowStep. */
function emitLanes(bits: i32, scores: v128, query: u32, queryStep: u32, row: u32, rowStep: u32): void {
  if (bits & 1) emit(query, row, f32x4.extract_lane(scores, 0))
  if (bits & 2) emit(query + queryStep, row + rowStep, f32x4.extract_lane(scores, 1))
  if (bits & 4) emit(query + 2 * queryStep, row + 2 * rowStep, f32x4.extract_lane(scores, 2))
  if (bits & 8) emit(query + 3 * queryStep, row + 3 * rowStep, f32x4.extract_lane(scores, 3))
}

/** Scores of four queries, from `group` * 4, against one row. */
@inline
function check(scores: v128, thresholds: usize, group: u32, row: u32): void {
  const mask = f32x4.gt(scores, v128.load(thresholds + (group << 4)))
  if (v128.any_true(mask)) emitLanes(i32x4.bitmask(mask), scores, group << 2, 1, row, 0)
}

/** Triples written by the last call. */
export function topKWritten(out: usize): u32 {
  return ((cursor - out) / 12) as u32
}

@inline
function start(out: usize, capacity: u32): void {
  cursor = out
  limit = out + capacity * 12
}

/** One query, padded with zeros to a multiple of four. */
export function topKOne(query: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  if (count >= SPREAD_FROM) {
    start(out, capacity)
    const scanned = scanOne(query, rows, stride, count, n, thresholds, count >> 2, 1)
    if (scanned != FULL) return scanned
  }
  start(out, capacity)
  return scanOne(query, rows, stride, count, n, thresholds, 1, 4)
}

/** Four rows a step, `gap` rows apart; the next step is `advance` rows on. */
function scanOne(query: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, gap: u32, advance: u32): u32 {
  const threshold = f32x4.splat(load<f32>(thresholds))
  const mask = firstLanes(n & 3)
  const end = query + ((n & ~3) << 2)
  const gapBytes = (gap as usize) * stride
  const steps = count >> 2
  let row: u32 = 0
  let base = rows
  for (let step: u32 = 0; step < steps; step++) {
    if (cursor + ONE_STEP > limit) return advance == 1 ? FULL : row
    let r0 = base
    let r1 = r0 + gapBytes
    let r2 = r1 + gapBytes
    let r3 = r2 + gapBytes
    let s0 = f32x4.splat(0)
    let s1 = s0
    let s2 = s0
    let s3 = s0
    let at = query
    while (at < end) {
      const q = v128.load(at)
      s0 = f32x4.relaxed_madd(v128.load(r0), q, s0)
      s1 = f32x4.relaxed_madd(v128.load(r1), q, s1)
      s2 = f32x4.relaxed_madd(v128.load(r2), q, s2)
      s3 = f32x4.relaxed_madd(v128.load(r3), q, s3)
      at += 16
      r0 += 16
      r1 += 16
      r2 += 16
      r3 += 16
    }
    if (n & 3) {
      const q = v128.load(at)
      s0 = f32x4.relaxed_madd(v128.and(v128.load(r0), mask), q, s0)
      s1 = f32x4.relaxed_madd(v128.and(v128.load(r1), mask), q, s1)
      s2 = f32x4.relaxed_madd(v128.and(v128.load(r2), mask), q, s2)
      s3 = f32x4.relaxed_madd(v128.and(v128.load(r3), mask), q, s3)
    }
    const scores = fourLaneSums(s0, s1, s2, s3)
    const hit = f32x4.gt(scores, threshold)
    if (v128.any_true(hit)) emitLanes(i32x4.bitmask(hit), scores, 0, 0, row, gap)
    row += advance
    base += (advance as usize) * stride
  }
  for (row = steps << 2; row < count; row++) {
    if (cursor + ONE_STEP > limit) return advance == 1 ? FULL : row
    const at = rows + (row as usize) * stride
    let s = f32x4.splat(0)
    let d: usize = 0
    for (; query + d < end; d += 16) s = f32x4.relaxed_madd(v128.load(at + d), v128.load(query + d), s)
    let score = lanesSum(s)
    for (let tail: u32 = 0; tail < (n & 3); tail++, d += 4) score += load<f32>(at + d) * load<f32>(query + d)
    if (score > load<f32>(thresholds)) emit(0, row, score)
  }
  return count
}

/** Four queries one after the other, each padded with zeros to a multiple of four. */
export function topKFour(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  if (count >= SPREAD_FROM) {
    start(out, capacity)
    const scanned = scanFour(queries, rows, stride, count, n, thresholds, count >> 1, 1)
    if (scanned != FULL) return scanned
  }
  start(out, capacity)
  return scanFour(queries, rows, stride, count, n, thresholds, 1, 2)
}

/** Two rows a step; the last row of an odd block is paired with itself, and counts once. */
function scanFour(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, gap: u32, advance: u32): u32 {
  const mask = firstLanes(n & 3)
  const width: usize = ((n + 3) & ~3) << 2
  const q1 = queries + width
  const q2 = q1 + width
  const q3 = q2 + width
  const full: usize = (n & ~3) << 2
  const gapBytes = (gap as usize) * stride
  const steps = count >> 1
  const odd = count & 1
  let row: u32 = 0
  let base = rows
  for (let step: u32 = 0; step < steps + odd; step++) {
    const paired = step < steps
    if (!paired) {
      row = count - 1
      base = rows + (row as usize) * stride
    }
    if (cursor + FOUR_STEP > limit) return advance == 1 ? FULL : row
    const r0 = base
    const r1 = paired ? r0 + gapBytes : r0
    let a0 = f32x4.splat(0)
    let b0 = a0
    let c0 = a0
    let d0 = a0
    let a1 = a0
    let b1 = a0
    let c1 = a0
    let d1 = a0
    let d: usize = 0
    for (; d < full; d += 16) {
      const v0 = v128.load(r0 + d)
      const v1 = v128.load(r1 + d)
      const qa = v128.load(queries + d)
      a0 = f32x4.relaxed_madd(v0, qa, a0)
      a1 = f32x4.relaxed_madd(v1, qa, a1)
      const qb = v128.load(q1 + d)
      b0 = f32x4.relaxed_madd(v0, qb, b0)
      b1 = f32x4.relaxed_madd(v1, qb, b1)
      const qc = v128.load(q2 + d)
      c0 = f32x4.relaxed_madd(v0, qc, c0)
      c1 = f32x4.relaxed_madd(v1, qc, c1)
      const qd = v128.load(q3 + d)
      d0 = f32x4.relaxed_madd(v0, qd, d0)
      d1 = f32x4.relaxed_madd(v1, qd, d1)
    }
    if (n & 3) {
      const v0 = v128.and(v128.load(r0 + d), mask)
      const v1 = v128.and(v128.load(r1 + d), mask)
      a0 = f32x4.relaxed_madd(v0, v128.load(queries + d), a0)
      a1 = f32x4.relaxed_madd(v1, v128.load(queries + d), a1)
      b0 = f32x4.relaxed_madd(v0, v128.load(q1 + d), b0)
      b1 = f32x4.relaxed_madd(v1, v128.load(q1 + d), b1)
      c0 = f32x4.relaxed_madd(v0, v128.load(q2 + d), c0)
      c1 = f32x4.relaxed_madd(v1, v128.load(q2 + d), c1)
      d0 = f32x4.relaxed_madd(v0, v128.load(q3 + d), d0)
      d1 = f32x4.relaxed_madd(v1, v128.load(q3 + d), d1)
    }
    check(fourLaneSums(a0, b0, c0, d0), thresholds, 0, row)
    if (paired) check(fourLaneSums(a1, b1, c1, d1), thresholds, 0, row + gap)
    row += advance
    base += (advance as usize) * stride
  }
  return count
}

/** Eight queries, element-major. */
export function topKEight(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  if (count >= SPREAD_FROM) {
    start(out, capacity)
    const scanned = scanEight(queries, rows, stride, count, n, thresholds, count >> 2, 1)
    if (scanned != FULL) return scanned
  }
  start(out, capacity)
  return scanEight(queries, rows, stride, count, n, thresholds, 1, 4)
}

/** Four rows a step, then the last ones by themselves. */
function scanEight(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, gap: u32, advance: u32): u32 {
  const end = queries + (n << 5)
  const gapBytes = (gap as usize) * stride
  const steps = count >> 2
  let row: u32 = 0
  let base = rows
  for (let step: u32 = 0; step < steps; step++) {
    if (cursor + EIGHT_STEP > limit) return advance == 1 ? FULL : row
    let r0 = base
    let r1 = r0 + gapBytes
    let r2 = r1 + gapBytes
    let r3 = r2 + gapBytes
    let a0 = f32x4.splat(0)
    let a1 = a0
    let a2 = a0
    let a3 = a0
    let b0 = a0
    let b1 = a0
    let b2 = a0
    let b3 = a0
    let at = queries
    while (at < end) {
      const qa = v128.load(at)
      const qb = v128.load(at, 16)
      const v0 = v128.load32_splat(r0)
      a0 = f32x4.relaxed_madd(v0, qa, a0)
      b0 = f32x4.relaxed_madd(v0, qb, b0)
      const v1 = v128.load32_splat(r1)
      a1 = f32x4.relaxed_madd(v1, qa, a1)
      b1 = f32x4.relaxed_madd(v1, qb, b1)
      const v2 = v128.load32_splat(r2)
      a2 = f32x4.relaxed_madd(v2, qa, a2)
      b2 = f32x4.relaxed_madd(v2, qb, b2)
      const v3 = v128.load32_splat(r3)
      a3 = f32x4.relaxed_madd(v3, qa, a3)
      b3 = f32x4.relaxed_madd(v3, qb, b3)
      at += 32
      r0 += 4
      r1 += 4
      r2 += 4
      r3 += 4
    }
    check(a0, thresholds, 0, row)
    check(b0, thresholds, 1, row)
    check(a1, thresholds, 0, row + gap)
    check(b1, thresholds, 1, row + gap)
    check(a2, thresholds, 0, row + 2 * gap)
    check(b2, thresholds, 1, row + 2 * gap)
    check(a3, thresholds, 0, row + 3 * gap)
    check(b3, thresholds, 1, row + 3 * gap)
    row += advance
    base += (advance as usize) * stride
  }
  for (row = steps << 2; row < count; row++) {
    if (cursor + EIGHT_STEP > limit) return advance == 1 ? FULL : row
    let r = rows + (row as usize) * stride
    let a0 = f32x4.splat(0)
    let b0 = a0
    let at = queries
    while (at < end) {
      const v = v128.load32_splat(r)
      a0 = f32x4.relaxed_madd(v, v128.load(at), a0)
      b0 = f32x4.relaxed_madd(v, v128.load(at, 16), b0)
      at += 32
      r += 4
    }
    check(a0, thresholds, 0, row)
    check(b0, thresholds, 1, row)
  }
  return count
}

/** Sixteen queries, element-major. */
export function topKSixteen(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  if (count >= SPREAD_FROM) {
    start(out, capacity)
    const scanned = scanSixteen(queries, rows, stride, count, n, thresholds, count >> 1, 1)
    if (scanned != FULL) return scanned
  }
  start(out, capacity)
  return scanSixteen(queries, rows, stride, count, n, thresholds, 1, 2)
}

/** Two rows a step; the last row of an odd block is paired with itself, and counts once. */
function scanSixteen(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, gap: u32, advance: u32): u32 {
  const end = queries + (n << 6)
  const gapBytes = (gap as usize) * stride
  const steps = count >> 1
  const odd = count & 1
  let row: u32 = 0
  let base = rows
  for (let step: u32 = 0; step < steps + odd; step++) {
    const paired = step < steps
    if (!paired) {
      row = count - 1
      base = rows + (row as usize) * stride
    }
    if (cursor + SIXTEEN_STEP > limit) return advance == 1 ? FULL : row
    let r0 = base
    let r1 = paired ? r0 + gapBytes : r0
    let a0 = f32x4.splat(0)
    let b0 = a0
    let c0 = a0
    let d0 = a0
    let a1 = a0
    let b1 = a0
    let c1 = a0
    let d1 = a0
    let at = queries
    while (at < end) {
      const v0 = v128.load32_splat(r0)
      const v1 = v128.load32_splat(r1)
      const qa = v128.load(at)
      a0 = f32x4.relaxed_madd(v0, qa, a0)
      a1 = f32x4.relaxed_madd(v1, qa, a1)
      const qb = v128.load(at, 16)
      b0 = f32x4.relaxed_madd(v0, qb, b0)
      b1 = f32x4.relaxed_madd(v1, qb, b1)
      const qc = v128.load(at, 32)
      c0 = f32x4.relaxed_madd(v0, qc, c0)
      c1 = f32x4.relaxed_madd(v1, qc, c1)
      const qd = v128.load(at, 48)
      d0 = f32x4.relaxed_madd(v0, qd, d0)
      d1 = f32x4.relaxed_madd(v1, qd, d1)
      at += 64
      r0 += 4
      r1 += 4
    }
    check(a0, thresholds, 0, row)
    check(b0, thresholds, 1, row)
    check(c0, thresholds, 2, row)
    check(d0, thresholds, 3, row)
    if (paired) {
      check(a1, thresholds, 0, row + gap)
      check(b1, thresholds, 1, row + gap)
      check(c1, thresholds, 2, row + gap)
      check(d1, thresholds, 3, row + gap)
    }
    row += advance
    base += (advance as usize) * stride
  }
  return count
}
