import { firstLanes, fourLaneSums, lanesSum } from './vector.as'

/**
 * Scores of up to 16 queries against a block of rows, with a fused threshold: only (query, row,
 * score) triples that beat the query's threshold are written.
 *
 * Queries lie element-major: element d of all (padded) queries side by side, so that one row element
 * is broadcast against four queries at a time and no sum over lanes is needed. A single query lies
 * as it is, and lanes run along its elements.
 */

/** Where the next triple goes; a module has one thread, so a global is safe. */
let cursor: usize = 0

/** Writes a triple for each set lane. */
function emitQueries(mask: v128, scores: v128, firstQuery: u32, row: u32): void {
  const bits = i32x4.bitmask(mask)
  if (bits & 1) emit(firstQuery, row, f32x4.extract_lane(scores, 0))
  if (bits & 2) emit(firstQuery + 1, row, f32x4.extract_lane(scores, 1))
  if (bits & 4) emit(firstQuery + 2, row, f32x4.extract_lane(scores, 2))
  if (bits & 8) emit(firstQuery + 3, row, f32x4.extract_lane(scores, 3))
}

function emitRows(mask: v128, scores: v128, firstRow: u32): void {
  const bits = i32x4.bitmask(mask)
  if (bits & 1) emit(0, firstRow, f32x4.extract_lane(scores, 0))
  if (bits & 2) emit(0, firstRow + 1, f32x4.extract_lane(scores, 1))
  if (bits & 4) emit(0, firstRow + 2, f32x4.extract_lane(scores, 2))
  if (bits & 8) emit(0, firstRow + 3, f32x4.extract_lane(scores, 3))
}

// @ts-ignore: decorator
@inline
function emit(query: u32, row: u32, score: f32): void {
  store<u32>(cursor, query)
  store<u32>(cursor, row, 4)
  store<f32>(cursor, score, 8)
  cursor += 12
}

// @ts-ignore: decorator
@inline
function check(scores: v128, thresholds: usize, group: u32, row: u32): void {
  const mask = f32x4.gt(scores, v128.load(thresholds + (group << 4)))
  if (v128.any_true(mask)) emitQueries(mask, scores, group << 2, row)
}

/** Triples written by the last call. */
export function topKWritten(out: usize): u32 {
  return ((cursor - out) / 12) as u32
}

/** One query: four rows at a time, lanes along the elements. */
export function topKOne(query: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  cursor = out
  const limit = out + capacity * 12
  const threshold = f32x4.splat(load<f32>(thresholds))
  const mask = firstLanes(n & 3)
  const end = query + ((n & ~3) << 2)
  let row: u32 = 0
  for (; row + 4 <= count; row += 4) {
    if (cursor + 48 > limit) return row
    let r0 = rows
    let r1 = r0 + stride
    let r2 = r1 + stride
    let r3 = r2 + stride
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
    if (v128.any_true(hit)) emitRows(hit, scores, row)
    rows += stride << 2
  }
  for (; row < count; row++) {
    if (cursor + 12 > limit) return row
    let s = f32x4.splat(0)
    let r = rows
    let at = query
    while (at < end) {
      s = f32x4.relaxed_madd(v128.load(r), v128.load(at), s)
      at += 16
      r += 16
    }
    let score = lanesSum(s)
    for (let tail: u32 = 0; tail < (n & 3); tail++) score += load<f32>(r + (tail << 2)) * load<f32>(at + (tail << 2))
    if (score > load<f32>(thresholds)) emit(0, row, score)
    rows += stride
  }
  return row
}

/** Four queries: eight rows at a time. */
export function topKFour(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  cursor = out
  const limit = out + capacity * 12
  const end = queries + (n << 4)
  let row: u32 = 0
  for (; row + 8 <= count; row += 8) {
    if (cursor + 384 > limit) return row
    let r0 = rows
    let r1 = r0 + stride
    let r2 = r1 + stride
    let r3 = r2 + stride
    let r4 = r3 + stride
    let r5 = r4 + stride
    let r6 = r5 + stride
    let r7 = r6 + stride
    let s0 = f32x4.splat(0)
    let s1 = s0
    let s2 = s0
    let s3 = s0
    let s4 = s0
    let s5 = s0
    let s6 = s0
    let s7 = s0
    let at = queries
    while (at < end) {
      const q = v128.load(at)
      s0 = f32x4.relaxed_madd(v128.load32_splat(r0), q, s0)
      s1 = f32x4.relaxed_madd(v128.load32_splat(r1), q, s1)
      s2 = f32x4.relaxed_madd(v128.load32_splat(r2), q, s2)
      s3 = f32x4.relaxed_madd(v128.load32_splat(r3), q, s3)
      s4 = f32x4.relaxed_madd(v128.load32_splat(r4), q, s4)
      s5 = f32x4.relaxed_madd(v128.load32_splat(r5), q, s5)
      s6 = f32x4.relaxed_madd(v128.load32_splat(r6), q, s6)
      s7 = f32x4.relaxed_madd(v128.load32_splat(r7), q, s7)
      at += 16
      r0 += 4
      r1 += 4
      r2 += 4
      r3 += 4
      r4 += 4
      r5 += 4
      r6 += 4
      r7 += 4
    }
    check(s0, thresholds, 0, row)
    check(s1, thresholds, 0, row + 1)
    check(s2, thresholds, 0, row + 2)
    check(s3, thresholds, 0, row + 3)
    check(s4, thresholds, 0, row + 4)
    check(s5, thresholds, 0, row + 5)
    check(s6, thresholds, 0, row + 6)
    check(s7, thresholds, 0, row + 7)
    rows += stride << 3
  }
  for (; row < count; row++) {
    if (cursor + 48 > limit) return row
    let s0 = f32x4.splat(0)
    let at = queries
    let r = rows
    while (at < end) {
      s0 = f32x4.relaxed_madd(v128.load32_splat(r), v128.load(at), s0)
      at += 16
      r += 4
    }
    check(s0, thresholds, 0, row)
    rows += stride
  }
  return row
}

/** Eight queries: four rows at a time. */
export function topKEight(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  cursor = out
  const limit = out + capacity * 12
  const end = queries + (n << 5)
  let row: u32 = 0
  for (; row + 4 <= count; row += 4) {
    if (cursor + 384 > limit) return row
    let r0 = rows
    let r1 = r0 + stride
    let r2 = r1 + stride
    let r3 = r2 + stride
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
    check(a1, thresholds, 0, row + 1)
    check(b1, thresholds, 1, row + 1)
    check(a2, thresholds, 0, row + 2)
    check(b2, thresholds, 1, row + 2)
    check(a3, thresholds, 0, row + 3)
    check(b3, thresholds, 1, row + 3)
    rows += stride << 2
  }
  for (; row < count; row++) {
    if (cursor + 96 > limit) return row
    let a0 = f32x4.splat(0)
    let b0 = a0
    let at = queries
    let r = rows
    while (at < end) {
      const v = v128.load32_splat(r)
      a0 = f32x4.relaxed_madd(v, v128.load(at), a0)
      b0 = f32x4.relaxed_madd(v, v128.load(at, 16), b0)
      at += 32
      r += 4
    }
    check(a0, thresholds, 0, row)
    check(b0, thresholds, 1, row)
    rows += stride
  }
  return row
}

/** Sixteen queries: two rows at a time. */
export function topKSixteen(queries: usize, rows: usize, stride: u32, count: u32, n: u32, thresholds: usize, out: usize, capacity: u32): u32 {
  cursor = out
  const limit = out + capacity * 12
  const end = queries + (n << 6)
  let row: u32 = 0
  while (row < count) {
    if (cursor + 384 > limit) return row
    // The last row of an odd block is paired with itself, and its second score is not looked at.
    const paired = row + 1 < count
    let r0 = rows
    let r1 = paired ? r0 + stride : r0
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
      check(a1, thresholds, 0, row + 1)
      check(b1, thresholds, 1, row + 1)
      check(c1, thresholds, 2, row + 1)
      check(d1, thresholds, 3, row + 1)
    }
    rows += stride << 1
    row += 2
  }
  return count
}
