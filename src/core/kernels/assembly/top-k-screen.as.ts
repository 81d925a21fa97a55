import { firstLanes, fourLaneSums } from './vector.as'

/**
 * Screening for exact top-k: rows as 7-bit codes, a quarter of the bytes, and for each of them an
 * upper bound of its score. Only rows whose bound beats the threshold are scored from their floats.
 *
 * A row p becomes s (u - 64) + e with codes 1 <= u <= 127, a query q becomes t b + f with codes
 * -127 <= b <= 127, so by Cauchy and Schwarz
 *
 *   q p <= s t (u - 64) b + |f| s |u - 64| + |q| |e|
 *
 * The row keeps s, c >= s |u - 64| and m >= |e|; the query brings t and factors for c and m that
 * also cover the rounding of the score and of the bound (`screen-query.ts`).
 *
 * Codes of four rows are side by side, four elements each, so that one dot instruction adds to the
 * scores of four rows and no sum over lanes is needed:
 *
 *   group of 4 rows: | row 0: d0..d3 | row 1: d0..d3 | row 2: d0..d3 | row 3: d0..d3 | row 0: d4..d7 | ...
 *
 * The second operand of the relaxed dot has its top bit clear, so its result is the same everywhere.
 * Above 300 lines because each number of queries has a kernel of its own, whose accumulators are local.
 */

/** Head of a query, 32 bytes. */
const QUERY_CENTRE: usize = 0
const QUERY_STEP: usize = 4
const QUERY_NORM_FACTOR: usize = 8
const QUERY_ERROR_FACTOR: usize = 12
const QUERY_THRESHOLD: usize = 16
const QUERY_FOUND: usize = 20
const QUERY_BYTES: usize = 32

/** Rows with a larger or smaller largest element get no codes: their squares would leave float32. */
const LARGEST: f32 = 1125899906842624
const SMALLEST: f32 = 9.094947017729282e-13

/** Codes and bounds of one row. */
export function screenEncode(row: usize, n: u32, codes: usize, bounds: usize, rows: u32): void {
  const most = largestElement(row, n)
  let scale: f32 = 0
  let norm: f32 = 0
  let error: f32 = 0
  if (!(most <= LARGEST)) {
    error = f32.POSITIVE_INFINITY
  } else if (most < SMALLEST) {
    if (most > 0) error = SMALLEST * sqrt<f32>(n as f32) * 1.01
  } else {
    scale = most / 63
    const inverse = f32x4.splat(63 / most)
    const scales = f32x4.splat(scale)
    let squares = f32x4.splat(0)
    let errors = squares
    for (let d: u32 = 0; d < n; d += 4) {
      const values = elements(row, d, n)
      const whole = f32x4.nearest(f32x4.mul(values, inverse))
      const left = f32x4.sub(values, f32x4.mul(whole, scales))
      squares = f32x4.add(squares, f32x4.mul(whole, whole))
      errors = f32x4.add(errors, f32x4.mul(left, left))
      const words = i32x4.add(i32x4.trunc_sat_f32x4_s(whole), i32x4.splat(64))
      const halves = i16x8.narrow_i32x4_s(words, words)
      store<i32>(codes + ((d as usize) << 2), i32x4.extract_lane(i8x16.narrow_i16x8_u(halves, halves), 0))
    }
    const sums = fourLaneSums(squares, errors, squares, errors)
    const slack: f32 = 1 + ((n + 16) as f32) * (1.0 / 8388608)
    norm = scale * sqrt<f32>(f32x4.extract_lane(sums, 0)) * slack
    error = sqrt<f32>(f32x4.extract_lane(sums, 1)) * slack + norm * (1.0 / 4194304)
  }
  setBounds(bounds, rows, scale, norm, error)
}

/** Bounds of an empty row: it is never found. */
export function screenErase(bounds: usize, rows: u32): void {
  setBounds(bounds, rows, 0, 0, -f32.POSITIVE_INFINITY)
}

/** Bounds of a row that cannot be bounded: it is always found. */
export function screenOpen(bounds: usize, rows: u32): void {
  setBounds(bounds, rows, 0, 0, f32.POSITIVE_INFINITY)
}

@inline
function setBounds(bounds: usize, rows: u32, scale: f32, norm: f32, error: f32): void {
  const next = (rows as usize) << 2
  store<f32>(bounds, scale)
  store<f32>(bounds + next, norm)
  store<f32>(bounds + 2 * next, error)
}

/** Elements d to d + 3 of a row, zeros from n on; rows are padded in memory to a multiple of four. */
@inline
function elements(row: usize, d: u32, n: u32): v128 {
  const values = v128.load(row + ((d as usize) << 2))
  return d + 4 <= n ? values : v128.and(values, firstLanes(n - d))
}

/** Largest absolute element, NaN if there is one. */
function largestElement(row: usize, n: u32): f32 {
  let most = f32x4.splat(0)
  for (let d: u32 = 0; d < n; d += 4) most = f32x4.max(most, f32x4.abs(elements(row, d, n)))
  const half = f32x4.max(most, i64x2.shuffle(most, most, 1, 0))
  return max<f32>(f32x4.extract_lane(half, 0), f32x4.extract_lane(half, 1))
}

/** Whether bounds of four rows beat the threshold, or are not comparable. */
@inline
function screened(sums: v128, bounds: usize, next: usize, query: usize): i32 {
  const products = f32x4.mul(f32x4.convert_i32x4_s(sums), v128.load32_splat(query, QUERY_STEP))
  const norms = f32x4.mul(v128.load(bounds + next), v128.load32_splat(query, QUERY_NORM_FACTOR))
  const errors = f32x4.mul(v128.load(bounds + 2 * next), v128.load32_splat(query, QUERY_ERROR_FACTOR))
  const most = f32x4.add(f32x4.mul(products, v128.load(bounds)), f32x4.add(norms, errors))
  return i32x4.bitmask(f32x4.le(most, v128.load32_splat(query, QUERY_THRESHOLD))) ^ 15
}

/** Products of four elements of a query and of four rows, summed by row. */
@inline
function four(query: v128, rows: usize): v128 {
  return i32x4.extadd_pairwise_i16x8_s(i16x8.relaxed_dot_i8x16_i7x16_s(query, v128.load(rows)))
}

/** The same for sixteen elements; the sums of eight products fit 16 bits. */
@inline
function sixteen(qa: v128, qb: v128, qc: v128, qd: v128, rows: usize): v128 {
  const a = i16x8.relaxed_dot_i8x16_i7x16_s(qa, v128.load(rows))
  const b = i16x8.relaxed_dot_i8x16_i7x16_s(qb, v128.load(rows, 16))
  const c = i16x8.relaxed_dot_i8x16_i7x16_s(qc, v128.load(rows, 32))
  const d = i16x8.relaxed_dot_i8x16_i7x16_s(qd, v128.load(rows, 48))
  return i32x4.extadd_pairwise_i16x8_s(i16x8.add(i16x8.add(a, b), i16x8.add(c, d)))
}

/** Appends the rows of the set bits to a query's list. */
function append(bits: i32, row: u32, query: usize, list: usize): void {
  let found = load<u32>(query, QUERY_FOUND)
  for (; bits != 0; bits &= bits - 1) {
    store<u32>(list + ((found as usize) << 2), row + (ctz(bits) as u32))
    found++
  }
  store<u32>(query, found, QUERY_FOUND)
}

@inline
function check(sums: v128, group: u32, bounds: usize, next: usize, query: usize, list: usize): void {
  const bits = screened(sums, bounds + ((group as usize) << 4), next, query)
  if (bits != 0) append(bits, group << 2, query, list)
}

/**
 * Lists the rows whose bound beats the query's threshold. `rows` is a multiple of 16; four groups
 * a quarter of the block apart go together, so that as many prefetchers are at work. `codes` of the
 * query: each four elements four times.
 */
export function screenOne(query: usize, coded: usize, codes: usize, bounds: usize, rows: u32, n: u32, list: usize): void {
  const quarter = rows >> 4
  const groupBytes: usize = (((n + 3) & ~3) as usize) << 2
  const gap = (quarter as usize) * groupBytes
  const next = (rows as usize) << 2
  const centre = v128.load32_splat(query, QUERY_CENTRE)
  const end = coded + groupBytes
  const end64 = coded + (groupBytes & ~63)
  store<u32>(query, 0, QUERY_FOUND)
  let base = codes
  for (let group: u32 = 0; group < quarter; group++) {
    let r0 = base
    let r1 = r0 + gap
    let r2 = r1 + gap
    let r3 = r2 + gap
    let s0 = centre
    let s1 = centre
    let s2 = centre
    let s3 = centre
    let at = coded
    for (; at < end64; at += 64) {
      const qa = v128.load(at)
      const qb = v128.load(at, 16)
      const qc = v128.load(at, 32)
      const qd = v128.load(at, 48)
      s0 = i32x4.add(s0, sixteen(qa, qb, qc, qd, r0))
      s1 = i32x4.add(s1, sixteen(qa, qb, qc, qd, r1))
      s2 = i32x4.add(s2, sixteen(qa, qb, qc, qd, r2))
      s3 = i32x4.add(s3, sixteen(qa, qb, qc, qd, r3))
      r0 += 64
      r1 += 64
      r2 += 64
      r3 += 64
    }
    for (; at < end; at += 16) {
      const q = v128.load(at)
      s0 = i32x4.add(s0, four(q, r0))
      s1 = i32x4.add(s1, four(q, r1))
      s2 = i32x4.add(s2, four(q, r2))
      s3 = i32x4.add(s3, four(q, r3))
      r0 += 16
      r1 += 16
      r2 += 16
      r3 += 16
    }
    check(s0, group, bounds, next, query, list)
    check(s1, group + quarter, bounds, next, query, list)
    check(s2, group + 2 * quarter, bounds, next, query, list)
    check(s3, group + 3 * quarter, bounds, next, query, list)
    base += groupBytes
  }
}

/** As `screenOne` for four queries, one after the other as are their codes and lists (`rows` words each). */
export function screenFour(query: usize, coded: usize, codes: usize, bounds: usize, rows: u32, n: u32, list: usize): void {
  const bytes: usize = (((n + 3) & ~3) as usize) << 2
  const lists = (rows as usize) << 3
  for (let lane: u32 = 0; lane < 4; lane++) store<u32>(query + lane * QUERY_BYTES, 0, QUERY_FOUND)
  const half = rows >> 3
  const gap = (half as usize) * bytes
  let base = codes
  for (let group: u32 = 0; group < half; group++) {
    screenTwo(query, coded, bytes, base, base + gap, group, group + half, bounds, rows, list)
    screenTwo(query + 2 * QUERY_BYTES, coded + 2 * bytes, bytes, base, base + gap, group, group + half, bounds, rows, list + lists)
    base += bytes
  }
}

/** Two queries against two groups of rows: as many loads as the multiplications leave room for. */
@inline
function screenTwo(query: usize, coded: usize, bytes: usize, r0: usize, r1: usize, g0: u32, g1: u32, bounds: usize, rows: u32, list: usize): void {
  const next = (rows as usize) << 2
  let a0 = v128.load32_splat(query, QUERY_CENTRE)
  let b0 = v128.load32_splat(query + QUERY_BYTES, QUERY_CENTRE)
  let a1 = a0
  let b1 = b0
  let qa = coded
  let qb = coded + bytes
  const end = qb
  const end64 = coded + (bytes & ~63)
  while (qa < end64) {
    let q = v128.load(qa)
    let p = v128.load(qb)
    let v = v128.load(r0)
    let w = v128.load(r1)
    let sa0 = i16x8.relaxed_dot_i8x16_i7x16_s(q, v)
    let sa1 = i16x8.relaxed_dot_i8x16_i7x16_s(q, w)
    let sb0 = i16x8.relaxed_dot_i8x16_i7x16_s(p, v)
    let sb1 = i16x8.relaxed_dot_i8x16_i7x16_s(p, w)
    q = v128.load(qa, 16)
    p = v128.load(qb, 16)
    v = v128.load(r0, 16)
    w = v128.load(r1, 16)
    sa0 = i16x8.add(sa0, i16x8.relaxed_dot_i8x16_i7x16_s(q, v))
    sa1 = i16x8.add(sa1, i16x8.relaxed_dot_i8x16_i7x16_s(q, w))
    sb0 = i16x8.add(sb0, i16x8.relaxed_dot_i8x16_i7x16_s(p, v))
    sb1 = i16x8.add(sb1, i16x8.relaxed_dot_i8x16_i7x16_s(p, w))
    q = v128.load(qa, 32)
    p = v128.load(qb, 32)
    v = v128.load(r0, 32)
    w = v128.load(r1, 32)
    sa0 = i16x8.add(sa0, i16x8.relaxed_dot_i8x16_i7x16_s(q, v))
    sa1 = i16x8.add(sa1, i16x8.relaxed_dot_i8x16_i7x16_s(q, w))
    sb0 = i16x8.add(sb0, i16x8.relaxed_dot_i8x16_i7x16_s(p, v))
    sb1 = i16x8.add(sb1, i16x8.relaxed_dot_i8x16_i7x16_s(p, w))
    q = v128.load(qa, 48)
    p = v128.load(qb, 48)
    v = v128.load(r0, 48)
    w = v128.load(r1, 48)
    sa0 = i16x8.add(sa0, i16x8.relaxed_dot_i8x16_i7x16_s(q, v))
    sa1 = i16x8.add(sa1, i16x8.relaxed_dot_i8x16_i7x16_s(q, w))
    sb0 = i16x8.add(sb0, i16x8.relaxed_dot_i8x16_i7x16_s(p, v))
    sb1 = i16x8.add(sb1, i16x8.relaxed_dot_i8x16_i7x16_s(p, w))
    a0 = i32x4.add(a0, i32x4.extadd_pairwise_i16x8_s(sa0))
    a1 = i32x4.add(a1, i32x4.extadd_pairwise_i16x8_s(sa1))
    b0 = i32x4.add(b0, i32x4.extadd_pairwise_i16x8_s(sb0))
    b1 = i32x4.add(b1, i32x4.extadd_pairwise_i16x8_s(sb1))
    qa += 64
    qb += 64
    r0 += 64
    r1 += 64
  }
  while (qa < end) {
    const q = v128.load(qa)
    const p = v128.load(qb)
    a0 = i32x4.add(a0, four(q, r0))
    a1 = i32x4.add(a1, four(q, r1))
    b0 = i32x4.add(b0, four(p, r0))
    b1 = i32x4.add(b1, four(p, r1))
    qa += 16
    qb += 16
    r0 += 16
    r1 += 16
  }
  check(a0, g0, bounds, next, query, list)
  check(a1, g1, bounds, next, query, list)
  check(b0, g0, bounds, next, query + QUERY_BYTES, list + next)
  check(b1, g1, bounds, next, query + QUERY_BYTES, list + next)
}

/** Scores of one query (padded with zeros) against four rows anywhere, as `topKOne` has them. */
export function topKFourRows(query: usize, r0: usize, r1: usize, r2: usize, r3: usize, n: u32, out: usize): void {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const end = query + ((n & ~3) << 2)
  while (query < end) {
    const q = v128.load(query)
    s0 = f32x4.relaxed_madd(v128.load(r0), q, s0)
    s1 = f32x4.relaxed_madd(v128.load(r1), q, s1)
    s2 = f32x4.relaxed_madd(v128.load(r2), q, s2)
    s3 = f32x4.relaxed_madd(v128.load(r3), q, s3)
    query += 16
    r0 += 16
    r1 += 16
    r2 += 16
    r3 += 16
  }
  if (n & 3) {
    const mask = firstLanes(n & 3)
    const q = v128.load(query)
    s0 = f32x4.relaxed_madd(v128.and(v128.load(r0), mask), q, s0)
    s1 = f32x4.relaxed_madd(v128.and(v128.load(r1), mask), q, s1)
    s2 = f32x4.relaxed_madd(v128.and(v128.load(r2), mask), q, s2)
    s3 = f32x4.relaxed_madd(v128.and(v128.load(r3), mask), q, s3)
  }
  v128.store(out, fourLaneSums(s0, s1, s2, s3))
}
