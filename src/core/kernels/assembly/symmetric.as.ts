import { fourLaneSums } from './vector.as'

/**
 * out += M v for a symmetric matrix of `width` floats a row, width a multiple of four. Reads the upper
 * triangle only: an element serves the product of its row and that of its column, which halves the
 * loads and what has to fit in the first-level cache.
 */
export function addSymmetricProduct(matrix: usize, width: u32, v: usize, out: usize): void {
  const step = (width as usize) << 2
  const end = v + step
  for (; v < end; v += 16) {
    const own = v128.load(v)
    const c0 = f32x4.splat(f32x4.extract_lane(own, 0))
    const c1 = f32x4.splat(f32x4.extract_lane(own, 1))
    const c2 = f32x4.splat(f32x4.extract_lane(own, 2))
    const c3 = f32x4.splat(f32x4.extract_lane(own, 3))
    let r0 = matrix
    let r1 = r0 + step
    let r2 = r1 + step
    let r3 = r2 + step
    let s0 = f32x4.mul(v128.load(r0), own)
    let s1 = f32x4.mul(v128.load(r1), own)
    let s2 = f32x4.mul(v128.load(r2), own)
    let s3 = f32x4.mul(v128.load(r3), own)
    let to = out
    for (let at = v + 16; at < end; at += 16) {
      r0 += 16
      r1 += 16
      r2 += 16
      r3 += 16
      to += 16
      const x = v128.load(at)
      const m0 = v128.load(r0)
      const m1 = v128.load(r1)
      const m2 = v128.load(r2)
      const m3 = v128.load(r3)
      s0 = f32x4.relaxed_madd(m0, x, s0)
      s1 = f32x4.relaxed_madd(m1, x, s1)
      s2 = f32x4.relaxed_madd(m2, x, s2)
      s3 = f32x4.relaxed_madd(m3, x, s3)
      const first = f32x4.relaxed_madd(c1, m1, f32x4.relaxed_madd(c0, m0, v128.load(to)))
      v128.store(to, f32x4.add(first, f32x4.relaxed_madd(c3, m3, f32x4.mul(c2, m2))))
    }
    v128.store(out, f32x4.add(v128.load(out), fourLaneSums(s0, s1, s2, s3)))
    out += 16
    matrix += (step << 2) + 16
  }
}
